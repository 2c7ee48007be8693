package local

import (
	"context"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread/transfer"
)

// Dump implements transfer.Source: everything, as it is at one moment.
func (s *Store) Dump(ctx context.Context, emit func(*transfer.Record) error) error {
	return s.readAll(ctx, func(c *conn) error {
		d := dump{ctx: ctx, c: c, emit: emit}
		for _, part := range []func() error{d.assistants, d.items, d.crons, d.apiKeys, d.audit} {
			if err := part(); err != nil {
				return err
			}
		}
		var keys []int64
		err := d.each(func(r *rows) error { keys = append(keys, r.int(0)); return nil }, `SELECT k FROM threads ORDER BY k`)
		for _, k := range keys {
			if err == nil {
				err = d.thread(k)
			}
		}
		return err
	})
}

// dump is a dump under way.
type dump struct {
	ctx  context.Context //nolint:containedctx // of the one call
	c    *conn
	emit func(*transfer.Record) error
}

// each calls f with every row of a query.
func (d dump) each(f func(*rows) error, sql string, args ...any) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	r := d.c.query(sql, args...)
	for r.next() {
		if err := f(r); err != nil {
			return errorsFirst(err, r.close())
		}
	}
	return r.close()
}

func (d dump) assistants() error {
	var list []*transfer.Assistant
	err := d.each(func(r *rows) error {
		list = append(list, &transfer.Assistant{ID: r.text(0), Version: r.int(1), Created: r.int(2), Updated: r.int(3)})
		return nil
	}, `SELECT id, version, created, updated FROM assistants ORDER BY id`)
	for _, a := range list {
		if err == nil {
			err = d.each(func(r *rows) error {
				a.Versions = append(a.Versions, transfer.AssistantVersion{Version: r.int(0), At: r.int(1), Doc: r.blob(2)})
				return nil
			}, `SELECT version, created, doc FROM assistant_versions WHERE assistant=? ORDER BY version`, a.ID)
		}
		if err == nil {
			err = d.emit(&transfer.Record{Assistant: a})
		}
	}
	return err
}

func (d dump) items() error {
	return d.each(func(r *rows) error {
		it := readItem(r)
		return d.emit(&transfer.Record{Item: &transfer.Item{Namespace: it.Namespace, Key: it.Key, Value: transfer.Raw(it.Value),
			Created: r.int(3), Updated: r.int(4), TTL: r.int(5), Expires: r.int(6)}})
	}, `SELECT `+itemColumns+`, expires FROM items ORDER BY namespace, key`)
}

func (d dump) crons() error {
	return d.each(func(r *rows) error {
		return d.emit(&transfer.Record{Cron: &transfer.Cron{ID: r.text(0), Next: r.int(1), Enabled: r.bool(2), Doc: r.blob(3)}})
	}, `SELECT id, next, enabled, doc FROM crons ORDER BY id`)
}

func (d dump) thread(k int64) error {
	var row threadRow
	var h *head
	err := d.each(func(r *rows) (err error) {
		row = readThreadRow(r)
		h, err = readHead(r, threadColumnCount, k)
		return err
	}, selectThreadByK, k)
	if err != nil {
		return err
	}
	t := &transfer.Thread{
		ID: row.id, Created: row.created, Updated: row.created, Metadata: transfer.Raw(row.metadata), Config: transfer.Raw(row.config),
		Temporary: row.temporary, Expires: row.expires, TTL: row.ttl,
		Status: string(statuses[h.status]), Rest: string(statuses[h.rest]), NextSeq: h.nextSeq, NextPos: h.nextPos,
		EndSeq: h.nextSeq - 1, EndPos: h.nextPos - 1,
	}
	if h.stored {
		t.Updated, t.StateUpdated, t.Error, t.Head, t.Generation, t.Ended = h.updated, h.stateUpdated, transfer.Raw(h.err), h.head, h.generation, h.ended
		t.Token, t.Runs, t.Checkpoints, t.Asked, t.Suspended, t.LastCommit = h.token, h.runs, h.checkpoints, h.asked, h.suspended, h.lastCommit
	}
	for _, p := range h.queue {
		t.Queue = append(t.Queue, transfer.Queued{Run: p.run, At: p.notBefore})
	}
	if h.running != 0 {
		if t.Running, err = d.running(h); err == nil {
			t.EndPos, t.EndSeq, err = logEnd(d.c, k, h.startPos-1, h.startSeq-1)
		}
		if err != nil {
			return err
		}
	}
	if err := d.emit(&transfer.Record{Thread: t}); err != nil {
		return err
	}
	for _, part := range []func(int64) error{d.blobs, d.segments, d.checkpoints, d.tasks, d.questions, d.reviews, d.auditOf, d.steps, d.log, d.runs, d.keys} {
		if err := part(k); err != nil {
			return err
		}
	}
	if err := d.deliveries(row.id); err != nil {
		return err
	}
	return d.emit(&transfer.Record{End: &transfer.End{ID: row.id}})
}

