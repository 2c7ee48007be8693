package thread

import (
	"context"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

// Review finds a review by any id that it ever had. Errors: *NotFoundError.
func (s *Service) Review(ctx context.Context, id string) (Review, error) {
	r, err := s.store.GetReview(ctx, id)
	return r, notFound(err, "review", id)
}

// SearchReviews lists reviews: open ones oldest first, others newest first. next is the cursor of what
// follows, "" at the end. Errors: *InvalidInputError for a cursor of another list.
func (s *Service) SearchReviews(ctx context.Context, q ReviewQuery) (list []Review, next string, err error) {
	return s.store.SearchReviews(ctx, q)
}

// ThreadReviews lists a thread's reviews, oldest first, ended ones, too. Errors: *NotFoundError.
func (s *Service) ThreadReviews(ctx context.Context, threadID string) ([]Review, error) {
	list, err := s.store.ThreadReviews(ctx, threadID)
	return list, notFound(err, "thread", threadID)
}

// ReviewStore gives access to what is stored of reviews, audit, keys and executions.
func (s *Service) ReviewStore() ReviewStore { return s.store }

// SuspendContext is what a reviewer is shown of a review: why the run waits, and the context, an object
// with allowed_decisions where a flat decision has a choice (spec/executions.md 3).
func (s *Service) SuspendContext(r Review) (reason string, suspended json.RawMessage) {
	return suspendContext(r)
}

// Shown is SuspendContext of a question that was just asked.
func Shown(q agent.InterruptInfo) (reason string, suspended json.RawMessage) {
	return suspendContext(Review{
		Payload: q.Value, ResponseSchema: q.ResponseSchema, ReviewDraft: ReviewDraft{AllowedDecisions: read(q.Value, q.ResponseSchema).allowed},
	})
}

func suspendContext(r Review) (reason string, suspended json.RawMessage) {
	q := read(r.Payload, r.ResponseSchema)
	o := object{}
	switch {
	case q.kind == KindToolCalls:
		actions, configs := q.snake()
		o["action_requests"], o["review_configs"] = actions, configs
		o["allowed_decisions"] = encodeJSON(orEmpty(r.AllowedDecisions))
	case q.object == nil:
		o["value"] = r.Payload
		if len(r.Payload) == 0 {
			o["value"] = json.RawMessage("null")
		}
	default:
		o = merged(q.object)
		if len(r.AllowedDecisions) > 0 {
			o["allowed_decisions"] = encodeJSON(r.AllowedDecisions)
		}
	}
	return q.reason, encodeJSON(o)
}

// snake writes the calls under review as Python's libraries do.
func (s *shown) snake() (actions, configs json.RawMessage) {
	type action struct {
		Name        string          `json:"name"`
		Args        json.RawMessage `json:"args"`
		Description string          `json:"description,omitempty"`
		ID          string          `json:"tool_call_id,omitempty"`
	}
	type config struct {
		Name    string   `json:"action_name"`
		Allowed []string `json:"allowed_decisions"`
	}
	as, cs := make([]action, len(s.calls)), make([]config, len(s.calls))
	for i, c := range s.calls {
		args := c.Args
		if len(args) == 0 {
			args = json.RawMessage("null")
		}
		as[i], cs[i] = action{c.Name, args, c.Description, c.ID}, config{c.Name, orEmpty(c.Decisions)}
	}
	return encodeJSON(as), encodeJSON(cs)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// reviewsChanged tells who lists a project's reviews to look again.
func (s *Service) reviewsChanged(project string) {
	if project == "" {
		project = DefaultProject
	}
	if p, ok := s.publish.(ReviewFollower); ok {
		p.ReviewsChanged(project)
	}
}

// ReviewFollower is implemented by a Publisher that wants to know when reviews of a project were asked,
// changed or answered: a hint to read the list, possibly one too many. It must not block.
type ReviewFollower interface {
	ReviewsChanged(project string)
}

// ReviewsChanged tells that another process changed reviews of a project.
func (u subscriber) ReviewsChanged(project string) {
	u.s.deadlines.hear()
	u.s.reviewsChanged(project)
}

// answered acts on questions that were answered or dropped by a run, or by the end of one.
func (s *Service) answered(run Run) {
	s.reviewsChanged(run.Project)
	if len(s.opts.Notify) > 0 {
		s.outbox.wake()
	}
}

// dropped acts on questions of a thread that were dropped by something else than a run.
func (s *Service) dropped(ctx context.Context, threadID string) {
	newest, err := s.store.NewestRun(ctx, threadID)
	if err != nil {
		return // it's a hint
	}
	s.answered(newest)
}
