// Package agenttest runs graphs over several turns in memory, for tests of graphs
// and of the runtime: what a thread would store is kept in a Thread and can be looked at.
package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Thread is a thread in memory: checkpoints, task records, journal, answers and
// events of the runs of one graph. It is the Reader, Recorder, Clock and
// IDs of its runs. It is safe for concurrent use.
type Thread struct {
	// ID is the thread's id.
	ID string
	// Config is the configuration of the runs that follow.
	Config agent.Config
	// Items is the long-term store of the runs; may be nil.
	Items agent.Items
	// OnEmit, when set, sees each event before it is kept.
	OnEmit func(agent.Event)
	// OnCommit, when set, can refuse a commit, as a store that fails would.
	OnCommit func(agent.Commit) error

	graph *agent.Graph
	clock *Clock

	mu          sync.Mutex
	checkpoints []*agent.Checkpoint // of all namespaces, in stored order
	tasks       map[string]map[string]agent.TaskRecord
	steps       map[string][]agent.StepRecord
	answers     map[string]agent.Answer
	events      []agent.Event
	commits     []agent.Commit
	runs, ids   int
}

// New returns an empty thread for a graph.
func New(g *agent.Graph) *Thread {
	return &Thread{
		ID: "00000000-0000-4000-8000-000000000001", graph: g, clock: NewClock(),
		tasks: map[string]map[string]agent.TaskRecord{}, steps: map[string][]agent.StepRecord{}, answers: map[string]agent.Answer{},
	}
}

// Clock is the thread's clock.
func (t *Thread) Clock() *Clock { return t.clock }

// SetGraph replaces the graph, as a deployment of new code would.
func (t *Thread) SetGraph(g *agent.Graph) { t.graph = g }

// Execution returns a run of the thread's graph that is ready to be changed and started with Start.
func (t *Thread) Execution() agent.Execution {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	return agent.Execution{
		ThreadID: t.ID, RunID: fmt.Sprintf("00000000-0000-4000-8000-0000000f%04d", t.runs), GraphID: t.graph.Name(), AssistantID: "assistant",
		Attempt: 1, Config: t.Config, Reader: t, Recorder: recorder{t}, Items: t.Items, Clock: t.clock, IDs: ids{t},
	}
}

// Result is what a run leaves: how it ended, and its events and commits.
type Result struct {
	agent.Outcome
	// Run is the execution, for a repeat of it.
	Run     agent.Execution
	Events  []agent.Event
	Commits []agent.Commit
}

// Start carries out an execution.
func (t *Thread) Start(ctx context.Context, exec agent.Execution) (Result, error) {
	t.mu.Lock()
	event, commit := len(t.events), len(t.commits)
	t.mu.Unlock()
	out, err := t.graph.Run(ctx, exec)
	t.mu.Lock()
	defer t.mu.Unlock()
	return Result{Outcome: out, Run: exec, Events: slices.Clone(t.events[event:]), Commits: slices.Clone(t.commits[commit:])}, err
}

// Run runs the graph with an input, which is encoded as JSON; nil continues.
func (t *Thread) Run(ctx context.Context, input any) (Result, error) {
	exec := t.Execution()
	if input != nil {
		raw, err := json.Marshal(input)
		if err != nil {
			return Result{}, err
		}
		exec.Input = raw
	}
	return t.Start(ctx, exec)
}

// RunFrom runs the graph from an older checkpoint.
func (t *Thread) RunFrom(ctx context.Context, checkpointID string, input any) (Result, error) {
	exec := t.Execution()
	exec.CheckpointID = checkpointID
	if input != nil {
		raw, err := json.Marshal(input)
		if err != nil {
			return Result{}, err
		}
		exec.Input = raw
	}
	return t.Start(ctx, exec)
}

// Command runs a command as the service admits it: with a resume, answers and
// writes are checked and stored first.
func (t *Thread) Command(ctx context.Context, cmd agent.Command) (Result, error) {
	exec := t.Execution()
	plan, err := t.admit(ctx, cmd, false)
	if err != nil {
		return Result{}, err
	}
	exec.Command, exec.Resumed = &plan.Command, answered(plan)
	return t.Start(ctx, exec)
}

// Admit checks and stores what a command with a resume says and runs nothing. It returns the ids of the
// interrupts that it answers, for Execution.Resumed.
func (t *Thread) Admit(ctx context.Context, cmd agent.Command) ([]string, error) {
	plan, err := t.admit(ctx, cmd, false)
	if err != nil {
		return nil, err
	}
	return answered(plan), nil
}

