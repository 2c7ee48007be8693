package local

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

const (
	defaultReserve     = 1 << 20
	defaultMaxAttempts = 3
	defaultLease       = 10 * time.Second
)

const (
	selectDue   = `SELECT k FROM heads WHERE due IS NOT NULL AND due<=? ORDER BY due LIMIT 1`
	selectHeadK = `SELECT t.id, ` + headColumns + ` FROM heads h JOIN threads t ON t.k=h.k WHERE h.k=?`
)

// ClaimRun implements thread.Runs.
func (s *Store) ClaimRun(ctx context.Context, c thread.Claim) (run thread.Run, lease thread.Lease, ok bool, err error) {
	c = claimDefaults(c)
	// Most looks find nothing, and needn't wait for the writer.
	if due := s.w.due.Load(); due == 0 || due > micros(s.now()) {
		return run, lease, false, ctx.Err()
	}
	var w runRow
	err = s.write(ctx, true, func(t *tx) error {
		ok = false
		for {
			again, err := s.claim(t, c, &w, &lease, &ok)
			if err != nil || !again {
				return err
			}
		}
	})
	if err != nil || !ok {
		return thread.Run{}, thread.Lease{}, false, err
	}
	run, err = w.run()
	return run, lease, err == nil, err
}

func claimDefaults(c thread.Claim) thread.Claim {
	if c.Reserve <= 0 {
		c.Reserve = defaultReserve
	}
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = defaultMaxAttempts
	}
	if c.Lease <= 0 {
		c.Lease = defaultLease
	}
	return c
}

// claim takes the thread whose work is due first. again tells that it ended a
// run that has been tried too often, and that the next one should be looked at.
func (s *Store) claim(t *tx, c thread.Claim, w *runRow, lease *thread.Lease, ok *bool) (again bool, err error) {
	now := micros(s.now())
	var k int64
	var found bool
	if c.RunID != "" {
		found, err = t.one(func(r *rows) { k = r.int(0) >> runBits }, `SELECT k FROM runs WHERE id=?`, uuidID(c.RunID))
	} else {
		found, err = t.one(func(r *rows) { k = r.int(0) }, selectDue, now)
	}
	if err != nil || !found {
		return false, err
	}
	var id string
	var h *head
	r := t.query(selectHeadK, k)
	if found = r.next(); found {
		id = r.id(0)
		h, err = readHead(r, 1, k)
	}
	if err = errorsFirst(err, r.close()); err != nil || !found {
		return false, err
	}
	if h.running == 0 {
		return false, s.claimPending(t, c, id, h, now, w, lease, ok)
	}
	if h.due > now {
		return false, nil
	}
	if !h.released {
		h.lost++
	}
	*w, err = runByNumber(t.conn, id, k, h.running)
	if err != nil || c.RunID != "" && w.id != c.RunID {
		return false, err
	}
	if h.lost >= int64(c.MaxAttempts) {
		return c.RunID == "", s.giveUp(t, h, *w)
	}
	h.frameBase = h.frameReserved + 1
	h.frameReserved = h.frameBase + c.Reserve
	h.attempt++
	*ok = true
	return false, s.lease(t, c, id, h, now, w, lease)
}

// claimPending starts the thread's oldest pending run that may start.
func (s *Store) claimPending(t *tx, c thread.Claim, id string, h *head, now int64, w *runRow, lease *thread.Lease, ok *bool) (err error) {
	for _, p := range h.queue {
		if p.notBefore > now {
			continue
		}
		if *w, err = runByNumber(t.conn, id, h.k, p.run); err != nil {
			return err
		}
		if c.RunID != "" && w.id != c.RunID {
			return nil // others come first
		}
		*ok = true
		return s.begin(t, c, id, h, p.run, now, w, lease)
	}
	return nil
}

// begin starts a pending run: w is its row.
func (s *Store) begin(t *tx, c thread.Claim, id string, h *head, run, now int64, w *runRow, lease *thread.Lease) error {
	h.unqueue(run)
	h.running, h.attempt, h.lost, h.started, h.cancel, h.cancelledBy = run, 1, 0, now, "", nil
	if thread.ArmsCall(w.cancel) {
		h.cancel = w.cancel
	}
	h.frameBase, h.frameReserved = 0, c.Reserve
	h.base, h.baseRest, h.logFrom = h.head, h.rest, h.nextPos
	return s.lease(t, c, id, h, now, w, lease)
}

// lease gives the running run of h to a worker, with numbers of its own.
func (s *Store) lease(t *tx, c thread.Claim, id string, h *head, now int64, w *runRow, lease *thread.Lease) error {
	h.token++
	h.released = false
	h.worker = c.Worker
	h.due = now + c.Lease.Microseconds()
	h.startSeq, h.startPos = h.nextSeq, h.nextPos
	h.nextSeq += c.Reserve + 1
	h.nextPos += c.Reserve + 1
	h.lastCommit = ""
	h.status = statusBusy
	h.err = nil
	*lease = thread.Lease{
		ThreadID: id, RunID: w.id, Worker: c.Worker, Token: h.token, Expires: timeOf(h.due),
		NextSeq: h.startSeq, NextPos: h.startPos, SeqReserved: h.nextSeq - 1, PosReserved: h.nextPos - 1,
		FrameBase: h.frameBase, FrameReserved: h.frameReserved, Lost: int(h.lost),
	}
	w.status, w.attempt, w.started, w.cancel, w.base, w.logFrom, w.updated = runRunning, h.attempt, h.started, h.cancel, h.base, h.logFrom, now
	return h.save(t.conn)
}

// giveUp ends a run that lost its worker too often, as an error.
func (s *Store) giveUp(t *tx, h *head, w runRow) error {
	now := s.now()
	info := agent.ErrorInfo{Name: "RunAttemptsExceeded", Message: "the run was given up: its worker was lost too often"}
	doc, err := json.Marshal(map[string]string{"error": info.Name, "message": info.Message})
	if err != nil {
		return err
	}
	var d runDoc
	if err := json.Unmarshal(w.doc, &d); err != nil {
		return err
	}
	entry := thread.Entry{Pos: h.nextPos, Seq: h.nextSeq, RunID: w.id, Event: agent.Event{
		Kind: agent.RunFinished, At: now.UnixMilli(),
		Payload: agent.RunFinish{GraphID: d.Graph, Status: "error", Error: &info},
	}}
	batch, err := encodeLog([]thread.Entry{entry})
	if err != nil {
		return err
	}
	if err := batch.put(t.conn, h.k, h.running); err != nil {
		return err
	}
	f := thread.Finish{Status: thread.RunError, Error: doc, At: now}
	if d.Kwargs.Webhook != "" {
		f.Webhook = &thread.Delivery{ID: w.id, ThreadID: w.thread, RunID: w.id, URL: d.Kwargs.Webhook, Due: now}
	}
	f.DropThread = d.Kwargs.Temporary && d.Kwargs.OnCompletion != "keep"
	h.token++ // whoever had it, has it no longer
	h.nextPos++
	h.nextSeq++
	h.do(thread.Actor{}, now)
	_, err = finish(t.conn, h, &f, "", w)
	return err
}

// NextDue implements thread.Runs.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	return timeOf(s.w.due.Load()), ctx.Err()
}
