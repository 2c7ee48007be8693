package local

import (
	"github.com/parley-dev/parley/agent"
)

// recordVersion is the first byte of stored task and step records.
const recordVersion = 1

// encodeTask is the stored form of a task record, without its key.
func encodeTask(t agent.TaskRecord) []byte {
	e := enc{recordVersion}
	e.text(t.Name)
	e.text(string(t.Status))
	e.text(t.Path)
	e.bool(t.Nested)
	e.uint(uint64(len(t.Writes)))
	for _, w := range t.Writes {
		e.text(w.Channel)
		e.blob(w.Value)
	}
	e.uint(uint64(len(t.Interrupts)))
	for _, i := range t.Interrupts {
		e.text(i.ID)
		e.blob(i.Value)
		e.blob(i.ResponseSchema)
	}
	e.error(t.Error)
	return e
}

func decodeTask(b []byte, t *agent.TaskRecord) error {
	if len(b) == 0 || b[0] != recordVersion {
		return errCorrupt
	}
	d := dec{b: b[1:]}
	t.Name, t.Status, t.Path, t.Nested = d.text(), agent.TaskStatus(d.text()), d.text(), d.bool()
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		t.Writes = append(t.Writes, agent.Write{Channel: d.text(), Value: d.blob()})
	}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		t.Interrupts = append(t.Interrupts, agent.InterruptInfo{ID: d.text(), Value: d.blob(), ResponseSchema: d.blob()})
	}
	t.Error = d.errorInfo()
	return d.err
}

func (e *enc) error(err *agent.ErrorInfo) {
	e.bool(err != nil)
	if err != nil {
		e.text(err.Name)
		e.text(err.Message)
	}
}

func (d *dec) errorInfo() *agent.ErrorInfo {
	if !d.bool() {
		return nil
	}
	return &agent.ErrorInfo{Name: d.text(), Message: d.text()}
}

// putTask stores a task record in place of an earlier one.
func putTask(c *conn, thread int64, t agent.TaskRecord, doc []byte) error {
	_, err := c.exec(`INSERT OR REPLACE INTO tasks(thread, checkpoint, task, ns, doc) VALUES(?,?,?,?,?)`,
		thread, uuidID(t.CheckpointID), uuidID(t.TaskID), t.NS, doc)
	return err
}

// putTaskOf stores a task record of a running run. What it replaces is kept for undoTasks.
func putTaskOf(c *conn, thread, run int64, t agent.TaskRecord, doc []byte) error {
	_, err := c.exec(`INSERT INTO tasks(thread, checkpoint, task, ns, doc, run) VALUES(?,?,?,?,?,?)
		ON CONFLICT DO UPDATE SET replaced=CASE WHEN run IS excluded.run THEN replaced ELSE doc END, ns=excluded.ns, doc=excluded.doc, run=excluded.run`,
		thread, uuidID(t.CheckpointID), uuidID(t.TaskID), t.NS, doc, run)
	return err
}

// undoTasks takes back the task records of the running run, and the questions that it was the
// first to ask. Else what the answers led to that a rollback takes back would stay on the
// checkpoints before the run.
func (h *head) undoTasks(c *conn, w runRow, cause string) error {
	if _, err := c.exec(`DELETE FROM tasks WHERE thread=? AND run=? AND replaced IS NULL`, h.k, h.running); err != nil {
		return err
	}
	if _, err := c.exec(`UPDATE tasks SET doc=replaced, replaced=NULL, run=NULL WHERE thread=? AND run=?`, h.k, h.running); err != nil {
		return err
	}
	if h.open == 0 {
		return nil
	}
	list, err := pendingQuestions(c, h.k)
	if err != nil {
		return err
	}
	for _, q := range list {
		if q.RunID != w.id || micros(q.CreatedAt) < h.started {
			continue
		}
		if err := h.close(c, q, cause); err != nil {
			return err
		}
	}
	return nil
}

// tasksOf reads the records of a checkpoint's tasks.
func tasksOf(c *conn, thread int64, ns, checkpoint string) ([]agent.TaskRecord, error) {
	var list []agent.TaskRecord
	r := c.query(`SELECT task, ns, doc FROM tasks WHERE thread=? AND checkpoint=?`, thread, uuidID(checkpoint))
	for r.next() {
		t := agent.TaskRecord{NS: r.text(1), CheckpointID: checkpoint, TaskID: r.id(0)}
		if t.NS != ns {
			continue
		}
		if err := decodeTask(r.view(2), &t); err != nil {
			return nil, errorsFirst(err, r.close())
		}
		list = append(list, t)
	}
	return list, r.close()
}

func dropTasks(c *conn, thread int64, checkpoint string) error {
	_, err := c.exec(`DELETE FROM tasks WHERE thread=? AND checkpoint=?`, thread, uuidID(checkpoint))
	return err
}
