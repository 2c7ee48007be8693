// Package storetest is what every thread.Store must pass: one case per promise
// of the contract, races, and crashes of the process that holds the store.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// testCase is one promise of the contract.
type testCase struct {
	name string
	run  func(*env)
}

// Run runs the suite. open returns an empty store that no other case uses; Run closes it.
func Run(t *testing.T, open func(t *testing.T) thread.Store) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Threads", threadCases},
		{"Search", searchCases},
		{"Admission", admissionCases},
		{"Repeat", repeatCases},
		{"Resume", resumeCases},
		{"Claim", claimCases},
		{"Numbers", numberCases},
		{"Fencing", fencingCases},
		{"Commit", commitCases},
		{"Finish", finishCases},
		{"Interrupts", interruptCases},
		{"Cancel", cancelCases},
		{"Rollback", rollbackCases},
		{"Unbegun", unbegunCases},
		{"Edit", editCases},
		{"Checkpoints", checkpointCases},
		{"Trim", trimCases},
		{"Copy", copyCases},
		{"Log", logCases},
		{"Retention", retentionCases},
		{"Cut", cutCases},
		{"Assistants", assistantCases},
		{"Items", itemCases},
		{"Crons", cronCases},
		{"Outbox", outboxCases},
		{"Reviews", reviewCases},
		{"ReviewDecisions", decideCases},
		{"ReviewEnds", reviewEndCases},
		{"ReviewSearch", reviewSearchCases},
		{"ReviewTerms", reviewTermCases},
		{"Audit", auditCases},
		{"Keys", keyCases},
		{"Executions", executionCases},
		{"DeadLetters", deadLetterCases},
		{"Races", raceCases},
		{"Truncate", truncateCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s := open(t)
					t.Cleanup(func() { require.NoError(t, s.Close()) })
					c.run(&env{T: t, Store: s, ctx: t.Context()})
				})
			}
		})
	}
}

// env is what a case works with.
type env struct {
	*testing.T
	thread.Store
	ctx context.Context
}

// Times of the suite: how long something may take, and how often to look.
const (
	patience = 10 * time.Second
	lookEach = 2 * time.Millisecond
)

// Commit is the store's, for cases that don't look at what else it tells.
func (e *env) Commit(ctx context.Context, l thread.Lease, c thread.Commit) error {
	_, err := e.Store.Commit(ctx, l, c)
	return err
}

func (e *env) deleteRun(threadID, runID string) []thread.Entry {
	e.Helper()
	told, err := e.DeleteRun(e.ctx, threadID, runID)
	require.NoError(e, err)
	return told
}

// newID returns a UUIDv7 above all before it.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newInterruptID returns an id in the form of an interrupt's: 32 hex digits.
func newInterruptID() string {
	u := uuid.New()
	return fmt.Sprintf("%x", u[:])
}

