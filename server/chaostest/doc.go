// Package chaostest runs several servers on one Redis, as processes that are killed,
// paused and cut off while clients work, and checks afterwards what must be so
// whatever happened.
//
// # Seeds
//
// A seed decides everything: the topology (one Redis; a master with a replica under
// Sentinel; a cluster of three masters), two or three replicas, two or three threads
// with what clients do on each, and the faults with their times. What happens then
// depends on the machine, too: a seed repeats the plan, not the interleaving.
//
//	make chaos                                        # SEEDS=1000 from SEED=1
//	PARLEY_CHAOS_SEED=7 PARLEY_CHAOS_SEEDS=1 go test -v ./server/chaostest -run TestChaos
//	PARLEY_CHAOS_KIND=depose PARLEY_CHAOS_SEEDS=50 …  # seeds about one fault
//	PARLEY_CHAOS_PARALLEL=4                           # how many at once
//	PARLEY_CHAOS_KEEP=1                               # keeps what happened of good seeds, too
//
// A replica is this test binary again, with one graph whose steps leave a line each
// in a file, the witness. Clients reach a replica, and a replica reaches Redis, through
// proxies that can hold, delay and cut what passes.
//
// # Clients
//
// On each thread one client starts runs (in the background, as a stream, waiting, by
// the thread protocol; with the four multitask strategies) and cancels some; two answer
// the questions that the runs ask, several at once, with different answers or the same,
// with update and goto; two follow the thread by the thread protocol, and one each run
// by the classic one, from their cursors whenever a stream breaks. Requests bring an
// Idempotency-Key and are repeated until somebody answers; some are sent twice.
//
// # Faults
//
// plan_test.go lists them: kill -9 and SIGSTOP past the lease of replicas; connections
// to Redis that break, are slow, or pass nothing in one direction; the same towards
// clients; clocks that are ten minutes off; scripts that Redis forgets; memory that is
// full; Redis killed and started again with its append-only file; the master killed, or
// only paused, while its replica is promoted; slots that move; requests that come
// twice, or late.
//
// # Invariants
//
// When the faults are over and all questions are answered: each run has ended; an
// accepted run or answer is there (with durability always over a restart, with
// replicated over a fail-over); checkpoints form one chain, and all replicas show its
// head; the state tells of each node once; what a step did is in the witness, and wasn't
// done again once it was recorded, by anybody who could know that; what is to be done
// at most once wasn't done twice; a question has one answer, the accepted one, and the
// run got that; an update was applied once. Readers got each number once and in order,
// nothing that is stored was left out unannounced, and all were told the same under a
// number. Searches find what the threads are. With the threads all of their keys go.
//
// # Not covered
//
// Lost disks, a network partition between the nodes of a cluster, crons, webhooks, and
// what streams told before a master went that nobody had confirmed: it may be taken back.
package chaostest
