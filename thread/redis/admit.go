package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// AdmitRun implements thread.Runs: three round trips, one to mark the thread, to
// take the run's id and to read what is merged, one for the transition, and one
// for what is derived.
func (s *Store) AdmitRun(ctx context.Context, a thread.Admission) (thread.Admitted, error) {
	ad := admission{s: s, a: a, op: newOp(), mark: newMark(a.Run.ThreadID, a.Run.ID)}
	if ad.a.Run.ExecutionID == "" {
		ad.a.Run.ExecutionID = a.Run.ID
	}
	var err error
	if ad.doc, err = encodeRun(a.Run); err != nil {
		return thread.Admitted{}, err
	}
	for {
		out, err := ad.try(ctx)
		if !errors.Is(err, errStale) {
			return out, err
		}
	}
}

// admission is an AdmitRun under way.
type admission struct {
	s        *Store
	a        thread.Admission
	op, mark string
	doc      []byte
	owned    bool // the run's id was free

	prior    *row // the thread as it was read; nil when it didn't exist
	inflight []thread.Run
	reviews  asked // of the questions that are answered
}

func (ad *admission) try(ctx context.Context) (thread.Admitted, error) {
	refused := func(err error) (thread.Admitted, error) {
		ad.s.unmark(ctx, ad.a.Run.ThreadID, ad.mark)
		if ad.owned {
			err = errors.Join(err, ad.s.disown(ctx, ad.a.Run.ID))
		}
		return thread.Admitted{}, err
	}
	if err := ad.read(ctx); err != nil {
		return refused(err)
	}
	args, err := ad.args(ctx)
	if err != nil {
		return refused(err)
	}
	r := ad.s.confirmed(ctx, "admit", ad.s.keys.thread(ad.a.Run.ThreadID), args...)
	if r.err != nil {
		return thread.Admitted{}, r.err // the outcome is unknown: the mark stays
	}
	switch status := r.status(); status {
	case "OK":
		return ad.admitted(ctx, &r)
	case "REPEAT":
		out := thread.Admitted{Repeat: true}
		if out.Run, err = takeRun(ad.a.Run.ThreadID, &r); err == nil {
			w := readRow(ad.a.Run.ThreadID, &r)
			if out.Thread, err = w.thread(); r.err != nil {
				err = r.err
			}
		}
		_, err = refused(errorsFirst(err, r.unconfirmed))
		return out, err
	case "REMOVED": // by somebody else, between this call and its repetition
		w := readRow(ad.a.Run.ThreadID, &r)
		out := thread.Admitted{Run: ad.a.Run}
		out.Run.Status = thread.RunPending
		if out.Thread, err = w.thread(); err == nil {
			err = r.err
		}
		_, err = refused(err)
		return out, err
	case "DECIDED":
		a, err := takeAnswer(&r)
		if err == nil {
			err = &thread.AlreadyDecidedError{InterruptID: a.InterruptID, Answer: a}
		}
		return refused(err)
	case "STALE":
		return refused(errStale)
	case "LEAVING":
		return refused(errorsFirst(ad.s.bury(ctx, ad.a.Run.ThreadID), errStale))
	case "EXPIRED", "CLAIMED":
		err := refusal(status, &r)
		return refused(errorsFirst(r.err, err))
	case "GONE":
		return refused(noThread(ad.a.Run.ThreadID))
	}
	if r.err == nil {
		r.fail()
	}
	return refused(fmt.Errorf("thread %s, run %s: %w", ad.a.Run.ThreadID, ad.a.Run.ID, r.err))
}

// read marks the thread, takes the run's id, and reads what the admission changes.
func (ad *admission) read(ctx context.Context) error {
	run := ad.a.Run
	own := &call{script: "own", keys: ad.s.keys.firsts(run.ID), args: []any{run.ID, run.ThreadID, placeOf(run)}}
	before := &call{script: "row", keys: ad.s.keys.thread(run.ThreadID)}
	calls := []*call{ad.s.marking(run.ThreadID, ad.mark), own, before}
	var waiting *call
	if ad.displaces() {
		waiting = &call{script: "run", keys: before.keys, args: []any{"inflight"}}
		calls = append(calls, waiting)
	}
	var reviews *call
	if re := ad.a.Resume; re != nil && len(re.Answers) > 0 {
		var ids []string
		for _, a := range re.Answers {
			ids = append(ids, a.InterruptID)
		}
		reviews = ad.s.reading(run.ThreadID, ids...)
		calls = append(calls, reviews)
	}
	if err := ad.s.evalAll(ctx, calls...); err != nil {
		return err
	}
	owner, owned := own.reply.text(), own.reply.bool()
	if own.reply.err != nil {
		return own.reply.err
	}
	ad.owned = ad.owned || owned
	if owner != run.ThreadID {
		return fmt.Errorf("run %s: %w", run.ID, thread.ErrExists)
	}
	ad.prior, ad.inflight = nil, nil
	w, _, err := takeRow(run.ThreadID, &before.reply)
	switch {
	case err == nil:
		ad.prior = &w
	case !isNotFound(err):
		return err
	}
	if waiting != nil && ad.prior != nil && waiting.reply.status() == "OK" {
		if ad.inflight, err = takeRuns(run.ThreadID, &waiting.reply); err != nil {
			return err
		}
	}
	if reviews != nil && ad.prior != nil {
		if ad.reviews, _, err = takeAsked(run.ThreadID, &reviews.reply); err != nil && !isNotFound(err) {
			return err
		}
	}
	return nil
}

// displaces tells whether the strategy ends what is inflight.
func (ad *admission) displaces() bool {
	return ad.a.Resume == nil && (ad.a.Strategy == "interrupt" || ad.a.Strategy == "rollback")
}