// Expire lets the deadlines of all pending interrupts pass; each must have one.
func (t *Thread) Expire(ctx context.Context) (Result, error) {
	answers := map[string]json.RawMessage{}
	for _, q := range t.Pending() {
		if q.Expiry == nil {
			return Result{}, fmt.Errorf("agenttest: interrupt %s has no deadline", q.ID)
		}
		answers[q.ID] = q.Expiry.Answer
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return Result{}, err
	}
	exec := t.Execution()
	plan, err := t.admit(ctx, agent.Command{Resume: raw, HasResume: true}, true)
	if err != nil {
		return Result{}, err
	}
	exec.Command, exec.Resumed = &plan.Command, answered(plan)
	return t.Start(ctx, exec)
}

func (t *Thread) admit(ctx context.Context, cmd agent.Command, trusted bool) (*agent.ResumePlan, error) {
	head, err := t.Checkpoint(ctx, "", "")
	if err != nil {
		return nil, err
	}
	plan, err := t.graph.CheckCommand(ctx, agent.ResumeRequest{
		ThreadID: t.ID, Head: head, Pending: t.Pending(), Command: cmd, Trusted: trusted, Config: t.Config, Reader: t, Clock: t.clock, IDs: ids{t},
	})
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range plan.Answers {
		t.answers[a.InterruptID] = a
	}
	if plan.Writes != nil {
		t.storeTask(*plan.Writes)
	}
	return plan, nil
}

func answered(plan *agent.ResumePlan) []string {
	var ids []string
	for _, a := range plan.Answers {
		ids = append(ids, a.InterruptID)
	}
	return ids
}

// Resume answers the only pending interrupt.
func (t *Thread) Resume(ctx context.Context, answer any) (Result, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return Result{}, err
	}
	return t.Command(ctx, agent.Command{Resume: raw, HasResume: true})
}

// Answer answers interrupts by id.
func (t *Thread) Answer(ctx context.Context, answers map[string]any) (Result, error) {
	return t.Resume(ctx, answers)
}

// Recover carries out a run again that a crashed worker left.
func (t *Thread) Recover(ctx context.Context, exec agent.Execution) (Result, error) {
	exec.Attempt++
	return t.Start(ctx, exec)
}

// Pending lists the open questions of the head, nested ones included, in the order of tasks.
func (t *Thread) Pending() []agent.InterruptInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	head := t.newest("")
	if head == nil {
		return nil
	}
	records := slices.Collect(maps.Values(t.tasks[""+"\x00"+head.ID]))
	slices.SortFunc(records, func(a, b agent.TaskRecord) int {
		switch {
		case a.Path < b.Path:
			return -1
		case a.Path > b.Path:
			return 1
		}
		return 0
	})
	var open []agent.InterruptInfo
	for _, rec := range records {
		if rec.Status == agent.TaskDone {
			continue
		}
		for _, q := range rec.Interrupts {
			if _, answered := t.answers[q.ID]; !answered {
				open = append(open, q)
			}
		}
	}
	return open
}

// State is the newest state of a namespace as the API shows it, pending writes applied.
func (t *Thread) State(ctx context.Context, ns string) (*agent.Snapshot, error) {
	tuple, err := t.Checkpoint(ctx, ns, "")
	if err != nil || tuple == nil {
		return nil, err
	}
	g := t.graph.SubgraphAt(ns)
	if g == nil {
		return nil, fmt.Errorf("agenttest: no graph at %q", ns)
	}
	return g.SnapshotOf(ctx, t, tuple, true, false)
}

// History lists the checkpoints of a namespace, newest first.
func (t *Thread) History(ns string) []*agent.Checkpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*agent.Checkpoint
	for _, cp := range slices.Backward(t.checkpoints) {
		if cp.NS == ns {
			list = append(list, cp)
		}
	}
	return list
}

// Namespaces lists the namespaces that have checkpoints, in the order of their first.
func (t *Thread) Namespaces() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for _, cp := range t.checkpoints {
		if !slices.Contains(list, cp.NS) {
			list = append(list, cp.NS)
		}
	}
	return list
}

// Task returns the record of a task of a checkpoint by node name; of several the first by path.
func (t *Thread) Task(ns, checkpointID, node string) (agent.TaskRecord, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found agent.TaskRecord
	ok := false
	for _, rec := range t.tasks[ns+"\x00"+checkpointID] {
		if rec.Name == node && (!ok || rec.Path < found.Path) {
			found, ok = rec, true
		}
	}
	return found, ok
}

// Commits returns all commits so far.
func (t *Thread) Commits() []agent.Commit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.commits)
}

