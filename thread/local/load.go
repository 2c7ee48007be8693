package local

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// Target loads a store with what another one, or a file, has. It implements transfer.Target.
type Target struct {
	*Store
	// What is under way: records of one thread, and where the thread lies.
	pending  []*transfer.Record
	size     int
	k        int64
	segments map[string]int64
}

var _ transfer.Target = (*Target)(nil)

// NewTarget returns the store as a target; it must be opened with Options.Unfinished.
func NewTarget(s *Store) *Target { return &Target{Store: s} }

// One transaction takes as much of a thread.
const (
	loadRecords = 2000
	loadBytes   = 4 << 20
)

const loadingSetting = "loading"

// unfinished reports whether a load of the store was begun and not ended.
func unfinished(c *conn) (bool, error) {
	return c.one(func(*rows) {}, `SELECT 1 FROM settings WHERE name=?`, loadingSetting)
}

// BeginLoad implements transfer.Target.
func (l *Target) BeginLoad(ctx context.Context) error {
	return l.write(ctx, true, func(t *tx) error {
		again, err := unfinished(t.conn)
		if err != nil {
			return err
		}
		if !again {
			if err := empty(t.conn); err != nil {
				return err
			}
		}
		for _, table := range []string{
			"assistants", "assistant_versions", "items", "crons", "threads", "thread_meta", "heads", "runs", "idempotency", "checkpoints",
			"tasks", "interrupts", "steps", "blobs", "segments", "segment_entries", "log", "outbox", "reviews", "review_ids", "audit", "api_keys",
		} {
			if _, err := t.exec(`DELETE FROM ` + table); err != nil {
				return err
			}
		}
		t.onCommit(l.counts.forget)
		_, err = t.exec(`INSERT OR REPLACE INTO settings(name, value) VALUES(?, 1)`, loadingSetting)
		return err
	})
}

// empty refuses a store with content. The system's own assistants don't count: every server makes them.
func empty(c *conn) error {
	for _, table := range []string{"threads", "items", "crons", "audit", "api_keys"} {
		if some, err := c.one(func(*rows) {}, `SELECT 1 FROM `+table+` LIMIT 1`); err != nil || some {
			return errorsFirst(err, fmt.Errorf("local: %w: it has %s", transfer.ErrNotEmpty, table))
		}
	}
	var own error
	r := c.query(selectAssistant)
	for r.next() {
		a, err := readAssistant(r)
		if err == nil && a.ID != thread.SystemAssistantID(a.GraphID) {
			err = fmt.Errorf("local: %w: it has assistants", transfer.ErrNotEmpty)
		}
		own = errorsFirst(own, err)
	}
	return errorsFirst(own, r.close())
}

// EndLoad implements transfer.Target.
func (l *Target) EndLoad(ctx context.Context) error {
	return l.write(ctx, true, func(t *tx) error {
		_, err := t.exec(`DELETE FROM settings WHERE name=?`, loadingSetting)
		return err
	})
}

// Load implements transfer.Target.
func (l *Target) Load(ctx context.Context, r *transfer.Record) error {
	l.pending = append(l.pending, r)
	l.size += r.Size()
	whole := r.End != nil || len(l.pending) > 0 && l.pending[0].Thread == nil && l.k == 0 // assistants and the like
	if !whole && len(l.pending) < loadRecords && l.size < loadBytes {
		return nil
	}
	list := l.pending
	k, segments := l.k, l.segments
	err := l.write(ctx, false, func(t *tx) error {
		l.k, l.segments = k, maps.Clone(segments) // a transaction may run once more
		for _, r := range list {
			if err := l.put(t, r); err != nil {
				return err
			}
		}
		return nil
	})
	l.pending, l.size = nil, 0
	return err
}

