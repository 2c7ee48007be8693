package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/parley-dev/parley/agent"
)

// execute carries out a claimed run until it has ended, was given back or is lost.
func (s *Service) execute(ctx context.Context, run Run, lease Lease) {
	ctx, cancel := context.WithCancelCause(agent.WithTraceParent(ctx, run.Kwargs.TraceParent))
	defer cancel(nil)
	a := &active{run: run, recorder: newRecorder(s, run, lease), cancel: cancel, headers: s.pool.headers(run.ID)}
	if !s.pool.add(a) {
		s.release(ctx, run, lease)
		return
	}
	if ArmsCall(run.Cancel) {
		s.pool.hears(a, run.Cancel)
		s.pool.armNow(ctx, a, run.Cancel)
	}
	err := s.carryOut(ctx, a, lease.Lost)
	outcome, failure := a.recorder.close(ctx)
	s.settle(ctx, a, lease, outcome, errors.Join(err, failure))
}

// carryOut runs the graph, or ends a run that must not start.
// lost is how many workers were lost over it.
func (s *Service) carryOut(ctx context.Context, a *active, lost int) (err error) {
	run, r := a.run, a.recorder
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("thread: run %s panicked: %v\n%s", run.ID, p, debug.Stack())
			r.fail(err)
		}
	}()
	switch {
	case run.Cancel != "" && !ArmsCall(run.Cancel):
		r.cancel(run.Cancel)
		return s.endUnrun(ctx, a, agent.Outcome{Status: string(RunInterrupted)})
	case lost >= s.opts.MaxAttempts:
		return s.endUnrun(ctx, a, agent.Outcome{Status: string(RunError), Err: &agent.ErrorInfo{
			Name: "Error", Message: fmt.Sprintf("Run exceeded max attempts (%d).", s.opts.MaxAttempts),
		}})
	}
	cfg := configOf(run)
	agents := s.using()
	defer agents.end()
	graph, err := agents.graph(ctx, run.GraphID, cfg)
	if err != nil && r.asked() == "" {
		return s.endUnrun(ctx, a, agent.Outcome{Status: string(RunError), Err: agent.ErrorInfoOf(err)})
	}
	var exec agent.Execution
	if err == nil {
		exec, err = s.execution(ctx, a, cfg)
	}
	if err != nil {
		if r.asked() != "" { // a cancel came before the graph began (D-57)
			return s.endUnrun(ctx, a, agent.Outcome{Status: string(RunInterrupted)})
		}
		return err
	}
	sealed, err := s.unsealed(run)
	if err != nil {
		return s.endUnrun(ctx, a, unreadable(err))
	}
	r.Emit(s.started(a, cfg))
	outcome, err := graph.Run(agent.WithHeaders(ctx, handed(sealed, a.headers)), exec)
	if err == nil {
		// A graph commits its own outcome; this only holds for one that had nothing to commit.
		if e := r.Commit(ctx, agent.Commit{Outcome: &outcome}); !errors.Is(e, errRunEnded) {
			err = e
		}
	}
	return err
}

// endUnrun ends a run without executing anything.
func (s *Service) endUnrun(ctx context.Context, a *active, o agent.Outcome) error {
	a.recorder.Emit(s.started(a, configOf(a.run)))
	return a.recorder.Commit(ctx, agent.Commit{Outcome: &o})
}

