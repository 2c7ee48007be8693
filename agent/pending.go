package agent

// pendingTask is a task of a checkpoint's next superstep with what is stored of it.
type pendingTask struct {
	plannedTask
	// record is the task's record when it has finished; nil otherwise.
	record *TaskRecord
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
		tasks = append(tasks, pendingTask{plannedTask: p, record: records[p.id]})
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

// withWrites pairs tasks with the writes of their records; a task without one writes nothing.
func withWrites(tasks []pendingTask) []taskWrites {
	writes := make([]taskWrites, len(tasks))
	for i := range tasks {
		if rec := tasks[i].record; rec != nil {
			writes[i] = tasks[i].writesOf(rec.Writes)
			continue
		}
		writes[i] = tasks[i].writesOf(nil)
	}
	return writes
}
