package classic

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent"
)

// checkpoint sends a stored checkpoint to the modes checkpoints and debug.
func (p *Projection) checkpoint(e agent.Event, d *agent.CheckpointDetail, state []byte) {
	if p.modes.has(Debug) && p.subgraphs {
		p.notePaths(d.Tasks)
	}
	if !p.visible(e.NS) {
		return
	}
	if p.modes.has(Checkpoints) && p.begin(Checkpoints, "checkpoints", p.suffix(e.NS), len(state)+256) {
		p.buf = append(p.buf, `{"values":`...)
		p.buf = append(p.buf, state...)
		p.buf = appendCheckpointTail(p.buf, d)
		p.buf = append(p.buf, '}')
		p.end()
	}
	if p.modes.has(Debug) && p.begin(Debug, "debug", p.suffix(e.NS), len(state)+3072) {
		p.buf = appendDebug(p.buf, "checkpoint", d.Step, e.At)
		p.buf = p.appendCheckpoint(p.buf, e.NS, d, state)
		p.buf = append(p.buf, '}')
		p.end()
	}
}

// notePaths remembers the paths of the tasks that come next.
func (p *Projection) notePaths(tasks []agent.TaskView) {
	for _, t := range tasks {
		info := p.tasks[t.ID]
		info.name, info.path = t.Name, t.Path
		p.tasks[t.ID] = info
	}
}

func appendCheckpointTail(dst []byte, d *agent.CheckpointDetail) []byte {
	dst = append(dst, `,"metadata":`...)
	dst = appendMap(dst, d.Metadata)
	dst = append(dst, `,"next":`...)
	return appendStrings(dst, d.Next)
}

// appendCheckpoint appends the payload of a debug frame of type checkpoint.
func (p *Projection) appendCheckpoint(dst []byte, ns string, d *agent.CheckpointDetail, state []byte) []byte {
	dst = append(dst, `{"config":`...)
	dst = p.appendConfig(dst, ns, d.CheckpointID, d.Map, true)
	if d.ParentID != "" {
		dst = append(dst, `,"parent_config":`...)
		dst = p.appendConfig(dst, ns, d.ParentID, d.ParentMap, !p.foreign(d))
	}
	dst = append(dst, `,"values":`...)
	dst = append(dst, state...)
	dst = appendCheckpointTail(dst, d)
	dst = append(dst, `,"tasks":[`...)
	for i, t := range d.Tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.appendTaskView(dst, t)
	}
	dst = append(dst, `],"checkpoint":`...)
	dst = p.appendAddress(dst, ns, d.CheckpointID, d.Map)
	dst = append(dst, `,"parent_checkpoint":`...)
	if d.ParentID == "" {
		return append(dst, `null}`...)
	}
	return append(p.appendAddress(dst, ns, d.ParentID, d.ParentMap), '}')
}

// foreign reports whether another run stored the checkpoint: one that this run
// only starts from, whose parent is known by its address alone.
func (p *Projection) foreign(d *agent.CheckpointDetail) bool {
	var run string
	raw, ok := d.Metadata["run_id"]
	return ok && json.Unmarshal(raw, &run) == nil && run != p.runID
}

func (p *Projection) appendTaskView(dst []byte, t agent.TaskView) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, t.ID)
	dst = append(dst, `,"name":`...)
	dst = appendString(dst, t.Name)
	dst = append(dst, `,"path":`...)
	dst = appendRaw(dst, t.Path, "[]")
	dst = append(dst, `,"interrupts":`...)
	dst = appendInterrupts(dst, t.Interrupts)
	if t.SubgraphNS != "" {
		dst = append(dst, `,"checkpoint":`...)
		dst = p.appendAddress(dst, t.SubgraphNS, "", nil)
	}
	return append(dst, '}')
}

// appendAddress appends the address of a checkpoint; an empty id is null.
func (p *Projection) appendAddress(dst []byte, ns, id string, within map[string]string) []byte {
	dst = append(dst, `{"thread_id":`...)
	dst = appendString(dst, p.threadID)
	dst = append(dst, `,"checkpoint_id":`...)
	if id == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, id)
	}
	dst = append(dst, `,"checkpoint_ns":`...)
	dst = appendString(dst, ns)
	dst = append(dst, `,"checkpoint_map":`...)
	return append(appendStringMap(dst, within), '}')
}

// appendConfig appends the configuration that leads to a checkpoint; whole, with
// the run's own part, for those the run stored.
func (p *Projection) appendConfig(dst []byte, ns, id string, within map[string]string, whole bool) []byte {
	var c object
	if whole {
		c.setAll(p.info.configurable.values)
	}
	c.set("thread_id", quoted(p.threadID))
	c.set("checkpoint_ns", quoted(ns))
	if len(within) > 0 {
		c.set("checkpoint_map", appendStringMap(nil, within))
	}
	c.set("checkpoint_id", quoted(id))
	dst = append(dst, `{"configurable":`...)
	dst = c.append(dst)
	if !whole {
		return append(dst, '}')
	}
	dst = append(dst, `,"metadata":`...)
	metadata := p.graphMetadata(ns)
	dst = metadata.append(dst)
	dst = append(dst, `,"recursion_limit":`...)
	dst = strconv.AppendInt(dst, int64(p.info.limit), 10)
	dst = append(dst, `,"tags":`...)
	return append(appendStrings(dst, p.info.tags), '}')
}

// graphMetadata is the run's metadata as a graph of the namespace has it: a
// nested one with that of the task which runs it.
func (p *Projection) graphMetadata(ns string) object {
	var m object
	m.setAll(p.info.metadata.values)
	m.set("thread_id", quoted(p.threadID))
	if ns == "" {
		return m
	}
	task, ok := p.tasks[taskOf(ns)]
	if !ok {
		return m
	}
	path := task.path
	if absent(path) {
		path = pullPath(task.name)
	}
	setTask(&m, ns, task.name, task.step, task.triggers, path)
	return m
}

// setTask sets the keys that name a task.
func setTask(m *object, ns, node string, step int, triggers []string, path json.RawMessage) {
	m.set("langgraph_step", strconv.AppendInt(nil, int64(step), 10))
	m.set("langgraph_node", quoted(node))
	m.set("langgraph_triggers", appendStrings(nil, triggers))
	m.set("langgraph_path", path)
	m.set("langgraph_checkpoint_ns", quoted(ns))
	m.set("checkpoint_ns", quoted(ns))
}
