package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// outcomeArgs are the arguments of admit that say what its answers mean for reviews that
// are open, as they were read.
func outcomeArgs(ctx context.Context, a thread.Admission, known asked) ([]any, error) {
	re := a.Resume
	var args []any
	n := 0
	for i, answer := range re.Answers {
		v, ok := known.reviews[answer.InterruptID]
		if !ok || !v.Status.Open() {
			continue
		}
		decided, body := re.Decide(v.Review, i, a.Run.ID, known.now)
		audit, err := newEntry(ctx, body)
		if err != nil {
			return nil, err
		}
		o := decided.Decided
		run, err := piece(thread.AuditBody{RunID: o.RunID})
		if err != nil {
			return nil, err
		}
		status := "d"
		if decided.Status == thread.ReviewExpired {
			status = "e"
		}
		n++
		args = append(args, answer.InterruptID, v.Version, status, o.Decision, o.Notes, o.By, o.RunID, run, body.Action)
		args = append(args, audit.args()...)
	}
	return append([]any{re.Expired, re.RespectClaims, n}, args...), nil
}

// asks are the questions that task records ask, by id, of the thread.
func asks(threadID, runID string, tasks []agent.TaskRecord) map[string]thread.OpenInterrupt {
	var found map[string]thread.OpenInterrupt
	for _, t := range tasks {
		if t.Nested || t.TaskID == agent.NullTask || t.Status == agent.TaskDone {
			continue
		}
		for _, q := range t.Interrupts {
			if found == nil {
				found = map[string]thread.OpenInterrupt{}
			}
			found[q.ID] = thread.OpenInterrupt{InterruptInfo: q, ThreadID: threadID, RunID: runID, NS: t.NS, CheckpointID: t.CheckpointID, TaskID: t.TaskID}
		}
	}
	return found
}

// draftArgs are the arguments of the drafts of questions, with the audit entries of their
// reviews, as they become if each is asked for the generation.
func draftArgs(ctx context.Context, questions map[string]thread.OpenInterrupt, drafts []thread.ReviewDraft, known map[string]storedReview, generation int64, now time.Time) ([]any, error) {
	given := map[string]*thread.ReviewDraft{}
	for i := range drafts {
		given[drafts[i].InterruptID] = &drafts[i]
	}
	var args []any
	n := 0
	for id, q := range questions {
		d, have := given[id], known[id]
		q.Generation = generation
		var r thread.Review
		switch {
		case have.ID != "":
			r, _ = have.AskAgain(q, d, now)
		case d != nil:
			r = thread.NewReview(q, *d, now)
		default:
			continue
		}
		more, err := requestArgs(ctx, r, have.Version, "")
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
		n++
	}
	return append([]any{n}, args...), nil
}

// requestArgs are the arguments of one draft; expects is the version of the review that is there.
func requestArgs(ctx context.Context, r thread.Review, expects int64, cause string) ([]any, error) {
	doc, err := encodeJSON(r.ReviewDraft)
	if err != nil {
		return nil, err
	}
	audit, err := newEntry(ctx, r.Request(cause))
	if err != nil {
		return nil, err
	}
	var after, warn time.Duration
	if e := r.Expiry; e != nil && e.After > 0 {
		after, warn = e.After, e.WarnBefore(e.After)
	}
	args := []any{r.InterruptID, r.Generation, expects, r.ID, []byte(doc), r.Project, r.Digest, after.Microseconds(), warn.Microseconds(), len(r.Notify)}
	for _, url := range r.Notify {
		args = append(args, url)
	}
	pieces, err := reviewPieces(r)
	return slices.Concat(args, pieces, audit.args()), err
}