func (t *Thread) newest(ns string) *agent.Checkpoint {
	for _, cp := range slices.Backward(t.checkpoints) {
		if cp.NS == ns {
			return cp
		}
	}
	return nil
}

func (t *Thread) storeTask(rec agent.TaskRecord) {
	key := rec.NS + "\x00" + rec.CheckpointID
	if t.tasks[key] == nil {
		t.tasks[key] = map[string]agent.TaskRecord{}
	}
	t.tasks[key][rec.TaskID] = rec
}

// tuple is a checkpoint with what belongs to it.
func (t *Thread) tuple(cp *agent.Checkpoint) *agent.Tuple {
	tuple := &agent.Tuple{Checkpoint: cp, Answers: map[string]agent.Answer{}}
	for _, rec := range t.tasks[cp.NS+"\x00"+cp.ID] {
		tuple.Tasks = append(tuple.Tasks, rec)
		for _, q := range rec.Interrupts {
			if a, ok := t.answers[q.ID]; ok {
				tuple.Answers[q.ID] = a
			}
		}
	}
	slices.SortFunc(tuple.Tasks, func(a, b agent.TaskRecord) int {
		if a.Path != b.Path {
			if a.Path < b.Path {
				return -1
			}
			return 1
		}
		return 0
	})
	return tuple
}

// Checkpoint implements agent.Reader.
func (t *Thread) Checkpoint(_ context.Context, ns, id string) (*agent.Tuple, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cp := range slices.Backward(t.checkpoints) {
		if cp.NS == ns && (id == "" || cp.ID == id) {
			return t.tuple(cp), nil
		}
	}
	return nil, nil
}

// Checkpoints implements agent.Reader.
func (t *Thread) Checkpoints(_ context.Context, ns string, q agent.CheckpointQuery) ([]*agent.Tuple, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*agent.Tuple
	below := q.Before == ""
	for _, cp := range slices.Backward(t.checkpoints) {
		if !below {
			below = cp.ID == q.Before
			continue
		}
		if cp.NS == ns && len(list) < q.Limit {
			list = append(list, t.tuple(cp))
		}
	}
	return list, nil
}

// Steps implements agent.Reader.
func (t *Thread) Steps(_ context.Context, origin string) ([]agent.StepRecord, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.steps[origin]), nil
}

// recorder is the Recorder of a thread's runs.
type recorder struct{ t *Thread }

func (r recorder) Emit(events ...agent.Event) {
	for _, e := range events {
		if r.t.OnEmit != nil {
			r.t.OnEmit(e)
		}
	}
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.t.events = append(r.t.events, events...)
}

func (r recorder) Commit(ctx context.Context, c agent.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := r.t
	if t.OnCommit != nil {
		if err := t.OnCommit(c); err != nil {
			return err
		}
	}
	for _, e := range c.Events {
		if t.OnEmit != nil {
			t.OnEmit(e)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// As in a store: above the root's head. Nested graphs that run in parallel may commit in another order than they minted.
	last := ""
	if head := t.newest(""); head != nil {
		last = head.ID
	}
	for _, cp := range c.Checkpoints {
		if cp.ID <= last {
			return fmt.Errorf("agenttest: checkpoint %s isn't above the head %s", cp.ID, last)
		}
		if cp.NS == "" {
			last = cp.ID
		}
	}
	t.checkpoints = append(t.checkpoints, c.Checkpoints...)
	for _, rec := range c.Tasks {
		if !slices.ContainsFunc(t.checkpoints, func(cp *agent.Checkpoint) bool { return cp.NS == rec.NS && cp.ID == rec.CheckpointID }) {
			return fmt.Errorf("agenttest: record of task %s of the unknown checkpoint %q %s", rec.Name, rec.NS, rec.CheckpointID)
		}
		t.storeTask(rec)
	}
	for _, s := range c.Steps {
		list := t.steps[s.Origin]
		i := slices.IndexFunc(list, func(o agent.StepRecord) bool { return o.Name == s.Name && o.Occurrence == s.Occurrence })
		if i >= 0 {
			list[i] = s
		} else {
			list = append(list, s)
		}
		t.steps[s.Origin] = list
	}
	t.events = append(t.events, c.Events...)
	t.commits = append(t.commits, c)
	return nil
}

// ids mints ids that grow.
type ids struct{ t *Thread }

func (i ids) Checkpoint() string {
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	i.t.ids++
	return fmt.Sprintf("0197b6a0-0000-7000-8000-%012x", i.t.ids)
}

func (i ids) UUID() string {
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	i.t.ids++
	return fmt.Sprintf("0197b6a0-0000-4000-8000-%012x", i.t.ids)
}

// start is where a Clock begins.
var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
