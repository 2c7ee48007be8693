package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// DefaultRecursionLimit is the number of supersteps a run may make unless its
// configuration says otherwise.
const DefaultRecursionLimit = 25

// Run carries out one run until it ends, suspends, fails or ctx is cancelled.
// All it does leaves through exec.Recorder. The error is for the caller's log only:
// a failure of the Recorder or Reader; failures of the graph are in the Outcome.
// It returns when every node function that it called has returned.
func (g *Graph) Run(ctx context.Context, exec Execution) (Outcome, error) {
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRun(&exec, cancel)
	l := r.loop(g, "", nil)
	if len(exec.Resumed) > 0 {
		l.event(InputAnswered, Answered{InterruptIDs: exec.Resumed})
	}
	ended := l.execute(runCtx, r.rootInput())
	outcome := l.outcome(ended)
	if err := r.broken(); err != nil {
		return Outcome{}, err
	}
	l.pend.Outcome = &outcome
	// A cancelled run still stores how far it came.
	r.commit(context.WithoutCancel(ctx), &l.pend)
	if err := r.broken(); err != nil {
		return Outcome{}, err
	}
	return outcome, nil
}

// run is what all graphs of one Graph.Run share.
type run struct {
	exec     *Execution
	began    time.Time
	cancel   context.CancelCauseFunc
	metadata map[string]json.RawMessage // of root checkpoints

	mu sync.Mutex
	// open holds the namespaces that have started.
	open map[string]bool
	// spoken holds the ids of messages that readers got.
	spoken map[string]bool
	// failure is the first error of the Recorder or Reader; it ends the run.
	failure error
	// held is what a run with ExitOnly hasn't stored yet.
	held heldBack
	// replayFrom is the checkpoint that a replay started from; nested
	// graphs with state of their own start from their state at that point.
	replayFrom string
	// journals are those of origins that tasks share.
	journals map[string]*journal
}

func newRun(exec *Execution, cancel context.CancelCauseFunc) *run {
	return &run{exec: exec, began: exec.Clock.Now(), cancel: cancel, metadata: checkpointMetadata(exec), open: map[string]bool{}, spoken: map[string]bool{}}
}

// rootInput says what the run begins with.
func (r *run) rootInput() loopInput {
	in := loopInput{checkpointID: r.exec.CheckpointID, fresh: r.exec.Ephemeral}
	switch {
	case len(r.exec.Resumed) > 0: // update and goto were stored at admission
	case r.exec.Command != nil:
		in.command = r.exec.Command
	case !isNull(r.exec.Input):
		in.values = r.exec.Input
	}
	return in
}

// outcome turns the end of the root graph into the run's.
func (l *loop) outcome(e end) Outcome {
	switch e.kind {
	case endSuspended:
		return Outcome{Status: "success", Suspended: true}
	case endStopped:
		l.event(BreakpointHit, nil)
		return Outcome{Status: "success", Breakpoint: true}
	case endFailed:
		return Outcome{Status: "error", Err: ErrorInfoOf(e.err)}
	case endCancelled:
		return Outcome{Status: "interrupted"}
	}
	return Outcome{Status: "success"}
}

// broken is the error that ended the run without another word; nil while all is well.
func (r *run) broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// fail notes that the Recorder or Reader failed.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
		r.cancel(err)
	}
}

// commit stores c and empties it. Runs that keep nothing hand on events and outcome only.
func (r *run) commit(ctx context.Context, c *Commit) {
	out := *c
	*c = Commit{}
	switch {
	case r.exec.Ephemeral:
		out.Checkpoints, out.Tasks, out.Steps = nil, nil, nil
	case r.exec.ExitOnly:
		r.holdBack(&out)
	}
	if out.Outcome == nil && len(out.Checkpoints)+len(out.Tasks)+len(out.Steps) == 0 {
		if len(out.Events) == 0 {
			return
		}
		if ephemeral(out.Events) {
			r.exec.Recorder.Emit(out.Events...)
			return
		}
	}
	if r.broken() != nil {
		return
	}
	if err := r.exec.Recorder.Commit(ctx, out); err != nil {
		r.fail(fmt.Errorf("agent: commit: %w", err))
	}
}

func ephemeral(events []Event) bool {
	for _, e := range events {
		if !e.Kind.Ephemeral() {
			return false
		}
	}
	return true
}

// checkpointMetadata is what checkpoints remember of the run (spec/rest-api.md
// 3.6): public configurable keys, the run's metadata, ids.
func checkpointMetadata(exec *Execution) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for k, v := range exec.Config.Configurable {
		internal := strings.HasPrefix(k, "__") || strings.HasPrefix(k, "langgraph_auth") || strings.HasPrefix(k, "checkpoint_")
		if v = bytes.TrimSpace(v); !internal && len(v) > 0 && v[0] != '{' && v[0] != '[' && !isNull(v) {
			m[k] = v
		}
	}
	for k, v := range exec.Config.Metadata {
		m[k] = v
	}
	for k, v := range map[string]string{"run_id": exec.RunID, "graph_id": exec.GraphID, "assistant_id": exec.AssistantID, "thread_id": exec.ThreadID} {
		if v != "" {
			m[k] = appendString(nil, v)
		}
	}
	if exec.Attempt > 0 {
		m["run_attempt"] = json.RawMessage(fmt.Sprint(exec.Attempt))
	}
	return m
}
