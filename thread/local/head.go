package local

import (
	"encoding/json"

	"github.com/parley-dev/parley/thread"
)

// head is the row of heads: what the transitions of a thread change. A thread
// without a row has the zero head but for the counters, see newHead.
type head struct {
	k                  int64
	stored             bool // the row exists
	status, rest       int64
	updated            int64
	stateUpdated       int64
	err                json.RawMessage
	head               string
	generation         int64
	nextSeq, nextPos   int64
	startSeq, startPos int64
	token              int64
	running            int64
	attempt, lost      int64
	released           bool
	frameBase          int64
	frameReserved      int64
	cancel             string
	worker             string
	started            int64
	logFrom            int64
	base               string
	baseRest           int64
	due                int64
	queue              []pending
	runs               int64
	checkpoints        int64
	open               int64
	asked              int64
	suspended          int64
	ended              bool
	lastCommit         string
	owed               []unbegun // dropped while another run was leased, and not told of yet
	cancelledBy        []byte    // who marked the running run, JSON
	doing              doing     // the transition under way
	savedDue           int64     // due as in the row
}

// pending is a run that waits for its turn.
type pending struct{ run, notBefore int64 }

// The statuses of a thread as stored.
var statuses = []thread.Status{thread.Idle, thread.Busy, thread.Interrupted, thread.Failed}

const (
	statusIdle = iota
	statusBusy
	statusInterrupted
	statusError
)

func statusCode(s thread.Status) int64 {
	for i, v := range statuses {
		if v == s {
			return int64(i)
		}
	}
	return -1
}

const headColumns = `h.k, h.status, h.rest, h.updated, h.state_updated, h.error, h.head, h.generation,
	h.next_seq, h.next_pos, h.start_seq, h.start_pos, h.token, h.running, h.attempt, h.lost, h.released,
	h.frame_base, h.frame_reserved, h.cancel, h.worker, h.started, h.base, h.base_rest, h.due, h.queue,
	h.runs, h.checkpoints, h.open, h.asked, h.suspended, h.ended, h.last_commit, h.log_from, h.owed, h.cancelled_by`

// headColumnCount is the number of headColumns.
const headColumnCount = 36

// readHead reads headColumns, the first of which is column i, of thread k.
func readHead(r *rows, i int, k int64) (*head, error) {
	h := &head{k: k, nextSeq: 1, nextPos: 1}
	if r.int(i) == 0 {
		return h, nil
	}
	h.stored = true
	h.status, h.rest, h.updated, h.stateUpdated = r.int(i+1), r.int(i+2), r.int(i+3), r.int(i+4)
	h.err, h.head, h.generation = r.blob(i+5), r.id(i+6), r.int(i+7)
	h.nextSeq, h.nextPos, h.startSeq, h.startPos = r.int(i+8), r.int(i+9), r.int(i+10), r.int(i+11)
	h.token, h.running, h.attempt, h.lost, h.released = r.int(i+12), r.int(i+13), r.int(i+14), r.int(i+15), r.bool(i+16)
	h.frameBase, h.frameReserved, h.cancel, h.worker = r.int(i+17), r.int(i+18), r.text(i+19), r.text(i+20)
	h.started, h.base, h.baseRest = r.int(i+21), r.id(i+22), r.int(i+23)
	h.due = r.int(i + 24)
	h.savedDue = h.due
	h.runs, h.checkpoints, h.open, h.asked = r.int(i+26), r.int(i+27), r.int(i+28), r.int(i+29)
	h.suspended, h.ended, h.lastCommit, h.logFrom = r.int(i+30), r.bool(i+31), r.text(i+32), r.int(i+33)
	d := dec{b: r.view(i + 25)}
	for len(d.b) > 0 {
		h.queue = append(h.queue, pending{run: d.int(), notBefore: d.int()})
	}
	if d.err == nil {
		h.owed, d.err = decodeOwed(r.view(i + 34))
		h.cancelledBy = r.blob(i + 35)
	}
	return h, d.err
}

const (
	insertHead = `INSERT INTO heads(k, status, rest, updated, state_updated, error, head, generation,
		next_seq, next_pos, start_seq, start_pos, token, running, attempt, lost, released,
		frame_base, frame_reserved, cancel, worker, started, base, base_rest, due, queue,
		runs, checkpoints, open, asked, suspended, ended, last_commit, log_from, owed, cancelled_by)
		VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?36,?25,?26,?27,?28,?29,?30,?31,?32,?33,?34,?35)`
	setHead = `UPDATE heads SET status=?2, rest=?3, updated=?4, state_updated=?5, error=?6, head=?7, generation=?8,
		next_seq=?9, next_pos=?10, start_seq=?11, start_pos=?12, token=?13, running=?14, attempt=?15, lost=?16, released=?17,
		frame_base=?18, frame_reserved=?19, cancel=?20, worker=?21, started=?22, base=?23, base_rest=?24, queue=?25,
		runs=?26, checkpoints=?27, open=?28, asked=?29, suspended=?30, ended=?31, last_commit=?32, log_from=?33, owed=?34, cancelled_by=?35`
	// An index is written whenever its column is named, so due is named only when it changes.
	updateHead    = setHead + ` WHERE k=?1`
	updateHeadDue = setHead + `, due=?36 WHERE k=?1`
)

