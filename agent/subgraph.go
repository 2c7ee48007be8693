package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Invoke runs a graph inside a node, under the node's namespace; the second
// call of a task runs under "…|1", and so on. A suspension of the graph suspends the task.
// The result is the graph's state (output keys).
func Invoke(ctx Context, g *Graph, input any) (*State, error) {
	raw, err := encode(input)
	if err != nil {
		return nil, fmt.Errorf("agent: encode the input of graph %q: %w", g.name, err)
	}
	c := ctx.task()
	state, err := c.invoke(ctx, g, raw)
	// What the graph left has to be there before anything that the node does next.
	c.flush(ctx)
	return state, err
}

// runSubgraph runs a graph that is a node: it gets the state keys that it shares
// and returns its own (spec/runtime.md 1.10).
func runSubgraph(ctx Context, child *Graph, in taskInput) (Update, error) {
	c := ctx.task()
	raw := json.RawMessage(in.raw)
	if in.raw == nil {
		var shared []string
		values := map[string]Value{}
		for _, k := range child.inputKeys {
			if v, ok := in.state.Value(k); ok {
				shared, values[k] = append(shared, k), v
			}
		}
		raw = NewState(shared, values).JSON()
	}
	state, err := c.invoke(ctx, child, raw)
	if err != nil {
		return nil, err
	}
	update := Values{}
	for _, k := range state.Keys() {
		if spec := c.loop.g.specs[k]; spec != nil && spec.state {
			v, _ := state.Value(k)
			update[k] = json.RawMessage(v.AppendJSON(nil))
		}
	}
	return update, nil
}

// invoke runs a nested graph. What it leaves to commit waits in c.pend.
func (c *taskContext) invoke(ctx context.Context, g *Graph, input json.RawMessage) (*State, error) {
	if c.loop == nil {
		return nil, fmt.Errorf("agent: graph %q can't be invoked outside of a run", g.name)
	}
	c.mu.Lock()
	ns := c.planned.ns
	if c.calls > 0 {
		ns = joinNS(ns, strconv.Itoa(c.calls))
	}
	c.calls++
	c.mu.Unlock()
	if g.stateful {
		ns = withoutIDs(ns)
	}
	c.flush(ctx)

	l := c.loop.r.loop(g, ns, c)
	ended := l.execute(ctx, loopInput{
		values: input, visit: true,
		fresh: c.exec.Ephemeral || !g.stateful && !c.run.mayHaveRun() && c.attempt == 1,
	})
	c.mu.Lock()
	mergeCommit(&c.pend, &l.pend)
	if g.stateful { // its namespace isn't below the task's
		c.pend.Events = append(c.pend.Events, c.loop.r.ends(ns, ended.kind == endFailed || ended.kind == endCancelled)...)
	}
	c.mu.Unlock()
	switch ended.kind {
	case endSuspended:
		c.askNested(ended.raised)
		return nil, ErrSuspended
	case endStopped:
		c.mu.Lock()
		c.stopped = true
		c.mu.Unlock()
		return nil, ErrSuspended
	case endFailed:
		return nil, ended.err
	case endCancelled:
		return nil, context.Canceled
	case endToParent:
		return nil, &parentCommand{cmd: ended.command}
	}
	if c.exec.ExitOnly && !g.stateful {
		c.flush(ctx)
		c.loop.r.letGo(ns)
	}
	return l.ch.state(g.outputKeys), nil
}

// flush commits what nested graphs of the task left.
func (c *taskContext) flush(ctx context.Context) {
	c.mu.Lock()
	pend := c.pend
	c.pend = Commit{}
	c.mu.Unlock()
	if c.loop != nil {
		c.loop.r.commit(context.WithoutCancel(ctx), &pend)
	}
}

// withoutIDs is the namespace of a graph that keeps its state: one for all visits.
func withoutIDs(ns string) string {
	parts := strings.Split(ns, "|")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, ":")
	}
	return strings.Join(parts, "|")
}