// running is the run that has been claimed. Whoever owned it is gone: the directory is ours alone.
func (d dump) running(h *head) (*transfer.Running, error) {
	id, err := runIDOf(d.c, h.k, h.running)
	if err != nil {
		return nil, err
	}
	r := &transfer.Running{Run: h.running, ID: id, Attempt: h.attempt, Lost: h.lost, Released: h.released, FrameBase: h.frameBase,
		FrameReserved: h.frameReserved, Cancel: h.cancel, Started: h.started, Base: h.base, BaseRest: string(statuses[h.baseRest]),
		StartSeq: h.startSeq, StartPos: h.startPos, LogFrom: h.logFrom, CancelledBy: transfer.Raw(h.cancelledBy)}
	for _, u := range h.owed {
		r.Owed = append(r.Owed, transfer.Owed{ID: u.id, Graph: u.graph, Assistant: u.assistant, Action: u.action, At: u.at / 1000})
	}
	return r, nil
}

func (d dump) blobs(k int64) error {
	return d.each(func(r *rows) error {
		return d.emit(&transfer.Record{Blob: &transfer.Blob{ID: r.text(0), Data: r.blob(1)}})
	}, `SELECT id, data FROM blobs WHERE thread=? ORDER BY k`, k)
}

func (d dump) segments(k int64) error {
	var keys []int64
	var list []transfer.Segment
	err := d.each(func(r *rows) error {
		keys = append(keys, r.int(0))
		list = append(list, transfer.Segment{ID: r.text(1), Base: r.text(2), BaseLen: r.int(3)})
		return nil
	}, `SELECT k, id, base, base_len FROM segments WHERE thread=? ORDER BY k`, k)
	for i := range list {
		if err == nil {
			err = d.segment(keys[i], list[i])
		}
	}
	return err
}

func (d dump) segment(sk int64, head transfer.Segment) error {
	first, last := span(sk, entryBits)
	part := head
	emit := func() error {
		whole := part
		part.From, part.Entries = part.From+int64(len(part.Entries)), nil
		return d.emit(&transfer.Record{Segment: &whole})
	}
	err := d.each(func(r *rows) error {
		part.Entries = append(part.Entries, r.blob(0))
		if len(part.Entries) < transfer.SegmentPart {
			return nil
		}
		return emit()
	}, `SELECT data FROM segment_entries WHERE k BETWEEN ? AND ? ORDER BY k`, first, last)
	if err == nil && (len(part.Entries) > 0 || part.From == 0) {
		err = emit()
	}
	return err
}

func (d dump) checkpoints(k int64) error {
	first, last := span(k, checkpointBits)
	return d.each(func(r *rows) error {
		t := readCheckpoint(r)
		c := t.Record
		return d.emit(&transfer.Record{Checkpoint: &transfer.Checkpoint{Seq: t.Seq, NS: c.NS, ID: c.ID, Parent: c.ParentID, Run: c.RunID,
			Step: int64(c.Step), Source: c.Source, AtMillis: c.AtMillis, Metadata: c.Metadata, State: c.State}})
	}, `SELECT `+checkpointColumns+` FROM checkpoints WHERE k BETWEEN ? AND ? ORDER BY k`, first, last)
}

func (d dump) tasks(k int64) error {
	return d.each(func(r *rows) error {
		t := agent.TaskRecord{CheckpointID: r.id(0), TaskID: r.id(1), NS: r.text(2)}
		if err := decodeTask(r.view(3), &t); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Task: transfer.TaskOf(t)})
	}, `SELECT checkpoint, task, ns, doc FROM tasks WHERE thread=?`, k)
}

