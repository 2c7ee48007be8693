// Package redis keeps the durable truth in plain Redis (6.2 or later, Valkey): no
// modules, standalone, Sentinel or Cluster. Any number of processes share one store.
//
// # Layout
//
// All that belongs to a thread lies in keys with the thread's id as hash tag
// (keys.go), and each transition is one script on them (scripts/): it happens
// whole or not at all. What lies elsewhere is derived from threads and split into
// shards: queues, indexes for searches, times of expiry, webhooks that are due. A
// thread that is about to change what is derived is marked in its shard, then the
// script runs, then one script on the shard writes the new entries, under the
// version that the thread has now, and takes the mark away. So the entries of two
// writers may come in any order, and where a writer died between the two scripts,
// the sweeper finds its mark. Where a run is inflight the thread's entry in the
// queue stands for the mark: when it comes due, somebody looks.
//
// An entry of a queue may be too early, which costs a look at the thread, but
// never too late. An index entry says where to look, the thread itself what is so.
//
// # Reviews and audit
//
// Reviews lie beside the questions of their thread, and the thread's audit chain with
// them: the script that changes a review writes its entry. Go makes the bodies of entries
// and their hashes, in the canonical form of thread.AuditBody, so that scripts hash no more
// than the link; only the small bodies of reviews that a transition supersedes or reopens,
// which nobody knows before, are put together there, of pieces in that form. What Go made
// is for the version of the review that it read: if that has changed, it is made anew.
//
// The chains of projects lie in one slot. A thread with entries that stand in none is listed
// in its shard; the process that made the transition seals them right behind it, in the
// background, else the sweeper, or whoever calls SealAudit. An entry is sealed once: the
// slot remembers of each thread's chain, named by its first hash, how far it has come.
// A thread that is deleted is gone at once, but its chain stays until it is sealed.
//
// Reviews and webhooks that nobody tries any more are parts of a thread, of which there may
// be many: each has a version of its own, so that a transition writes what is derived from
// those that it changes only (parts.go).
//
// # The log
//
// A thread's log is a stream whose ids are the first positions of its batches;
// each batch is stored as thread.AppendEntries writes it. The script that stores
// a batch publishes it, too.
//
// # Two masters
//
// During a fail-over the master that was deposed may go on taking what comes, and a process may
// talk to both. So fencing tokens follow the clock: what one master leases, the other takes
// nothing from. Numbers of events skip a range where the server's history is another one than
// that which gave the last. And who holds a lease that both know leaves no hole in the log: the
// store that lacks what came before refuses the rest with ErrConflict, the owner stops without
// an outcome, and when its lease has run out the run is claimed again and goes on from what is stored.
// With durability replicated a claim counts only once the replicas have it: a deposed master leases nothing.
//
// # Repetition
//
// The client sends a command again when its reply is lost. So each transition
// carries a name, and the thread remembers that of the last one: the repetition
// gets the result of the first time. Commits and batches of the log are known by
// their own ids and positions.
//
// # Other processes
//
// Each process has one subscription connection (Subscribe): to the control channel,
// on which runs that wait, cancels and changes of runs are told, and to the threads
// that somebody watches. A message about a thread names the position that it
// follows on; where one is missing, and whenever a subscription begins, the
// subscriber is told to look at the log.
//
// # Sizes
//
// Measured on Redis 7.0: an empty thread takes 1.9 KB with its index entries, one
// with a run 4.7 KB, with a run of one superstep and its log 11 KB, of which the
// log's first page is 4; a checkpoint of a few values 0.7 KB, a token in the log 21
// bytes. Options.LogBytes bounds the log of a thread. What a user of the server has
// to be allowed is ACLCommands; where WAITAOF confirms (7.2), that, too.
package redis
