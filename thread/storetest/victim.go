package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

// report is what the victim says of a transition: that it begins, with all that it
// will leave if it happens, and that it is done.
type report struct {
	Op     string `json:"op"`
	Done   bool   `json:"done,omitempty"`
	Thread string `json:"thread"`
	Run    string `json:"run,omitempty"`
	// ID identifies a commit or batch.
	ID         string `json:"id,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
	Task       string `json:"task,omitempty"`
	Step       string `json:"step,omitempty"`
	Segment    string `json:"segment,omitempty"`
	// First and Last are positions of entries; of a delivery, Last is what readers have seen.
	First int64 `json:"first,omitempty"`
	Last  int64 `json:"last,omitempty"`
	Seq   int64 `json:"seq,omitempty"`
	Token int64 `json:"token,omitempty"`
	// Interrupt is asked by a commit, or answered by a resume.
	Interrupt string `json:"interrupt,omitempty"`
	// Finish tells that the commit ends the run.
	Finish bool `json:"finish,omitempty"`
}

// The operations of a report.
const (
	opCreate  = "create"
	opAdmit   = "admit"
	opClaim   = "claim"
	opDeliver = "deliver" // readers see events that aren't stored yet
	opAppend  = "append"
	opCommit  = "commit"
	opResume  = "resume"
	opCancel  = "cancel"
	opDelete  = "delete"
	opTrim    = "trim"
)

// The victim's parameters.
const (
	victimActors = 4
	victimLease  = 200 * time.Millisecond
)

// victim works on a store until it is killed.
type victim struct {
	s    thread.Store
	seed uint64

	mu  sync.Mutex
	out *json.Encoder
}

func newVictim(s thread.Store, out io.Writer, seed uint64) *victim {
	return &victim{s: s, seed: seed, out: json.NewEncoder(out)}
}

func (v *victim) say(r report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.out.Encode(r) // nobody to tell
}

// transition reports r, does f and reports that it is done.
func (v *victim) transition(r report, f func() error) error {
	v.say(r)
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", r.Op, err)
	}
	r.Done = true
	v.say(r)
	return nil
}

// run lets actors tell stories; it returns only when the store fails.
func (v *victim) run() error {
	failed := make(chan error, victimActors)
	for i := range victimActors {
		a := &actor{victim: v, ctx: context.Background(), random: rand.New(rand.NewPCG(v.seed, uint64(i)))}
		go func() {
			for {
				err := a.story(i == 0)
				// Another actor may have taken over a run whose lease ran out.
				if err != nil && !errors.Is(err, thread.ErrFenced) {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// actor does one thing after the other.
type actor struct {
	*victim
	ctx    context.Context
	random *rand.Rand
	// of the run at hand
	run      thread.Run
	lease    thread.Lease
	claimed  bool
	pos, seq int64
	n        int
}

// story is either what a server does with a new thread, or, for a recoverer, what
// it does with a run that another one left behind.
func (a *actor) story(recover bool) error {
	if recover {
		ok, err := a.claim(thread.Claim{Worker: "recoverer", Lease: victimLease, MaxAttempts: 1000})
		if err != nil || !ok {
			time.Sleep(time.Millisecond)
			return err
		}
		return a.work("")
	}
	id := newID()
	t := thread.Thread{ID: id, CreatedAt: now(), Metadata: thread.Metadata{"story": raw(`"crash"`)}}
	if err := a.transition(report{Op: opCreate, Thread: id}, func() error { return a.s.CreateThread(a.ctx, t) }); err != nil {
		return err
	}
	runID, err := a.admit(id)
	if err != nil {
		return err
	}
	if !a.claimed && a.random.IntN(8) == 0 {
		return a.cancel(id, runID)
	}
	if !a.claimed {
		if ok, err := a.claim(claimOf(runID)); err != nil || !ok {
			return err
		}
	}
	if a.random.IntN(3) == 0 {
		if err := a.dropQueued(id); err != nil {
			return err
		}
	}
	question := newInterruptID()
	if err := a.work(question); err != nil {
		return err
	}
	if runID, err = a.resume(id, runID, question); err != nil {
		return err
	}
	if ok, err := a.claim(claimOf(runID)); err != nil || !ok {
		return err
	}
	if err := a.work(""); err != nil {
		return err
	}
	switch a.random.IntN(4) {
	case 0:
	case 1:
		return a.transition(report{Op: opTrim, Thread: id}, func() error { return a.s.TrimThread(a.ctx, id) })
	default:
		return nil
	}
	return a.transition(report{Op: opDelete, Thread: id}, func() error { return a.s.DeleteThread(a.ctx, id) })
}

// admit admits a run, and claims it in the same transition every other time.
func (a *actor) admit(id string) (string, error) {
	ad := newAdmission(id)
	if a.random.IntN(2) == 0 {
		c := claimOf("")
		ad.Claim = &c
	}
	a.claimed = false
	err := a.transition(report{Op: opAdmit, Thread: id, Run: ad.Run.ID}, func() error {
		admitted, err := a.s.AdmitRun(a.ctx, ad)
		if err == nil && admitted.Lease != nil {
			a.take(admitted.Run, *admitted.Lease)
		}
		return err
	})
	return ad.Run.ID, err
}

// dropQueued cancels a run that waits behind the one at hand.
func (a *actor) dropQueued(id string) error {
	ad := newAdmission(id, strategy("enqueue"))
	err := a.transition(report{Op: opAdmit, Thread: id, Run: ad.Run.ID}, func() error {
		_, err := a.s.AdmitRun(a.ctx, ad)
		return err
	})
	if err != nil {
		return err
	}
	return a.cancel(id, ad.Run.ID)
}

func claimOf(runID string) thread.Claim {
	return thread.Claim{Worker: "actor", Lease: victimLease, RunID: runID, MaxAttempts: 1000}
}

func (a *actor) resume(id, execution, question string) (string, error) {
	ad := newAdmission(id, resume("f", answer(question, `"yes"`)))
	ad.Run.ExecutionID = execution
	err := a.transition(report{Op: opResume, Thread: id, Run: ad.Run.ID, Interrupt: question}, func() error {
		_, err := a.s.AdmitRun(a.ctx, ad)
		return err
	})
	return ad.Run.ID, err
}

func (a *actor) cancel(id, runID string) error {
	return a.transition(report{Op: opCancel, Thread: id, Run: runID}, func() error {
		_, _, err := a.s.RequestCancel(a.ctx, id, runID, "interrupt", now())
		return err
	})
}

// claim reports what it got when it has it: before, nobody can know.
func (a *actor) claim(c thread.Claim) (ok bool, err error) {
	run, lease, ok, err := a.s.ClaimRun(a.ctx, c)
	if err != nil || !ok {
		return false, err
	}
	a.take(run, lease)
	return true, nil
}

// take makes a run the one at hand.
func (a *actor) take(run thread.Run, lease thread.Lease) {
	a.run, a.lease, a.claimed = run, lease, true
	a.pos, a.seq, a.n = lease.NextPos, lease.NextSeq, 0
	a.say(report{Op: opClaim, Done: true, Thread: a.lease.ThreadID, Run: a.lease.RunID, Token: a.lease.Token, First: a.lease.NextPos, Seq: a.lease.NextSeq})
}

// work is a run: deltas, supersteps, and the end, at a question if one is given.
func (a *actor) work(question string) error {
	for range a.random.IntN(4) {
		if err := a.speak(); err != nil {
			return err
		}
		if err := a.superstep(nil, ""); err != nil {
			return err
		}
	}
	if err := a.speak(); err != nil {
		return err
	}
	f := &thread.Finish{Status: thread.RunSuccess, At: now(), Suspended: question != "", HasNext: question != ""}
	return a.superstep(f, question)
}

func (a *actor) entry(text string) thread.Entry {
	w := worker{run: a.run, pos: a.pos, seq: a.seq}
	e := w.note(text)
	a.pos, a.seq = w.pos, w.seq
	return e
}

// speak shows events to readers first and stores them then.
func (a *actor) speak() error {
	var batch []thread.Entry
	for i := range 1 + a.random.IntN(20) {
		batch = append(batch, a.entry(fmt.Sprint(i)))
	}
	a.say(report{Op: opDeliver, Thread: a.lease.ThreadID, Last: a.pos - 1, Seq: a.seq - 1})
	a.n++
	r := report{Op: opAppend, Thread: a.lease.ThreadID, Run: a.lease.RunID, ID: fmt.Sprintf("%s/%d/batch/%d", a.lease.RunID, a.lease.Token, a.n),
		First: batch[0].Pos, Last: a.pos - 1}
	return a.transition(r, func() error { return a.s.AppendLog(a.ctx, a.lease, batch) })
}

// superstep commits a checkpoint with all that goes with one.
func (a *actor) superstep(f *thread.Finish, question string) error {
	a.n++
	cp := newCheckpoint(a.lease.RunID, func(c *agent.CheckpointRecord) {
		c.State = raw(`{"s":%q}`, strings.Repeat("x", a.random.IntN(9000)))
		c.Lists = []message.SegmentAppend{{Segment: "s" + c.ID, Entries: []json.RawMessage{raw(`{"id":%q}`, c.ID)}}}
	})
	task := agent.TaskRecord{CheckpointID: cp.ID, TaskID: newID(), Name: "n", Status: agent.TaskDone}
	if question != "" {
		task.Status, task.Interrupts = agent.TaskInterrupted, []agent.InterruptInfo{{ID: question, Value: raw("1")}}
	}
	c := thread.Commit{
		ID: fmt.Sprintf("%s/%d/%d", a.lease.RunID, a.lease.Token, a.n), Sync: true, Finish: f,
		Checkpoints: []agent.CheckpointRecord{cp}, Tasks: []agent.TaskRecord{task},
		Steps:   []agent.StepRecord{{Origin: cp.ID, Name: "s", Status: agent.StepDone}},
		Entries: []thread.Entry{a.entry("a"), a.entry("b")},
	}
	if question != "" {
		c.Reviews = []thread.ReviewDraft{{InterruptID: question, Project: crashProject, Digest: question}}
		c.Audit = []thread.AuditBody{{Action: thread.AuditExecuted, Notes: c.ID}}
	}
	r := report{Op: opCommit, Thread: a.lease.ThreadID, Run: a.lease.RunID, ID: c.ID, Checkpoint: cp.ID, Task: task.TaskID,
		Step: cp.ID, Segment: "s" + cp.ID, First: a.pos - 2, Last: a.pos - 1, Interrupt: question, Finish: f != nil}
	return a.transition(r, func() error {
		_, err := a.s.Commit(a.ctx, a.lease, c)
		return err
	})
}
