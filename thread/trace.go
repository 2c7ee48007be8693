package thread

import (
	"context"

	"github.com/parley-dev/parley/agent"
)

// traced returns a context that belongs to the trace of the run that a webhook is about. Without the run it
// is the one given: who sends the webhook finds out itself.
func (s *Service) traced(ctx context.Context, d Delivery) context.Context {
	if d.RunID == "" {
		return ctx
	}
	run, err := s.store.GetRun(ctx, d.ThreadID, d.RunID)
	if err != nil {
		return ctx
	}
	return agent.WithTraceParent(ctx, run.Kwargs.TraceParent)
}

// Trace is a distributed trace that an execution has a part in.
type Trace struct {
	ID string
	// Runs are those of the execution that belong to it, oldest first.
	Runs []string
}

// Traces lists the traces of an execution, in the order in which they came: whoever starts or resumes it may bring one.
func (e *Execution) Traces() []Trace {
	var list []Trace
	at := map[string]int{}
	for _, r := range e.Runs {
		id := agent.TraceID(r.Kwargs.TraceParent)
		if id == "" {
			continue
		}
		n, ok := at[id]
		if !ok {
			n = len(list)
			at[id] = n
			list = append(list, Trace{ID: id})
		}
		list[n].Runs = append(list[n].Runs, r.ID)
	}
	return list
}
