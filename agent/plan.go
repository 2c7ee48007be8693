package agent

import (
	"encoding/json"
	"slices"
	"strconv"
)

// plannedTask is a task of a superstep, before it runs.
type plannedTask struct {
	id   string
	node *node
	// step is the superstep's number.
	step int
	// path is the sortable form, pathJSON what clients see.
	path     string
	pathJSON json.RawMessage
	// triggers are what clients see: the channel that started the task, or __pregel_push.
	triggers []string
	// send is the input of a Send; nil for a task that gets the state.
	send json.RawMessage
	// ns is the namespace of the task, its own segment included.
	ns string
	// origin keys the task's journal (decisions 6).
	origin string
	// handles is the failed task that an error handler handles, failed its error; nil for others.
	handles *plannedTask
	failed  *ErrorInfo
}

// push tells whether a Send (or an error) started the task.
func (t *plannedTask) push() bool { return t.triggers[0] == pregelPush }

// writesOf pairs the task with its writes for apply.
func (t *plannedTask) writesOf(writes []Write) taskWrites {
	w := taskWrites{id: t.id, name: t.node.name, path: t.path, writes: writes, triggers: t.node.triggers}
	if t.push() {
		w.triggers = t.triggers
	}
	return w
}

// pendingSend is one element of __pregel_tasks.
type pendingSend struct {
	Node string          `json:"node"`
	Args json.RawMessage `json:"args"`
}

// plan returns the tasks that a checkpoint starts: Sends first, then nodes in declared order
// (spec/runtime.md 1.5). ch holds the checkpoint's channels, command writes applied.
func (g *Graph) plan(cp *Checkpoint, ch *channels) []plannedTask {
	var tasks []plannedTask
	step := cp.Step + 1
	if v := ch.values[pregelTasks].Value; v != nil {
		for i, raw := range elements(v.JSON) {
			var s pendingSend
			if json.Unmarshal(raw, &s) != nil {
				continue
			}
			n := g.byName[s.Node]
			if n == nil || n.run == nil {
				continue
			}
			id := sendTaskID(cp.ID, cp.NS, step, n.name, i)
			tasks = append(tasks, plannedTask{
				id: id, node: n, step: step, path: sendPath(i), pathJSON: sendPathJSON(i), triggers: []string{pregelPush},
				send: s.Args, ns: taskNS(cp.NS, n.name, id), origin: cp.origin(id, n.name, strconv.Itoa(i)),
			})
		}
	}
	pull := func(n *node) {
		trigger := ch.trigger(n)
		if trigger == "" {
			return
		}
		id := pullTaskID(cp.ID, cp.NS, step, n.name, trigger)
		tasks = append(tasks, plannedTask{
			id: id, node: n, step: step, path: pullPath(n.name), pathJSON: pullPathJSON(n.name), triggers: []string{trigger},
			ns: taskNS(cp.NS, n.name, id), origin: cp.origin(id, n.name, trigger),
		})
	}
	pull(g.byName[Start])
	for _, n := range g.nodes {
		pull(n)
	}
	return tasks
}

// origin is the origin of a task of the checkpoint (decisions 6).
func (cp *Checkpoint) origin(taskID, node, trigger string) string {
	if o, ok := cp.Origins[taskID]; ok {
		return o
	}
	return cp.ID + "/" + node + "/" + trigger
}

// carriedOrigins returns the origins of tasks that a new checkpoint leaves pending
// (a command's update, a state edit): those whose trigger hasn't fired again
// since the base. Call it before the new checkpoint is used; it goes to Checkpoint.Origins.
func (g *Graph) carriedOrigins(base *Checkpoint, baseCh *channels, next *Checkpoint, nextCh *channels) map[string]string {
	var carried map[string]string
	before := g.plan(base, baseCh)
	for _, t := range g.plan(next, nextCh) {
		i := slices.IndexFunc(before, func(b plannedTask) bool { return b.path == t.path && b.triggers[0] == t.triggers[0] })
		if i < 0 || t.node.name == Start {
			continue
		}
		channel := t.triggers[0]
		if t.push() {
			channel = pregelTasks
		}
		if baseCh.values[channel].Version != nextCh.values[channel].Version {
			continue
		}
		if carried == nil {
			carried = map[string]string{}
		}
		carried[t.id] = before[i].origin
	}
	return carried
}