func raw(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

// now is a time as every store can keep it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// newThread stores a thread.
func (e *env) newThread(change ...func(*thread.Thread)) thread.Thread {
	e.Helper()
	t := thread.Thread{ID: newID(), CreatedAt: now(), Metadata: thread.Metadata{}, Config: raw("{}")}
	for _, f := range change {
		f(&t)
	}
	require.NoError(e, e.CreateThread(e.ctx, t))
	return t
}

func (e *env) getThread(id string) thread.Thread {
	e.Helper()
	t, err := e.GetThread(e.ctx, id)
	require.NoError(e, err)
	return t
}

func (e *env) getRun(threadID, runID string) thread.Run {
	e.Helper()
	run, err := e.GetRun(e.ctx, threadID, runID)
	require.NoError(e, err)
	return run
}

// newAdmission asks for a run on a thread.
func newAdmission(threadID string, change ...func(*thread.Admission)) thread.Admission {
	id := newID()
	a := thread.Admission{Strategy: "reject", Run: thread.Run{
		ID: id, ThreadID: threadID, AssistantID: "a", GraphID: "g", ExecutionID: id, CreatedAt: now(), Strategy: "reject",
		Metadata: thread.Metadata{"graph_id": raw(`"g"`)}, Kwargs: thread.RunKwargs{Input: raw(`{"x":1}`)},
	}}
	for _, f := range change {
		f(&a)
	}
	return a
}

func strategy(s string) func(*thread.Admission) { return func(a *thread.Admission) { a.Strategy = s } }

// admit admits a run.
func (e *env) admit(threadID string, change ...func(*thread.Admission)) thread.Admitted {
	e.Helper()
	admitted, err := e.AdmitRun(e.ctx, newAdmission(threadID, change...))
	require.NoError(e, err)
	return admitted
}

// worker holds a claimed run and numbers its events.
type worker struct {
	e        *env
	run      thread.Run
	lease    thread.Lease
	pos, seq int64
	commits  int
}

// claim leases the given run, which must be startable now.
func (e *env) claim(runID string) *worker {
	e.Helper()
	w, ok := e.tryClaim(thread.Claim{Worker: "w", Lease: time.Minute, RunID: runID})
	require.True(e, ok, "run %s can't be claimed", runID)
	return w
}

func (e *env) tryClaim(c thread.Claim) (*worker, bool) {
	e.Helper()
	run, lease, ok, err := e.ClaimRun(e.ctx, c)
	require.NoError(e, err)
	return &worker{e: e, run: run, lease: lease, pos: lease.NextPos, seq: lease.NextSeq}, ok
}

// eventually claims with c once the store gives the run.
func (e *env) eventually(c thread.Claim) *worker {
	e.Helper()
	var w *worker
	require.Eventually(e, func() bool {
		var ok bool
		w, ok = e.tryClaim(c)
		return ok
	}, patience, lookEach)
	return w
}

// started is a worker of a new run on a new thread.
func (e *env) started() *worker {
	e.Helper()
	t := e.newThread()
	return e.claim(e.admit(t.ID).Run.ID)
}

// note is an event that takes a seq.
func (w *worker) note(text string) thread.Entry {
	return w.entry(agent.Event{Kind: agent.CustomWritten, Payload: agent.Custom{Value: raw("%q", text)}})
}

func (w *worker) entry(ev agent.Event) thread.Entry {
	ev.At = 1_700_000_000_000 + w.pos
	en := thread.Entry{Pos: w.pos, RunID: w.run.ID, Event: ev}
	w.pos++
	if ev.Kind.Numbered() {
		en.Seq = w.seq
		w.seq++
	}
	return en
}

// checkpoint is a new root checkpoint of the run.
func (w *worker) checkpoint(change ...func(*agent.CheckpointRecord)) agent.CheckpointRecord {
	return newCheckpoint(w.run.ID, change...)
}

func newCheckpoint(runID string, change ...func(*agent.CheckpointRecord)) agent.CheckpointRecord {
	c := agent.CheckpointRecord{
		ID: newID(), RunID: runID, Source: agent.SourceLoop, AtMillis: now().UnixMilli(),
		Metadata: []byte(fmt.Sprintf(`{"run_id":%q}`, runID)), State: []byte(`{"s":1}`),
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func namespace(ns string) func(*agent.CheckpointRecord) {
	return func(c *agent.CheckpointRecord) { c.NS = ns }
}

// newCommit numbers a commit.
func (w *worker) newCommit(change ...func(*thread.Commit)) thread.Commit {
	w.commits++
	c := thread.Commit{ID: fmt.Sprintf("%s/%d/%d", w.run.ID, w.lease.Token, w.commits), Sync: true}
	for _, f := range change {
		f(&c)
	}
	return c
}

// rollback removes the run; its last event stays.
func (w *worker) rollback() []thread.Entry {
	w.e.Helper()
	last := w.entry(agent.Event{Kind: agent.RunFinished, Payload: agent.RunFinish{GraphID: "g", Status: "interrupted", Cancel: "rollback"}})
	told, err := w.e.Rollback(w.e.ctx, w.lease, []thread.Entry{last})
	require.NoError(w.e, err)
	return told
}

func (w *worker) commit(change ...func(*thread.Commit)) {
	w.e.Helper()
	require.NoError(w.e, w.e.Commit(w.e.ctx, w.lease, w.newCommit(change...)))
}

// save commits one checkpoint and returns its id.
func (w *worker) save(change ...func(*agent.CheckpointRecord)) string {
	w.e.Helper()
	c := w.checkpoint(change...)
	w.commit(func(k *thread.Commit) { k.Checkpoints = append(k.Checkpoints, c) })
	return c.ID
}

// finish ends the run; with success unless changed.
func (w *worker) finish(change ...func(*thread.Finish)) {
	w.e.Helper()
	f := thread.Finish{Status: thread.RunSuccess, At: now()}
	for _, fn := range change {
		fn(&f)
	}
	w.commit(func(c *thread.Commit) {
		c.Entries = append(c.Entries, w.entry(agent.Event{Kind: agent.RunFinished, Payload: agent.RunFinish{GraphID: "g", Status: string(f.Status)}}))
		c.Finish = &f
	})
}

// ask commits a checkpoint with one task that waits for answers to n new
// questions, and returns the checkpoint and the questions' ids.
func (w *worker) ask(n int) (checkpoint string, ids []string) {
	w.e.Helper()
	c := w.checkpoint()
	task := agent.TaskRecord{CheckpointID: c.ID, TaskID: newID(), Name: "review", Status: agent.TaskInterrupted, Path: "~review"}
	for range n {
		id := newInterruptID()
		ids = append(ids, id)
		task.Interrupts = append(task.Interrupts, agent.InterruptInfo{ID: id, Value: raw(`{"q":"ok?"}`)})
	}
	w.commit(func(k *thread.Commit) { k.Checkpoints, k.Tasks = []agent.CheckpointRecord{c}, []agent.TaskRecord{task} })
	return c.ID, ids
}

// suspend asks n questions and ends the run at them.
func (w *worker) suspend(n int) (checkpoint string, ids []string) {
	w.e.Helper()
	checkpoint, ids = w.ask(n)
	w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
	return checkpoint, ids
}

// resume asks for a run that answers.
func resume(fingerprint string, answers ...agent.Answer) func(*thread.Admission) {
	return func(a *thread.Admission) {
		a.Resume = &thread.ResumeAdmission{Answers: answers, Fingerprint: fingerprint}
		for _, an := range answers {
			a.Run.Resumes = append(a.Run.Resumes, an.InterruptID)
		}
	}
}

func answer(id, value string) agent.Answer {
	return agent.Answer{InterruptID: id, Value: json.RawMessage(value), By: "ann", At: now()}
}

// pending lists the ids of the open questions, sorted.
func (e *env) pending(threadID string) []string {
	e.Helper()
	open, err := e.PendingInterrupts(e.ctx, threadID)
	require.NoError(e, err)
	ids := []string{}
	for _, o := range open {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	return ids
}

func sorted(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return ids
}

// log reads the whole log of a thread.
func (e *env) log(threadID string) []thread.Entry {
	e.Helper()
	list, err := e.ReadLog(e.ctx, threadID, 0, 1<<20)
	require.NoError(e, err)
	return list
}

func positions(list []thread.Entry) (pos []int64) {
	for _, e := range list {
		pos = append(pos, e.Pos)
	}
	return pos
}

func seqs(list []thread.Entry) (seq []int64) {
	for _, e := range list {
		seq = append(seq, e.Seq)
	}
	return seq
}

func runIDs(list []thread.Run) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

func threadIDs(list []thread.Thread) (ids []string) {
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	return ids
}
