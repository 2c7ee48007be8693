package local

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// AdmitRun implements thread.Runs.
func (s *Store) AdmitRun(ctx context.Context, a thread.Admission) (thread.Admitted, error) {
	ad := admission{s: s, a: a}
	var err error
	if ad.run, err = s.encodeRun(a); err != nil {
		return thread.Admitted{}, err
	}
	if a.CreateThread != nil {
		if ad.create, err = ad.merged(*a.CreateThread); err != nil {
			return thread.Admitted{}, err
		}
	}
	if a.Resume != nil && a.Resume.Writes != nil {
		ad.writes = encodeTask(*a.Resume.Writes)
	}
	if err = checkOutcomes(a.Resume); err != nil {
		return thread.Admitted{}, err
	}
	ad.actor = thread.ActorFrom(ctx)
	if err = s.write(ctx, true, ad.store); err != nil {
		return thread.Admitted{}, err
	}
	ad.out.Thread, err = ad.row.thread(ad.head)
	return ad.out, err
}

// merged is the thread to be created as it is once the run is admitted.
func (ad *admission) merged(t thread.Thread) (newThread, error) {
	m := thread.Metadata{}
	maps.Copy(m, t.Metadata)
	maps.Copy(m, ad.a.ThreadMetadata)
	t.Metadata = m
	var err error
	if t.Config, err = query.MergeConfig(t.Config, ad.a.ThreadConfig); err != nil {
		return newThread{}, err
	}
	return ad.s.encodeThread(t)
}

// admission is an AdmitRun under way.
type admission struct {
	s      *Store
	a      thread.Admission
	run    newRun
	create newThread
	writes []byte
	out    thread.Admitted

	actor thread.Actor
	t     *tx
	at    time.Time
	now   int64
	row   threadRow
	head  *head
	// reviews are those of the questions that are answered, in their order; of key 0 where there is none.
	reviews []reviewRow
}

// store is the transition: all that can refuse it comes before the first write.
func (ad *admission) store(t *tx) error {
	ad.at = ad.s.now()
	ad.t, ad.out, ad.now = t, thread.Admitted{}, micros(ad.at)
	exists, err := ad.load()
	if err != nil {
		return err
	}
	if exists {
		if repeat, err := ad.repeat(); err != nil || repeat {
			return err
		}
	}
	if taken, err := t.one(func(*rows) {}, `SELECT 1 FROM runs WHERE id=?`, uuidID(ad.a.Run.ID)); err != nil || taken {
		return errorsFirst(err, fmt.Errorf("run %s: %w", ad.a.Run.ID, thread.ErrExists))
	}
	var questions []question
	if ad.a.Resume != nil {
		var repeat bool
		if questions, repeat, err = ad.checkResume(); err != nil || repeat {
			return err
		}
	} else if ad.head.inflight() && ad.a.Strategy != "enqueue" && ad.a.Strategy != "interrupt" && ad.a.Strategy != "rollback" {
		return fmt.Errorf("thread %s: %w", ad.a.Run.ThreadID, thread.ErrBusy)
	}
	if ad.a.KeepsPending && ad.head.open > 0 {
		return fmt.Errorf("questions wait on thread %s: %w", ad.a.Run.ThreadID, thread.ErrConflict)
	}
	ad.head.do(ad.actor, ad.at)
	if !exists {
		if ad.row, err = ad.s.insertThread(t, ad.create); err != nil {
			return err
		}
		ad.head.k = ad.row.k
		ad.out.ThreadCreated = true
	}
	return ad.admit(questions)
}

// load reads the thread, or prepares the one to be created.
func (ad *admission) load() (exists bool, err error) {
	row, h, err := loadThread(ad.t.conn, ad.a.Run.ThreadID)
	if isNotFound(err) && ad.a.CreateThread != nil {
		ad.head = &head{nextSeq: 1, nextPos: 1}
		return false, nil
	}
	ad.row, ad.head = row, h
	return true, err
}

