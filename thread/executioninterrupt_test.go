package thread_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/thread"
)

// waiter calls a tool that waits at the gate "tool", and then ends.
func waiter(t *testing.T, w *world) agent.Agent {
	t.Helper()
	g, err := react.New(react.Options[react.State]{
		Name: "waiter",
		Tools: []tool.Tool{tool.Func("wait", "Waits", func(ctx tool.CallContext, _ struct{}) (string, error) {
			return "waited", w.pass(ctx, "tool")
		})},
		Model: scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) {
			if last, ok := c.Messages.Last(); ok && last.Type == message.Tool {
				return scripted.Say("Done."), nil
			}
			return scripted.Turn{ToolCalls: []message.ToolCall{message.NewToolCall("c", "wait", []byte(`{}`))}}, nil
		}},
	})
	require.NoError(t, err)
	return g
}

// The process that carries a run out arms a call that another one was asked to arm, whether it is told at once or
// has missed that, and aborts the run in the name of who asked.
func TestACallIsArmedByAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]bool{"told": true, "seen when the lease is renewed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, told := newWorld(), &toldStore{looked: make(chan struct{}, 1)}
			b := reviewers(t, []agent.Agent{waiter(t, w)}, func(o *setupOptions) { o.world = w },
				wrapping(func(s thread.Store) thread.Store { told.Store = s; return told }))
			other := reviewers(t, []agent.Agent{waiter(t, w)}, sharing(b), notStarted())
			run := b.begin(input(b.thread(), "waiter", `{"messages":"wait"}`))
			<-w.arrived("tool", 1)
			eventually(t, "the log tells of the tool's call", func() bool {
				e, err := other.svc.Execution(t.Context(), run.ID)
				require.NoError(t, err)
				steps, err := other.svc.Steps(t.Context(), e)
				require.NoError(t, err)
				return len(steps) == 2
			})
			outcome, _, err := other.svc.InterruptExecution(as("ann"), run.ID, 3)
			require.NoError(t, err)
			require.Equal(t, thread.InterruptArmed, outcome)
			outcome, _, err = other.svc.InterruptExecution(as("ann"), run.ID, 3)
			require.NoError(t, err)
			require.Equal(t, thread.InterruptAlreadyArmed, outcome)
			if tell {
				stored, err := b.svc.GetRun(t.Context(), run.ThreadID, run.ID)
				require.NoError(t, err)
				require.Equal(t, thread.RunRunning, stored.Status)
				told.subscriber.CancelRequested(run.ID, stored.Cancel)
			}
			eventually(t, "the owner has armed it", func() bool { return b.svc.ArmedCall(run.ID) == 3 })
			w.open("tool")
			ended := b.wait(run)
			require.Equal(t, thread.RunInterrupted, ended.Status)
			require.Equal(t, thread.CancelInterrupt, ended.Cancel)
			outcome, e, err := other.svc.InterruptExecution(as("ann"), run.ID, 3)
			require.NoError(t, err)
			require.Equal(t, thread.InterruptTerminal, outcome)
			require.Equal(t, thread.ErrorCancelled, e.ErrorCode)
		})
	}
}
