package agent

// pendingTask is a task of a checkpoint's next superstep with what is stored of it.
type pendingTask struct {
	plannedTask
	// record is the task's record when it has finished; nil otherwise.
	record *TaskRecord
	// handler is the record of the task that handled its failure; nil when it didn't fail.
	handler *TaskRecord
}

// finishedRecords returns the records of finished tasks by task id. Only the
// status counts: a task that got an answer isn't finished (spec/runtime.md 1.11, the trap).
func finishedRecords(t *Tuple) map[string]*TaskRecord {
	records := map[string]*TaskRecord{}
	for i, rec := range t.Tasks {
		if rec.Status == TaskDone && rec.TaskID != NullTask {
			records[rec.TaskID] = &t.Tasks[i]
		}
	}
	return records
}

// applyCommand applies the writes of commands on the checkpoint.
func (c *channels) applyCommand(writes []Write) error {
	if len(writes) == 0 {
		return nil
	}
	return c.apply([]taskWrites{{id: NullTask, name: inputNode, path: nullPath, writes: writes}})
}

// pending applies the commands on a checkpoint and returns the tasks of its next
// superstep. Writes that can't be applied are left aside, so that a thread stays
// readable and editable whatever was stored.
func (c *channels) pending(g *Graph, t *Tuple) []pendingTask {
	_ = c.applyCommand(commandWrites(t))
	records := finishedRecords(t)
	var tasks []pendingTask
	for _, p := range g.plan(t.Checkpoint, c) {
		task := pendingTask{plannedTask: p, record: records[p.id]}
		if task.record != nil && task.record.Error != nil && p.node.onError != "" {
			task.handler = records[handlerTaskID(t.Checkpoint.ID, t.Checkpoint.NS, p.step, p.node.onError, p.id)]
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// finish is pending with the writes of finished tasks applied, as far as they can be.
func (c *channels) finish(g *Graph, t *Tuple) []pendingTask {
	tasks := c.pending(g, t)
	var finished []pendingTask
	for _, p := range tasks {
		if p.record != nil {
			finished = append(finished, p)
		}
	}
	if len(finished) > 0 {
		_ = c.apply(withWrites(finished))
	}
	return tasks
}

// drop makes tasks count as run without a result.
func (c *channels) drop(tasks []pendingTask) error {
	writes := make([]taskWrites, len(tasks))
	for i := range tasks {
		writes[i] = tasks[i].writesOf(nil)
	}
	return c.apply(writes)
}

// withWrites pairs tasks with the writes of their records; a task without one writes nothing.
func withWrites(tasks []pendingTask) []taskWrites {
	writes := make([]taskWrites, 0, len(tasks))
	for i := range tasks {
		rec := tasks[i].record
		if rec == nil {
			writes = append(writes, tasks[i].writesOf(nil))
			continue
		}
		writes = append(writes, tasks[i].writesOf(rec.Writes))
		if h := tasks[i].handler; h != nil {
			writes = append(writes, taskWrites{id: h.TaskID, name: h.Name, path: h.Path, triggers: []string{pregelPush}, writes: h.Writes})
		}
	}
	return writes
}