// repeat finds the run that this request made before: by its key, or by its
// content while nothing else happened (decisions 9).
func (ad *admission) repeat() (bool, error) {
	var n int64
	if ad.a.IdempotencyKey != "" {
		var err error
		if n, err = keyedRun(ad.t.conn, ad.row.k, ad.a.IdempotencyKey, ad.now); err != nil {
			return false, err
		}
	}
	if n == 0 && ad.a.Fingerprint != "" && ad.head.inflight() {
		w, err := runByNumber(ad.t.conn, ad.row.id, ad.row.k, ad.head.runs)
		if err != nil && !isNotFound(err) {
			return false, err
		}
		if err == nil && w.fingerprint == ad.a.Fingerprint && w.status <= runRunning && ad.now-w.created <= ad.a.Window.Microseconds() {
			n = ad.head.runs
		}
	}
	if n == 0 {
		return false, nil
	}
	return true, ad.repeated(n)
}

// repeated makes run n the answer.
func (ad *admission) repeated(n int64) error {
	w, err := runByNumber(ad.t.conn, ad.row.id, ad.row.k, n)
	if err != nil {
		return err
	}
	ad.out.Repeat = true
	ad.out.Run, err = w.run()
	return err
}

// admit stores what was found to be right.
func (ad *admission) admit(questions []question) error {
	t, h := ad.t, ad.head
	busy := h.inflight()
	if busy && ad.a.Resume == nil {
		if err := ad.displace(); err != nil {
			return err
		}
	}
	if ad.a.DropsPending {
		if err := dropPending(t.conn, h, ad.now); err != nil {
			return err
		}
	}
	if ad.a.Resume != nil {
		if err := ad.answer(questions); err != nil {
			return err
		}
	}
	w, err := ad.run.insert(t, h, ad.now)
	if err != nil {
		return err
	}
	if ad.a.IdempotencyKey != "" {
		_, err := t.exec(`INSERT OR REPLACE INTO idempotency(thread, key, run, expires) VALUES(?,?,?,?)`,
			h.k, ad.a.IdempotencyKey, h.runs, ad.now+ad.a.KeyTTL.Microseconds())
		if err != nil {
			return err
		}
	}
	if !busy && !ad.out.ThreadCreated {
		if err := ad.touchThread(); err != nil {
			return err
		}
	}
	h.updated = ad.now
	h.settle()
	ad.out.Run = w.fresh(ad.run.run)
	if ad.a.Claim == nil || busy || h.queue[0].notBefore > ad.now {
		return h.save(t.conn)
	}
	ad.out.Lease = new(thread.Lease)
	return ad.s.begin(t, claimDefaults(*ad.a.Claim), ad.row.id, h, h.runs, ad.now, &w, ad.out.Lease)
}

// displace ends or marks the inflight runs as the strategy says.
func (ad *admission) displace() error {
	switch ad.a.Strategy {
	case "interrupt", "rollback":
	default:
		return nil
	}
	inflight, err := inflight(ad.t.conn, ad.row.id, ad.head)
	if err != nil {
		return err
	}
	for _, run := range inflight {
		run, told, err := cancelRun(ad.t.conn, ad.head, run, ad.a.Strategy, ad.s.now())
		if err != nil {
			return err
		}
		ad.out.Told = append(ad.out.Told, told...)
		ad.out.Cancelled = append(ad.out.Cancelled, run)
	}
	return nil
}

// touchThread merges metadata and configuration into the thread.
func (ad *admission) touchThread() error {
	row := ad.row
	var err error
	if row.config, err = query.MergeConfig(row.config, ad.a.ThreadConfig); err != nil {
		return err
	}
	ad.row, err = ad.s.changeThread(ad.t, ad.row, row, ad.a.ThreadMetadata)
	return err
}