// save stores the head; status follows from what is inflight.
func (h *head) save(c *conn) error {
	h.due = h.nextDue()
	var queue enc
	for _, p := range h.queue {
		queue.int(p.run)
		queue.int(p.notBefore)
	}
	args := make([]any, 0, headColumnCount)
	args = append(args, h.k, h.status, h.rest, h.updated, h.stateUpdated, h.err, uuidID(h.head), h.generation,
		h.nextSeq, h.nextPos, h.startSeq, h.startPos, h.token, h.running, h.attempt, h.lost, h.released,
		h.frameBase, h.frameReserved, h.cancel, h.worker, h.started, uuidID(h.base), h.baseRest, []byte(queue),
		h.runs, h.checkpoints, h.open, h.asked, h.suspended, h.ended, h.lastCommit, h.logFrom, encodeOwed(h.owed), json.RawMessage(h.cancelledBy))
	sql := updateHead
	switch {
	case !h.stored:
		sql = insertHead
		args = append(args, orNull(h.due))
	case h.due != h.savedDue:
		sql = updateHeadDue
		args = append(args, orNull(h.due))
	}
	_, err := c.exec(sql, args...)
	h.stored, h.savedDue = true, h.due
	return err
}

// nextDue is when the thread gives work next: when the lease of the running
// run ends, or the first pending run may start; 0 for no work.
func (h *head) nextDue() int64 {
	if h.running != 0 {
		return h.due
	}
	var due int64
	for _, p := range h.queue {
		if at := max(p.notBefore, 1); due == 0 || at < due {
			due = at
		}
	}
	return due
}

// inflight tells whether a run is pending or running.
func (h *head) inflight() bool { return h.running != 0 || len(h.queue) > 0 }

// unqueue removes a pending run.
func (h *head) unqueue(run int64) bool {
	for i, p := range h.queue {
		if p.run == run {
			h.queue = append(h.queue[:i:i], h.queue[i+1:]...)
			return true
		}
	}
	return false
}

// settle sets the status that the thread has at rest, or busy while runs are inflight.
func (h *head) settle() {
	h.status = h.rest
	if h.inflight() {
		h.status = statusBusy
	}
	if h.status != statusError {
		h.err = nil
	}
}

// threadRow is the row of threads.
type threadRow struct {
	k         int64
	id        string
	created   int64
	metadata  json.RawMessage
	config    json.RawMessage
	temporary bool
	expires   int64
	ttl       string
}

const threadColumns = `t.k, t.id, t.created, t.metadata, t.config, t.temporary, t.expires, t.ttl`

// threadColumnCount is the number of threadColumns.
const threadColumnCount = 8

func readThreadRow(r *rows) threadRow {
	return threadRow{k: r.int(0), id: r.id(1), created: r.int(2), metadata: r.blob(3), config: r.blob(4),
		temporary: r.bool(5), expires: r.int(6), ttl: r.text(7)}
}

const (
	selectThread    = `SELECT ` + threadColumns + `, ` + headColumns + ` FROM threads t LEFT JOIN heads h ON h.k=t.k WHERE t.id=?`
	selectHead      = `SELECT t.k, ` + headColumns + ` FROM threads t LEFT JOIN heads h ON h.k=t.k WHERE t.id=?`
	selectThreadByK = `SELECT ` + threadColumns + `, ` + headColumns + ` FROM threads t LEFT JOIN heads h ON h.k=t.k WHERE t.k=?`
	selectThreadKey = `SELECT k FROM threads WHERE id=?`
)

// loadThread reads a thread with its head. *thread.NotFoundError when there is none.
func loadThread(c *conn, id string) (t threadRow, h *head, err error) {
	r := c.query(selectThread, uuidID(id))
	found := r.next()
	if found {
		t = readThreadRow(r)
		h, err = readHead(r, threadColumnCount, t.k)
	}
	if e := r.close(); e != nil {
		err = e
	}
	if err == nil && !found {
		err = &thread.NotFoundError{Kind: notFoundThread, ID: id}
	}
	return t, h, err
}

// loadHead is loadThread without the row.
func loadHead(c *conn, id string) (h *head, err error) {
	r := c.query(selectHead, uuidID(id))
	found := r.next()
	if found {
		h, err = readHead(r, 1, r.int(0))
	}
	if e := r.close(); e != nil {
		err = e
	}
	if err == nil && !found {
		err = &thread.NotFoundError{Kind: notFoundThread, ID: id}
	}
	return h, err
}

// threadKey finds the key of a thread.
func threadKey(c *conn, id string) (k int64, err error) {
	ok, err := c.one(func(r *rows) { k = r.int(0) }, selectThreadKey, uuidID(id))
	if err == nil && !ok {
		err = &thread.NotFoundError{Kind: notFoundThread, ID: id}
	}
	return k, err
}

// thread is the row as the contract has it.
func (t threadRow) thread(h *head) (thread.Thread, error) {
	out := thread.Thread{
		ID: t.id, CreatedAt: timeOf(t.created), UpdatedAt: timeOf(t.created), Config: t.config, Status: thread.Idle,
		Temporary: t.temporary, ExpiresAt: timeOf(t.expires), TTLStrategy: t.ttl, NextSeq: h.nextSeq, NextPos: h.nextPos,
	}
	if out.Config == nil {
		out.Config = json.RawMessage("{}")
	}
	var err error
	if out.Metadata, err = decodeMetadata(t.metadata); err != nil {
		return out, err
	}
	if h.stored {
		out.Status, out.UpdatedAt, out.StateUpdatedAt = statuses[h.status], timeOf(h.updated), timeOf(h.stateUpdated)
		out.Error, out.Head, out.Generation, out.Ended = h.err, h.head, h.generation, h.ended
	}
	return out, nil
}

func decodeMetadata(b []byte) (thread.Metadata, error) {
	m := thread.Metadata{}
	if len(b) == 0 || string(b) == "{}" {
		return m, nil
	}
	err := json.Unmarshal(b, &m)
	return m, err
}

func encodeMetadata(m thread.Metadata) (json.RawMessage, error) {
	if len(m) == 0 {
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(m)
}