// args are the script's arguments.
func (ad *admission) args(ctx context.Context) ([]any, error) {
	a, run := ad.a, ad.a.Run
	strategy := a.Strategy
	switch strategy {
	case "enqueue", "interrupt", "rollback":
	default:
		strategy = "reject"
	}
	if a.KeepsPending {
		strategy = "keep"
	}
	actor, err := actorArg(ctx)
	if err != nil {
		return nil, err
	}
	args := []any{ad.op, ad.s.keys.threadChannel(run.ThreadID), ad.s.origin, ad.s.keys.control(), actor,
		run.ID, ad.doc, run.ExecutionID, micros(run.CreatedAt), micros(run.NotBefore),
		run.Kwargs.Temporary && run.Kwargs.OnCompletion != "keep", run.Kwargs.Webhook, a.Fingerprint, a.Window.Microseconds(),
		a.IdempotencyKey, a.KeyTTL.Microseconds(), strategy, a.DropsPending}
	if a.Claim == nil {
		args = append(args, 0)
	} else {
		args = append(append(args, 1), claimArgs(*a.Claim)...)
	}
	thread, err := ad.threadArgs()
	if err != nil {
		return nil, err
	}
	args = append(append(args, thread...), agent.NullTask)
	resume, err := ad.resumeArgs(ctx)
	if err != nil {
		return nil, err
	}
	return ad.endArgs(append(args, resume...))
}

// threadArgs are the thread to be created and what an existing one becomes.
func (ad *admission) threadArgs() (args []any, err error) {
	a := ad.a
	if t := a.CreateThread; t == nil {
		args = append(args, 0)
	} else {
		m := thread.Metadata{}
		maps.Copy(m, t.Metadata)
		maps.Copy(m, a.ThreadMetadata)
		metadata, err := encodeMetadata(m)
		if err != nil {
			return nil, err
		}
		config, err := query.MergeConfig(t.Config, a.ThreadConfig)
		if err != nil {
			return nil, err
		}
		args = append(args, 1, micros(t.CreatedAt), t.Temporary, micros(t.ExpiresAt), t.TTLStrategy, []byte(metadata), []byte(config))
	}
	if ad.prior == nil {
		return append(args, 0, 0, "", ""), nil
	}
	metadata, err := mergeMetadata(ad.prior.metadata, a.ThreadMetadata)
	if err != nil {
		return nil, err
	}
	config, err := query.MergeConfig(ad.prior.config, a.ThreadConfig)
	if err != nil {
		return nil, err
	}
	changes := !bytes.Equal(metadata, ad.prior.metadata) || !bytes.Equal(config, ad.prior.config)
	return append(args, ad.prior.mv, changes, []byte(metadata), []byte(config)), nil
}

func (ad *admission) resumeArgs(ctx context.Context) ([]any, error) {
	re := ad.a.Resume
	if re == nil {
		return []any{0}, nil
	}
	args := []any{1, re.ExpectHead, re.ExpectGeneration, re.Fingerprint, len(re.Answers)}
	for _, a := range re.Answers {
		value := a.Value
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		args = append(args, a.InterruptID, []byte(value), a.By, micros(a.At), a.RunID)
	}
	if re.Writes == nil {
		args = append(args, 0)
	} else {
		args = append(args, taskArgs([]agent.TaskRecord{*re.Writes})...)
	}
	merged := []byte{}
	if re.Merged != nil {
		merged = encodeTask(*re.Merged)
	}
	args = append(args, merged)
	outcomes, err := outcomeArgs(ctx, ad.a, ad.reviews)
	return append(args, outcomes...), err
}

// endArgs adds how the pending runs that the strategy ends are told of.
func (ad *admission) endArgs(args []any) ([]any, error) {
	var pending []thread.Run
	for _, run := range ad.inflight {
		if run.Status == thread.RunPending {
			pending = append(pending, run)
		}
	}
	args = append(args, len(pending))
	for _, run := range pending {
		b, err := unbegun(run, ad.a.Strategy, orNow(ad.a.Run.CreatedAt))
		if err != nil {
			return nil, err
		}
		args = append(append(args, run.ID), floating(b)...)
	}
	return args, nil
}

// admitted reads the result and writes what is derived from it.
func (ad *admission) admitted(ctx context.Context, r *reply) (out thread.Admitted, err error) {
	id := ad.a.Run.ThreadID
	if out.Run, err = takeRun(id, r); err != nil {
		return out, err
	}
	out.Run.Kwargs, out.Run.Metadata = ad.a.Run.Kwargs, ad.a.Run.Metadata // byte for byte
	w := readRow(id, r)
	out.ThreadCreated = r.bool()
	held, cancelled := r.inner(), r.inner()
	if out.Told, err = takeTold(r); err != nil {
		return out, err
	}
	if held.more() {
		lease, err := takeLease(id, &held)
		if err != nil {
			return out, err
		}
		out.Lease = &lease
		out.Run.Status = thread.RunPending
	}
	if out.Cancelled, err = takeRuns(id, &cancelled); err != nil {
		return out, err
	}
	if out.Thread, err = w.thread(); err != nil {
		return out, err
	}
	if ad.a.Strategy == "rollback" {
		var removed []string
		for _, run := range out.Cancelled {
			if run.Status.Ended() {
				removed = append(removed, run.ID)
			}
		}
		if err := ad.s.disown(ctx, removed...); err != nil {
			return out, err
		}
	}
	return out, errorsFirst(ad.s.derive(ctx, w, derived{metadata: true, mark: ad.mark, wake: out.Lease == nil}), r.unconfirmed)
}