// checkResume compares the resume with what is stored. repeat tells that an
// equal one was accepted before, which out then holds (decisions 8).
func (ad *admission) checkResume() (list []question, repeat bool, err error) {
	re := ad.a.Resume
	dropping, err := ad.dropping()
	if err != nil {
		return nil, false, err
	}
	var first string
	for _, a := range re.Answers {
		q, ok, err := loadQuestion(ad.t.conn, ad.head.k, a.InterruptID)
		if err != nil {
			return nil, false, err
		}
		switch {
		case !ok: // a question that a copied thread shows
			q = question{OpenInterrupt: thread.OpenInterrupt{InterruptInfo: agent.InterruptInfo{ID: a.InterruptID}}, unknown: true}
		case q.status == interruptAnswered:
			if re.Fingerprint == "" || q.fingerprint != re.Fingerprint {
				return nil, false, &thread.AlreadyDecidedError{InterruptID: a.InterruptID, Answer: q.answer()}
			}
			first = q.answerRun
		case q.status == interruptSuperseded:
			return nil, false, fmt.Errorf("interrupt %s no longer waits: %w", a.InterruptID, thread.ErrConflict)
		case dropping != "" && q.RunID != dropping:
			return nil, false, fmt.Errorf("interrupt %s is about to be dropped by run %s: %w", a.InterruptID, dropping, thread.ErrConflict)
		}
		list = append(list, q)
	}
	if first != "" {
		w, err := oneRun(ad.t.conn, ad.row.id, first)
		if isNotFound(err) { // the run that answered was removed, what it answered stands
			return nil, false, &thread.AlreadyDecidedError{InterruptID: list[0].ID, Answer: list[0].answer()}
		}
		if err != nil {
			return nil, false, err
		}
		return nil, true, ad.repeated(number(w.k, runBits))
	}
	if re.ExpectHead != "" && re.ExpectHead != ad.head.head {
		return nil, false, fmt.Errorf("head is %s, not %s: %w", ad.head.head, re.ExpectHead, thread.ErrConflict)
	}
	if re.ExpectGeneration != 0 && re.ExpectGeneration != ad.head.generation {
		return nil, false, fmt.Errorf("generation is %d, not %d: %w", ad.head.generation, re.ExpectGeneration, thread.ErrConflict)
	}
	if err := ad.checkMerged(); err != nil {
		return nil, false, err
	}
	return list, false, ad.checkReviews(list)
}

// checkMerged refuses writes that would undo those which came with another answer.
func (ad *admission) checkMerged() error {
	re := ad.a.Resume
	if re.Writes == nil {
		return nil
	}
	records, err := tasksOf(ad.t.conn, ad.head.k, re.Writes.NS, re.Writes.CheckpointID)
	if err != nil {
		return err
	}
	var have, merged []byte
	for _, rec := range records {
		if rec.TaskID == re.Writes.TaskID {
			have = encodeTask(rec)
		}
	}
	if re.Merged != nil {
		merged = encodeTask(*re.Merged)
	}
	if !bytes.Equal(have, merged) {
		return fmt.Errorf("another answer came with writes on checkpoint %s: %w", re.Writes.CheckpointID, thread.ErrConflict)
	}
	return nil
}

// dropping is the id of the running run, if it answers nothing: it drops what others
// have asked, with its first commit.
func (ad *admission) dropping() (string, error) {
	if ad.head.running == 0 {
		return "", nil
	}
	w, err := runByNumber(ad.t.conn, ad.row.id, ad.head.k, ad.head.running)
	if err != nil {
		return "", err
	}
	run, err := w.run()
	if err != nil || len(run.Resumes) > 0 {
		return "", err
	}
	return run.ID, nil
}

// answer stores the answers and the command's writes.
func (ad *admission) answer(questions []question) error {
	re := ad.a.Resume
	for i, q := range questions {
		if err := q.decide(ad.t.conn, ad.head, re.Answers[i], ad.a.Run.ID, re.Fingerprint, ad.now); err != nil {
			return err
		}
		if err := ad.decide(i); err != nil {
			return err
		}
	}
	if re.Writes == nil {
		return nil
	}
	return putTask(ad.t.conn, ad.head.k, *re.Writes, ad.writes)
}
