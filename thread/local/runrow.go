package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/parley-dev/parley/thread"
)

// The statuses of a run as stored. A run that has been claimed stays pending in
// its row until it ends; heads.running tells which one runs.
var runStatuses = []thread.RunStatus{thread.RunPending, thread.RunRunning, thread.RunSuccess, thread.RunError, thread.RunInterrupted, thread.RunTimeout}

const (
	runPending = iota
	runRunning
	runSuccess
	runError
	runInterrupted
)

func runStatusCode(s thread.RunStatus) (int64, error) {
	for i, v := range runStatuses {
		if v == s {
			return int64(i), nil
		}
	}
	return 0, fmt.Errorf("local: no run status %q", s)
}

// runDoc is the part of a run that never changes.
type runDoc struct {
	Assistant string           `json:"assistant,omitempty"`
	Graph     string           `json:"graph,omitempty"`
	Metadata  thread.Metadata  `json:"metadata,omitempty"`
	Kwargs    thread.RunKwargs `json:"kwargs"`
	Strategy  string           `json:"strategy,omitempty"`
	Resumes   []string         `json:"resumes,omitempty"`
	Writes    bool             `json:"writes,omitempty"` // command writes were stored with the run
	Principal string           `json:"principal,omitempty"`
	Project   string           `json:"project,omitempty"`
	Workspace string           `json:"workspace,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"`
}

// runRow is a row of runs, with what heads says of it.
type runRow struct {
	k           int64
	id          string
	thread      string
	status      int64
	execution   string
	created     int64
	updated     int64
	started     int64
	ended       int64
	notBefore   int64
	attempt     int64
	cancel      string
	suspended   bool
	err         json.RawMessage
	base        string
	logFrom     int64
	fingerprint string
	lastCommit  string
	doc         json.RawMessage
}

const (
	runColumns = `r.k, r.id, r.status, r.execution, r.created, r.updated, r.started, r.ended, r.not_before, r.attempt,
		r.cancel, r.suspended, r.error, r.base, r.log_from, r.fingerprint, r.last_commit, r.doc,
		h.running, h.attempt, h.started, h.cancel, h.base, h.log_from`
	selectRuns   = `SELECT ` + runColumns + ` FROM runs r JOIN heads h ON h.k = r.k>>24`
	selectRunByK = selectRuns + ` WHERE r.k=?`
	selectRunID  = selectRuns + ` WHERE r.id=?`
	insertRun    = `INSERT INTO runs(k, id, status, execution, created, updated, started, ended, not_before, attempt,
		cancel, suspended, error, base, log_from, retire, fingerprint, last_commit, doc, project)
		VALUES(?,?,0,?,?,?,0,0,?,0,'',0,NULL,?,0,NULL,?,'',?,?)`
)

func readRun(r *rows) runRow {
	w := runRow{k: r.int(0), id: r.id(1), status: r.int(2), execution: r.id(3), created: r.int(4), updated: r.int(5),
		started: r.int(6), ended: r.int(7), notBefore: r.int(8), attempt: r.int(9), cancel: r.text(10), suspended: r.bool(11),
		err: r.blob(12), base: r.id(13), logFrom: r.int(14), fingerprint: r.text(15), lastCommit: r.text(16), doc: r.blob(17)}
	if w.status == runPending && r.int(18) == number(w.k, runBits) {
		w.status = runRunning
		w.attempt, w.started, w.cancel, w.base, w.logFrom = r.int(19), r.int(20), r.text(21), r.id(22), r.int(23)
		w.updated = max(w.updated, w.started)
	}
	return w
}

// run is the row as the contract has it.
func (w runRow) run() (thread.Run, error) {
	var d runDoc
	if err := json.Unmarshal(w.doc, &d); err != nil {
		return thread.Run{}, fmt.Errorf("local: run %s: %w", w.id, err)
	}
	run := thread.Run{
		ID: w.id, ThreadID: w.thread, AssistantID: d.Assistant, GraphID: d.Graph, ExecutionID: w.execution,
		Status: runStatuses[w.status], Metadata: d.Metadata, Kwargs: d.Kwargs, Strategy: d.Strategy,
		CreatedAt: timeOf(w.created), UpdatedAt: timeOf(w.updated), StartedAt: timeOf(w.started), EndedAt: timeOf(w.ended),
		NotBefore: timeOf(w.notBefore), Attempt: int(w.attempt), Cancel: w.cancel, Suspended: w.suspended, Error: w.err,
		Resumes: d.Resumes, BaseCheckpoint: w.base, Principal: d.Principal, Warnings: d.Warnings,
		Project: d.Project, Workspace: d.Workspace,
	}
	return run, nil
}

// newRun is a run on its way into the store, with all encoding done outside of the writer.
type newRun struct {
	run         thread.Run
	doc         json.RawMessage
	fingerprint string
	created     int64
	// answers says that it answers questions.
	answers bool
}