// put stores one record.
func (l *Target) put(t *tx, r *transfer.Record) (err error) {
	switch {
	case r.Assistant != nil:
		return putAssistant(t.conn, r.Assistant)
	case r.Item != nil:
		ns, err := joinLabels(r.Item.Namespace)
		if err != nil {
			return err
		}
		it := r.Item
		_, err = t.exec(`INSERT INTO items(namespace, key, value, created, updated, ttl, expires) VALUES(?,?,?,?,?,?,?)`,
			ns, it.Key, json.RawMessage(it.Value), it.Created, it.Updated, it.TTL, it.Expires)
		return err
	case r.Cron != nil:
		var c thread.Cron
		if err := json.Unmarshal(r.Cron.Doc, &c); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO crons(id, assistant, thread, enabled, next, created, updated, doc) VALUES(?,?,?,?,?,?,?,?)`,
			c.ID, c.AssistantID, c.ThreadID, r.Cron.Enabled, r.Cron.Next, micros(c.CreatedAt), micros(c.UpdatedAt), json.RawMessage(r.Cron.Doc))
		return err
	case r.APIKey != nil:
		return putKey(t.conn, r.APIKey)
	case r.Audit != nil:
		return putAudit(t.conn, r.Audit.Entry(), l.k)
	case r.Thread != nil:
		return l.putThread(t, r.Thread)
	case r.End != nil:
		l.k, l.segments = 0, nil
		return nil
	case r.Run != nil:
		return l.putRun(t.conn, r.Run)
	case r.Log != nil:
		return l.putLog(t.conn, r.Log)
	}
	return l.putPart(t, r)
}

func putAssistant(c *conn, a *transfer.Assistant) error {
	var current thread.Assistant
	for _, v := range a.Versions {
		if _, err := c.exec(insertVersion, a.ID, v.Version, v.At, json.RawMessage(v.Doc)); err != nil {
			return err
		}
		if v.Version == a.Version {
			if err := decodeAssistant(&current, v.Doc); err != nil {
				return err
			}
		}
	}
	_, err := c.exec(`INSERT INTO assistants(id, version, graph, created, updated) VALUES(?,?,?,?,?)`, a.ID, a.Version, current.GraphID, a.Created, a.Updated)
	return err
}

func (l *Target) putThread(t *tx, d *transfer.Thread) error {
	n := newThread{row: threadRow{id: d.ID, created: d.Created, metadata: json.RawMessage(d.Metadata), config: json.RawMessage(d.Config),
		temporary: d.Temporary, expires: d.Expires, ttl: d.TTL}}
	var err error
	if n.metadata, err = decodeMetadata(d.Metadata); err != nil {
		return err
	}
	row, err := l.insertThread(t, n)
	if err != nil {
		return err
	}
	l.k, l.segments = row.k, map[string]int64{}
	h := &head{k: row.k, updated: d.Updated, stateUpdated: d.StateUpdated, err: json.RawMessage(d.Error), head: d.Head, generation: d.Generation,
		nextSeq: d.NextSeq, nextPos: d.NextPos, token: d.Token, runs: d.Runs, checkpoints: d.Checkpoints,
		asked: d.Asked, suspended: d.Suspended, ended: d.Ended, lastCommit: d.LastCommit}
	if h.status, err = statusNamed(d.Status); err == nil {
		h.rest, err = statusNamed(d.Rest)
	}
	if err != nil {
		return err
	}
	for _, q := range d.Queue {
		h.queue = append(h.queue, pending{run: q.Run, notBefore: q.At})
	}
	if r := d.Running; r != nil {
		h.running, h.attempt, h.lost, h.released, h.frameBase, h.frameReserved = r.Run, r.Attempt, r.Lost, r.Released, r.FrameBase, r.FrameReserved
		h.cancel, h.started, h.base, h.startSeq, h.startPos, h.logFrom = r.Cancel, r.Started, r.Base, r.StartSeq, r.StartPos, r.LogFrom
		h.cancelledBy = r.CancelledBy
		h.due = 1 // nobody has it
		if h.baseRest, err = statusNamed(r.BaseRest); err != nil {
			return err
		}
		for _, o := range r.Owed {
			u := unbegun{id: o.ID, graph: o.Graph, assistant: o.Assistant, action: o.Action, at: o.At * 1000}
			h.owed = append(h.owed, u)
		}
	}
	return h.save(t.conn)
}

func statusNamed(name string) (int64, error) {
	if code := statusCode(thread.Status(name)); code >= 0 {
		return code, nil
	}
	return 0, fmt.Errorf("local: no status %q", name)
}

func (l *Target) putRun(c *conn, r *transfer.Run) error {
	status := slices.Index(runStatuses, thread.RunStatus(r.Status))
	if status < 0 {
		return fmt.Errorf("local: no run status %q", r.Status)
	}
	doc, err := r.EncodeDoc()
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO runs(k, id, status, execution, created, updated, started, ended, not_before, attempt, cancel, suspended,
		error, base, log_from, retire, fingerprint, last_commit, doc, project) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		within(l.k, runBits, r.Number), uuidID(r.ID), status, uuidID(r.Execution), r.Created, r.Updated, r.Started, r.Ended, r.NotBefore,
		r.Attempt, r.Cancel, r.Suspended, json.RawMessage(r.Error), uuidID(r.Base), r.LogFrom, orNull(r.Retires), r.Fingerprint, r.LastCommit, doc,
		projectOf(r.Project))
	if err != nil {
		return err
	}
	// Of what is owed, a row that is there says its number.
	return l.ownOwed(c, r)
}

// ownOwed gives the number of a run to what the log is owed of it.
func (l *Target) ownOwed(c *conn, r *transfer.Run) error {
	var owed []unbegun
	var bad error
	if _, err := c.one(func(row *rows) { owed, bad = decodeOwed(row.view(0)) }, `SELECT owed FROM heads WHERE k=? AND running<>0`, l.k); err != nil || bad != nil {
		return errorsFirst(err, bad)
	}
	for i := range owed {
		if owed[i].id == r.ID {
			owed[i].run = r.Number
			_, err := c.exec(`UPDATE heads SET owed=? WHERE k=?`, encodeOwed(owed), l.k)
			return err
		}
	}
	return nil
}

func (l *Target) putLog(c *conn, b *transfer.Log) error {
	entries, err := thread.DecodeEntries(nil, b.Data, b.Run, 0)
	if err != nil {
		return err
	}
	batch := logBatch{first: b.First, last: b.Last, data: b.Data}
	for _, e := range entries {
		if e.Seq != 0 {
			if batch.firstSeq == 0 {
				batch.firstSeq = e.Seq
			}
			batch.lastSeq = e.Seq
		}
	}
	owner, name := b.Owner, ""
	if b.Owner == 0 {
		name = b.Run
	}
	if b.Snapshot {
		owner = snapshotRows
	}
	return batch.putOwned(c, l.k, owner, name)
}

// putPart stores what needs no more than a row.
func (l *Target) putPart(t *tx, r *transfer.Record) (err error) {
	switch {
	case r.Blob != nil:
		_, err = t.exec(`INSERT INTO blobs(thread, id, data) VALUES(?,?,?)`, l.k, r.Blob.ID, nonNil(r.Blob.Data))
	case r.Segment != nil:
		err = l.putSegment(t, r.Segment)
	case r.Checkpoint != nil:
		c := r.Checkpoint
		_, err = t.exec(insertCheckpoint, within(l.k, checkpointBits, c.Seq), uuidID(c.ID), uuidID(c.Parent), c.NS,
			uuidID(c.Run), c.Step, c.Source, c.AtMillis, json.RawMessage(c.Metadata), nonNil(c.State))
	case r.Task != nil:
		rec := r.Task.Record()
		err = putTask(t.conn, l.k, rec, encodeTask(rec))
	case r.Step != nil:
		rec := r.Step.Record()
		err = putStep(t.conn, l.k, rec, encodeStep(rec))
	case r.Question != nil:
		err = l.putQuestion(t.conn, r.Question)
	case r.Review != nil:
		err = l.putReview(t.conn, r.Review)
	case r.Key != nil:
		_, err = t.exec(`INSERT INTO idempotency(thread, key, run, expires) SELECT ?, ?, k & 16777215, ? FROM runs WHERE id=?`, l.k, r.Key.Key, r.Key.Expires, uuidID(r.Key.Run))
	case r.Delivery != nil:
		d := r.Delivery
		var threadID string
		if _, err = t.one(func(row *rows) { threadID = row.id(0) }, `SELECT id FROM threads WHERE k=?`, l.k); err == nil {
			_, err = t.exec(`INSERT INTO outbox(id, thread, run, url, attempt, due, error, event, interrupt, dead) VALUES(?,?,?,?,?,?,?,?,?,?)`,
				d.ID, threadID, d.Run, d.URL, d.Attempt, d.Due, d.Error, d.Event, d.Interrupt, d.Dead)
		}
	}
	return err
}

func (l *Target) putSegment(t *tx, s *transfer.Segment) error {
	sk, known := l.segments[s.ID]
	if !known {
		if _, err := t.exec(`INSERT INTO segments(thread, id, base, base_len) VALUES(?,?,?,?)`, l.k, s.ID, s.Base, s.BaseLen); err != nil {
			return err
		}
		sk = t.lastRowID()
		l.segments[s.ID] = sk
	}
	for i, e := range s.Entries {
		if _, err := t.exec(`INSERT INTO segment_entries(k, data) VALUES(?,?)`, within(sk, entryBits, s.From+int64(i)), json.RawMessage(e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Target) putQuestion(c *conn, q *transfer.Question) error {
	status := slices.Index(interruptStatuses, q.Status)
	if status < 0 {
		return fmt.Errorf("local: no status %q of an interrupt", q.Status)
	}
	a := q.Answer
	var value json.RawMessage
	if a == nil {
		a = &transfer.Answer{}
	} else if value = json.RawMessage(a.Value); value == nil {
		value = json.RawMessage("null")
	}
	_, err := c.exec(`INSERT INTO interrupts(thread, id, status, ns, checkpoint, task, run, generation, created, value, schema,
		answer, answered_by, answered_at, answer_run, fingerprint) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		l.k, q.ID, status, q.NS, uuidID(q.Checkpoint), uuidID(q.Task), uuidID(q.Run), q.Generation, q.Created, json.RawMessage(q.Value), json.RawMessage(q.Schema),
		value, a.By, a.At, uuidID(a.Run), a.Fingerprint)
	if err != nil || status != interruptPending {
		return err
	}
	_, err = c.exec(`UPDATE heads SET open=open+1 WHERE k=?`, l.k)
	return err
}