func (d dump) questions(k int64) error {
	return d.each(func(r *rows) error {
		q := readQuestion(r)
		out := &transfer.Question{ID: q.ID, Status: q.Status}
		if q.CheckpointID != "" {
			out.NS, out.Checkpoint, out.Task, out.Run, out.Generation, out.Created = q.NS, q.CheckpointID, q.TaskID, q.RunID, q.Generation, r.int(7)
			out.Value, out.Schema = transfer.Raw(q.Value), transfer.Raw(q.ResponseSchema)
		}
		if q.value != nil {
			out.Answer = &transfer.Answer{Value: transfer.Raw(q.value), By: q.by, At: q.at, Run: q.answerRun, Fingerprint: q.fingerprint}
		}
		return d.emit(&transfer.Record{Question: out})
	}, `SELECT `+questionColumns+` FROM interrupts WHERE thread=?`, k)
}

func (d dump) steps(k int64) error {
	return d.each(func(r *rows) error {
		step := agent.StepRecord{Origin: r.text(0), Name: r.text(1), Occurrence: int(r.int(2))}
		if err := decodeStep(r.view(3), &step); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Step: transfer.StepOf(step)})
	}, `SELECT origin, name, occurrence, doc FROM steps WHERE thread=?`, k)
}

func (d dump) log(k int64) error {
	names := map[int64]string{}
	first, last := span(k, logBits)
	return d.each(func(r *rows) (err error) {
		b := &transfer.Log{First: number(r.int(0), logBits), Last: r.int(1), Owner: r.int(2), Run: r.id(4), Data: r.blob(3)}
		if b.Owner > outsideRuns {
			if _, known := names[b.Owner]; !known {
				if names[b.Owner], err = runIDOf(d.c, k, b.Owner); err != nil {
					return err
				}
			}
			b.Run = names[b.Owner]
		}
		if b.Owner == snapshotRows {
			b.Owner, b.Snapshot = 0, true
		}
		return d.emit(&transfer.Record{Log: b})
	}, `SELECT k, last, run, data, owner FROM log WHERE k BETWEEN ? AND ? ORDER BY k`, first, last)
}

func (d dump) runs(k int64) error {
	first, last := span(k, runBits)
	return d.each(func(r *rows) error {
		run := &transfer.Run{Number: number(r.int(0), runBits), ID: r.id(1), Status: string(runStatuses[r.int(2)]), Execution: r.id(3),
			Created: r.int(4), Updated: r.int(5), Started: r.int(6), Ended: r.int(7), NotBefore: r.int(8), Attempt: r.int(9), Cancel: r.text(10),
			Suspended: r.bool(11), Error: r.blob(12), Base: r.id(13), LogFrom: r.int(14), Retires: r.int(15), Fingerprint: r.text(16), LastCommit: r.text(17)}
		if err := run.TakeDoc(r.view(18)); err != nil {
			return err
		}
		return d.emit(&transfer.Record{Run: run})
	}, `SELECT k, id, status, execution, created, updated, started, ended, not_before, attempt, cancel, suspended, error, base,
		log_from, retire, fingerprint, last_commit, doc FROM runs WHERE k BETWEEN ? AND ? ORDER BY k`, first, last)
}

// keys are idempotency keys; one of a run that was removed means nothing.
func (d dump) keys(k int64) error {
	return d.each(func(r *rows) error {
		return d.emit(&transfer.Record{Key: &transfer.Key{Key: r.text(0), Run: r.id(1), Expires: r.int(2)}})
	}, `SELECT i.key, r.id, i.expires FROM idempotency i JOIN runs r ON r.k=(i.thread<<24)|i.run WHERE i.thread=?`, k)
}

func (d dump) deliveries(threadID string) error {
	return d.each(func(r *rows) error {
		return d.emit(&transfer.Record{Delivery: &transfer.Delivery{ID: r.text(0), Run: r.text(1), URL: r.text(2), Attempt: r.int(3), Due: r.int(4), Error: r.text(5),
			Event: r.text(6), Interrupt: r.text(7), Dead: r.bool(8)}})
	}, `SELECT id, run, url, attempt, due, error, event, interrupt, dead FROM outbox WHERE thread=?`, threadID)
}