// execution builds what the graph gets.
func (s *Service) execution(ctx context.Context, a *active, cfg agent.Config) (agent.Execution, error) {
	run := a.run
	reader := s.reader(run.ThreadID)
	reader.read = a.recorder.know
	head, err := reader.Checkpoint(ctx, "", "")
	if err != nil {
		return agent.Execution{}, fmt.Errorf("read the head: %w", err)
	}
	above := ""
	if head != nil {
		above = head.Checkpoint.ID
	}
	exec := agent.Execution{
		ThreadID: run.ThreadID, RunID: run.ID, GraphID: run.GraphID, AssistantID: run.AssistantID,
		Attempt: run.Attempt, Input: run.Kwargs.Input, Resumed: run.Resumes, Config: cfg,
		CheckpointID:    run.Kwargs.Checkpoint,
		InterruptBefore: nodeNames(run.Kwargs.InterruptBefore), InterruptAfter: nodeNames(run.Kwargs.InterruptAfter),
		Ephemeral: run.Kwargs.Temporary, ExitOnly: run.Kwargs.Durability == "exit",
		Reader: reader, Recorder: a.recorder, Items: s.items(run), Clock: s.clock, IDs: newThreadIDs(s.clock, above),
		Panicked: func(node string, value any, stack []byte) {
			s.log.ErrorContext(ctx, "a node panicked", "run", run.ID, "thread", run.ThreadID, "node", node, "panic", value, "stack", string(stack))
		},
	}
	if exec.CheckpointID == above {
		exec.CheckpointID = "" // the head, addressed, is as none
	}
	if exec.Command, err = agent.ParseCommand(run.Kwargs.Command); err != nil {
		return agent.Execution{}, err
	}
	if exec.Command != nil {
		exec.Input = nil // a command wins over input
	}
	if len(run.Resumes) > 0 || begun(head, run) {
		// Answers and writes of a resume are stored with its admission; what a dead
		// worker began goes on and gets neither input nor command a second time.
		exec.Input, exec.Command, exec.CheckpointID = nil, nil, ""
	}
	return exec, nil
}

// begun reports whether the run has left a checkpoint: then its input is applied.
func begun(head *agent.Tuple, run Run) bool {
	if head == nil {
		return false
	}
	var id string
	raw, ok := head.Checkpoint.Metadata["run_id"]
	return ok && json.Unmarshal(raw, &id) == nil && id == run.ID
}

// started is the run's first event of this attempt.
func (s *Service) started(a *active, cfg agent.Config) agent.Event {
	run := a.run
	start := agent.RunStart{
		GraphID: run.GraphID, AssistantID: run.AssistantID, Attempt: max(run.Attempt, 1),
		Metadata: streamMetadata(run), Configurable: publicConfigurable(cfg.Configurable),
		RecursionLimit: cfg.RecursionLimit, Tags: cfg.Tags, Input: run.Kwargs.Input,
	}
	start.FrameBase = a.recorder.lease.FrameBase // of a first attempt when a fail-over may have taken another one
	return agent.Event{Kind: agent.RunStarted, At: s.clock.Now().UnixMilli(), Payload: start}
}

// settle does what is left when a run's goroutine is done with it.
func (s *Service) settle(ctx context.Context, a *active, lease Lease, outcome *agent.Outcome, failure error) {
	run := a.run
	if outcome == nil {
		s.pool.remove(run.ID)
		switch {
		case errors.Is(failure, ErrFenced), errors.Is(failure, ErrNotFound):
			s.cache.forget(run.ThreadID)
		case errors.Is(failure, errDrained), errors.Is(context.Cause(ctx), errStopping):
			s.release(ctx, run, lease)
		default:
			s.cache.forget(run.ThreadID) // it may know what a fail-over took
			// The lease runs out and the run is claimed again, at most MaxAttempts times.
			s.log.ErrorContext(ctx, "run stopped without an outcome", "run", run.ID, "thread", run.ThreadID, "err", failure)
		}
		return
	}
	if a.recorder.asked() == CancelRollback {
		s.cache.forget(run.ThreadID) // what it left is gone
	}
	s.pool.remove(run.ID)
	s.ended(run.ThreadID, run.ID)
	if run.Kwargs.Webhook != "" {
		s.outbox.wake()
	}
}

// release gives a run back unfinished.
func (s *Service) release(ctx context.Context, run Run, lease Lease) {
	if err := s.store.ReleaseRun(context.WithoutCancel(ctx), lease); err != nil && !errors.Is(err, ErrFenced) {
		s.log.WarnContext(ctx, "give a run back", "run", run.ID, "err", err)
	}
}

// nodeNames reads a breakpoint option: "*" or a list of names.
func nodeNames(raw json.RawMessage) []string {
	if isNull(raw) { // the usual case
		return nil
	}
	var all string
	if json.Unmarshal(raw, &all) == nil && all != "" {
		return []string{all}
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		return nil
	}
	return names
}