func (s *Store) encodeRun(a thread.Admission) (newRun, error) {
	n := newRun{run: a.Run, fingerprint: a.Fingerprint, answers: a.Resume != nil}
	d := runDoc{Assistant: n.run.AssistantID, Graph: n.run.GraphID, Metadata: n.run.Metadata, Kwargs: n.run.Kwargs, Strategy: n.run.Strategy,
		Resumes: n.run.Resumes, Principal: n.run.Principal, Warnings: n.run.Warnings,
		Project: n.run.Project, Workspace: n.run.Workspace}
	d.Writes = a.Resume != nil && a.Resume.Writes != nil
	if n.run.ExecutionID == "" {
		n.run.ExecutionID = n.run.ID
	}
	n.created = micros(s.orNow(n.run.CreatedAt))
	var err error
	n.doc, err = json.Marshal(d)
	return n, err
}

// insert stores the run as pending, behind all others of the thread; one that answers
// comes before input that waits, which would drop what was asked, and the answer with it.
func (n newRun) insert(t *tx, h *head, now int64) (runRow, error) {
	h.runs++
	w := runRow{k: within(h.k, runBits, h.runs), id: n.run.ID, thread: n.run.ThreadID, execution: n.run.ExecutionID,
		created: n.created, updated: n.created, notBefore: micros(n.run.NotBefore), base: h.head, fingerprint: n.fingerprint, doc: n.doc}
	_, err := t.exec(insertRun, w.k, uuidID(w.id), uuidID(w.execution), w.created, w.updated, w.notBefore, uuidID(w.base), w.fingerprint, w.doc,
		projectOf(n.run.Project))
	if err != nil {
		return w, err
	}
	turn := len(h.queue)
	if n.answers {
		if turn, err = h.answersWaiting(t.conn, w.thread); err != nil {
			return w, err
		}
	}
	h.queue = slices.Insert(h.queue, turn, pending{run: h.runs, notBefore: max(now, w.notBefore)})
	return w, nil
}

// answersWaiting is how many of the pending runs, which come first, answer questions.
func (h *head) answersWaiting(c *conn, threadID string) (int, error) {
	for i, p := range h.queue {
		w, err := runByNumber(c, threadID, h.k, p.run)
		if err != nil {
			return 0, err
		}
		run, err := w.run()
		if err != nil {
			return 0, err
		}
		if len(run.Resumes) == 0 {
			return i, nil
		}
	}
	return len(h.queue), nil
}

// fresh is a run as it is right after its admission.
func (w runRow) fresh(run thread.Run) thread.Run {
	run.Status, run.CreatedAt, run.UpdatedAt = thread.RunPending, timeOf(w.created), timeOf(w.updated)
	run.NotBefore, run.BaseCheckpoint = timeOf(w.notBefore), w.base
	run.StartedAt, run.EndedAt, run.Attempt, run.Cancel, run.Suspended, run.Error = time.Time{}, time.Time{}, 0, "", false, nil
	return run
}

// oneRun reads a run; *thread.NotFoundError when there is none.
func oneRun(c *conn, threadID, runID string) (w runRow, err error) {
	var owner int64
	ok, err := c.one(func(r *rows) { w = readRun(r); owner = w.k >> runBits }, selectRunID, uuidID(runID))
	if err != nil {
		return w, err
	}
	if ok {
		w.thread, err = threadIDOf(c, owner)
		if err != nil {
			return w, err
		}
	}
	if !ok || threadID != "" && w.thread != threadID {
		return w, &thread.NotFoundError{Kind: notFoundRun, ID: runID}
	}
	return w, nil
}

// threadIDOf is the id of the thread with key k.
func threadIDOf(c *conn, k int64) (id string, err error) {
	ok, err := c.one(func(r *rows) { id = r.id(0) }, `SELECT id FROM threads WHERE k=?`, k)
	if err == nil && !ok {
		err = fmt.Errorf("local: no thread %d", k)
	}
	return id, err
}

// runByNumber reads run n of a thread.
func runByNumber(c *conn, threadID string, k, n int64) (w runRow, err error) {
	ok, err := c.one(func(r *rows) { w = readRun(r) }, selectRunByK, within(k, runBits, n))
	if err == nil && !ok {
		err = fmt.Errorf("run %d of thread %s: %w", n, threadID, thread.ErrNotFound)
	}
	w.thread = threadID
	return w, err
}

// endRun is how a run's row looks when the run is over.
type endRun struct {
	status    int64
	at        time.Time
	attempt   int64
	started   int64
	cancel    string
	suspended bool
	err       json.RawMessage
	base      string
	logFrom   int64
	commit    string
	retire    bool
}

const finishRun = `UPDATE runs SET status=?2, updated=?3, ended=?3, attempt=?4, started=?5, cancel=?6, suspended=?7, error=?8,
	base=?9, last_commit=?10, retire=?11, log_from=?12 WHERE k=?1`

func (e endRun) store(c *conn, k int64) error {
	at := micros(e.at)
	if thread.ArmsCall(e.cancel) { // the call never came
		e.cancel = ""
	}
	var retire any
	if e.retire {
		retire = at
	}
	_, err := c.exec(finishRun, k, e.status, at, e.attempt, e.started, e.cancel, e.suspended, e.err, uuidID(e.base), e.commit, retire, e.logFrom)
	return err
}

// hasWrites tells whether command writes were stored when the run was admitted.
func (w runRow) hasWrites() bool {
	var d runDoc
	return json.Unmarshal(w.doc, &d) == nil && d.Writes
}
