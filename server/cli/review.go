package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// review is a review as the API shows it (decisions 20); raw is all of it.
type review struct {
	ID             string          `json:"review_id"`
	ExecutionID    string          `json:"execution_id"`
	ThreadID       string          `json:"thread_id"`
	Agent          string          `json:"agent"`
	Tool           string          `json:"tool"`
	Kind           string          `json:"kind"`
	Status         string          `json:"status"`
	Message        string          `json:"message"`
	SuspendReason  string          `json:"suspend_reason"`
	SuspendContext json.RawMessage `json:"suspend_context"`
	Payload        json.RawMessage `json:"payload"`
	Schema         json.RawMessage `json:"response_schema"`
	Actions        []action        `json:"actions"`
	Allowed        []string        `json:"allowed_decisions"`
	Generation     int64           `json:"generation"`
	Requester      string          `json:"requester"`
	Assignee       string          `json:"assignee"`
	Role           string          `json:"role"` // that it was escalated to
	CreatedAt      string          `json:"created_at"`
	ExpiresAt      string          `json:"expires_at"`
	Waiting        int64           `json:"waiting_seconds"`
	Decided        *struct {
		By       string `json:"by"`
		At       string `json:"at"`
		Decision string `json:"decision"`
		Notes    string `json:"notes"`
	} `json:"decided"`
	Comments []struct {
		By   string `json:"by"`
		At   string `json:"at"`
		Text string `json:"text"`
	} `json:"comments"`
	raw json.RawMessage
}

// action is a tool call under review.
type action struct {
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Allowed []string        `json:"allowed_decisions"`
}

// UnmarshalJSON keeps what the command doesn't look into.
func (r *review) UnmarshalJSON(b []byte) error {
	type plain review
	if err := json.Unmarshal(b, (*plain)(r)); err != nil {
		return err
	}
	r.raw = append(json.RawMessage(nil), b...)
	return nil
}

func (c *client) review(ctx context.Context, id string) (r *review, err error) {
	err = c.call(ctx, http.MethodGet, c.project("reviews", id), nil, nil, &r)
	return r, err
}

func (c *client) decide(ctx context.Context, id string, body any) (r *review, err error) {
	err = c.call(ctx, http.MethodPost, c.project("reviews", id, "decide"), nil, body, &r)
	return r, err
}

// reviews lists a page of reviews, and where the next begins.
func (c *client) reviews(ctx context.Context, query url.Values) (list []*review, next string, err error) {
	var page struct {
		Reviews []*review `json:"reviews"`
		Next    string    `json:"next_cursor"`
	}
	err = c.call(ctx, http.MethodGet, c.project("reviews"), query, nil, &page)
	return page.Reviews, page.Next, err
}