// reviewPieces are the pieces of the bodies of a review's small entries (scripts/lib/reviews.lua).
func reviewPieces(r thread.Review) (args []any, err error) {
	about := thread.AuditBody{}.About(r)
	for _, b := range []thread.AuditBody{
		{Agent: r.Agent},
		{Digest: r.Digest, ExecutionID: r.ExecutionID, Generation: r.Generation, InterruptID: r.InterruptID, ReviewID: r.ID},
		{RunID: r.RunID},
		{Tool: about.Tool, Tools: about.Tools},
	} {
		p, err := piece(b)
		if err != nil {
			return nil, err
		}
		args = append(args, p)
	}
	return args, nil
}

// askTries bounds how often drafts are made anew because the thread moved on meanwhile.
const askTries = 100

func sortedIDs(questions map[string]thread.OpenInterrupt) []string {
	return slices.Sorted(maps.Keys(questions))
}

// commitReviewed is a commit that asks questions or adds audit entries: what their reviews
// are is read before, in the round trip that marks the thread.
func (s *Store) commitReviewed(ctx context.Context, l thread.Lease, c thread.Commit, questions map[string]thread.OpenInterrupt, args []any) (r reply, mark string, err error) {
	mark = newMark(l.ThreadID, "")
	keys := s.keys.thread(l.ThreadID)
	for range askTries {
		known, run, err := s.askedBy(ctx, l, c, questions, mark)
		if err != nil {
			return r, mark, err
		}
		drafts, err := draftArgs(ctx, questions, c.Reviews, known.reviews, known.byRun, known.now)
		if err != nil {
			return r, mark, err
		}
		all := slices.Concat(args, drafts, []any{len(c.Audit)})
		for _, b := range c.Audit {
			if b.RunID == "" {
				b.RunID = l.RunID
			}
			if b.ExecutionID == "" {
				b.ExecutionID = run.ExecutionID
			}
			e, err := newEntry(ctx, b)
			if err != nil {
				return r, mark, err
			}
			all = append(append(all, orDefault(run.Project)), e.args()...)
		}
		r = s.persist(ctx, func() reply { return s.confirmed(ctx, "commit", keys, all...) })
		if r.err != nil {
			return r, mark, r.err // the outcome is unknown: the mark stays
		}
		if r.list[0] != "MISFIT" {
			if r.list[0] != "OK" && r.list[0] != "REPEAT" {
				s.unmark(ctx, l.ThreadID, mark)
			}
			return r, mark, nil
		}
	}
	s.unmark(ctx, l.ThreadID, mark)
	return r, mark, fmt.Errorf("thread %s: %w", l.ThreadID, thread.ErrConflict)
}

// askedBy marks the thread and reads what a commit has to know of reviews, and, for its audit entries, of its run.
func (s *Store) askedBy(ctx context.Context, l thread.Lease, c thread.Commit, questions map[string]thread.OpenInterrupt, mark string) (known asked, run thread.Run, err error) {
	calls := []*call{s.marking(l.ThreadID, mark)}
	var reviews, runs *call
	if len(questions) > 0 {
		reviews = s.reading(l.ThreadID, sortedIDs(questions)...)
		calls = append(calls, reviews)
	}
	if len(c.Audit) > 0 {
		runs = &call{script: "run", keys: s.keys.thread(l.ThreadID), args: []any{"id", l.RunID}}
		calls = append(calls, runs)
	}
	r := s.persist(ctx, func() reply { return reply{err: s.evalAll(ctx, calls...)} })
	if r.err != nil {
		return known, run, r.err
	}
	if reviews != nil {
		if known, _, err = takeAsked(l.ThreadID, &reviews.reply); err != nil && !isNotFound(err) { // the commit finds itself fenced
			return known, run, err
		}
	}
	if runs != nil && runs.reply.status() == "OK" && runs.reply.more() {
		run, err = takeRun(l.ThreadID, &runs.reply)
		return known, run, err
	}
	return known, run, nil
}

// misfitError says that drafts were made for another generation than this one, or for
// reviews that have changed since.
type misfitError struct{ generation int64 }

func (e *misfitError) Error() string {
	return fmt.Sprintf("redis: questions are asked in generation %d", e.generation)
}
