package thread

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// The kinds of steps.
const (
	StepModel = "model"
	StepTool  = "tool"
)

// The statuses of steps.
const (
	StepRunning   = "running"
	StepCompleted = "completed"
	StepSuspended = "suspended" // a tool that waits for a person; its continuation is a step of its own
	StepFailed    = "error"
	StepAborted   = "aborted" // by a cancel, or with its process
)

// Step is a call of a model or a tool, as the log tells of it.
type Step struct {
	// Number counts the steps of the execution from 1.
	Number int
	RunID  string
	Kind   string
	// Name is the tool's, or that of the node that called the model.
	Name string
	// CallID is the id of the tool call, or of the model's message.
	CallID    string
	Namespace string
	Status    string
	// StartedAt of a model's call is when its node was free to make it: nothing is known of it before its first token, FirstTokenAt.
	StartedAt    time.Time
	FirstTokenAt time.Time
	EndedAt      time.Time // zero while it runs
	Usage        *message.Usage
	Error        string
}

// Duration is how long the step took; 0 while it runs.
func (s Step) Duration() time.Duration {
	if s.EndedAt.IsZero() {
		return 0
	}
	return s.EndedAt.Sub(s.StartedAt)
}

// stepFold gathers steps from the events of runs, in their order.
type stepFold struct {
	runID string
	steps []Step
	open  map[string]int       // started steps by kind and id
	free  map[string]time.Time // since when a task could have made its next call, by task id
	// first is when the run first showed something: text or a tool's call.
	first time.Time
}

// run goes on with another run.
func (f *stepFold) run(id string) {
	f.runID, f.open, f.free, f.first = id, map[string]int{}, map[string]time.Time{}, time.Time{}
}

func (f *stepFold) see(e agent.Event) {
	at := time.UnixMilli(e.At)
	switch v := e.Payload.(type) {
	case agent.RunStart:
		f.abandon(StepAborted, at) // of a worker that was lost
	case agent.TaskStart:
		f.free[v.ID] = at
	case agent.MessageStart:
		if v.Type == message.AI && v.Streamed {
			f.start(StepModel, v.ID, nodeOf(e.NS), e.NS, at)
		}
	case agent.Delta:
		if f.first.IsZero() {
			f.first = at
		}
	case agent.MessageFinish:
		f.end(StepModel, v.ID, e.NS, StepCompleted, "", v.Usage, at)
	case agent.MessageError:
		f.end(StepModel, v.ID, e.NS, StepFailed, v.Message, nil, at)
	case agent.ToolNote:
		f.tool(e, v, at)
	case agent.RunFinish:
		switch {
		case v.Suspended:
			f.abandon(StepSuspended, at)
		case v.Status == string(RunInterrupted):
			f.abandon(StepAborted, at)
		default:
			f.abandon(StepFailed, at)
		}
	}
}

func (f *stepFold) tool(e agent.Event, v agent.ToolNote, at time.Time) {
	switch e.Kind {
	case agent.ToolStarted:
		f.start(StepTool, v.CallID, v.Name, e.NS, at)
		if f.first.IsZero() {
			f.first = at
		}
	case agent.ToolFinished:
		f.end(StepTool, v.CallID, e.NS, StepCompleted, "", nil, at)
	case agent.ToolFailed:
		f.end(StepTool, v.CallID, e.NS, StepFailed, v.Error, nil, at)
	}
}

// start begins a step, unless it is a further attempt at one.
func (f *stepFold) start(kind, id, name, ns string, at time.Time) {
	if _, again := f.open[kind+id]; again {
		return
	}
	s := Step{Number: len(f.steps) + 1, RunID: f.runID, Kind: kind, Name: name, CallID: id, Namespace: ns, Status: StepRunning, StartedAt: at}
	if kind == StepModel {
		s.FirstTokenAt = at
		if free, ok := f.free[taskOf(ns)]; ok && free.Before(at) {
			s.StartedAt = free
		}
	}
	f.open[kind+id] = len(f.steps)
	f.steps = append(f.steps, s)
}

func (f *stepFold) end(kind, id, ns, status, failure string, usage *message.Usage, at time.Time) {
	f.free[taskOf(ns)] = at
	n, ok := f.open[kind+id]
	if !ok {
		return
	}
	delete(f.open, kind+id)
	s := &f.steps[n]
	s.Status, s.Error, s.Usage, s.EndedAt = status, failure, usage, at
}

// abandon ends the steps that have no end of their own.
func (f *stepFold) abandon(status string, at time.Time) {
	for key, n := range f.open {
		f.steps[n].Status, f.steps[n].EndedAt = status, at
		delete(f.open, key)
	}
}

// nodeOf is the name of the node that a namespace ends in, taskOf the id of its task.
func nodeOf(ns string) string { return strings.SplitN(lastSegment(ns), ":", 2)[0] }

func taskOf(ns string) string {
	_, id, _ := strings.Cut(lastSegment(ns), ":")
	return id
}

func lastSegment(ns string) string { return ns[strings.LastIndexByte(ns, '|')+1:] }

// stepsBatch is how many entries of a log are read at once.
const stepsBatch = 1024

// foldRun adds a run's steps. A log that is gone has none.
func (s *Service) foldRun(ctx context.Context, f *stepFold, run Run) error {
	f.run(run.ID)
	for after := int64(0); ; {
		entries, err := s.store.ReadRunLog(ctx, run.ThreadID, run.ID, after, stepsBatch)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			f.see(e.Event)
		}
		after = entries[len(entries)-1].Pos
	}
}

// Steps lists the calls of models and tools in an execution, as far as its log is kept.
func (s *Service) Steps(ctx context.Context, e Execution) ([]Step, error) {
	var f stepFold
	for _, run := range e.Runs {
		if err := s.foldRun(ctx, &f, run); err != nil {
			return nil, err
		}
	}
	return f.steps, nil
}
