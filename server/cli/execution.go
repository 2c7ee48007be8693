package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// execution is an execution as the API shows it (spec/executions.md 4); raw is all of it.
type execution struct {
	ID             string          `json:"execution_id"`
	Session        string          `json:"session_id"`
	Status         string          `json:"status"`
	Response       string          `json:"response"`
	SuspendReason  string          `json:"suspend_reason"`
	SuspendContext json.RawMessage `json:"suspend_context"`
	Generation     int64           `json:"suspend_generation"`
	ReviewIDs      []string        `json:"review_ids"`
	Error          string          `json:"error"`
	ErrorCode      string          `json:"error_code"`
	ThreadID       string          `json:"thread_id"`
	RunIDs         []string        `json:"run_ids"`
	raw            json.RawMessage
}

// UnmarshalJSON keeps what the command doesn't look into.
func (e *execution) UnmarshalJSON(b []byte) error {
	type plain execution
	if err := json.Unmarshal(b, (*plain)(e)); err != nil {
		return err
	}
	e.raw = append(json.RawMessage(nil), b...)
	return nil
}

// The statuses that an invocation waits for.
const (
	suspended = "suspended"
	completed = "completed"
	failed    = "error"
)

// settled reports whether nothing happens without a person, or any more.
func (e *execution) settled() bool {
	return e.Status == suspended || e.Status == completed || e.Status == failed
}

// decision is a flat decision (spec/executions.md 5).
type decision struct {
	Decision   string `json:"decision"`
	Notes      string `json:"reviewer_notes,omitempty"`
	Generation int64  `json:"suspend_generation,omitempty"`
}

func (c *client) execution(ctx context.Context, id string) (e *execution, err error) {
	err = c.call(ctx, http.MethodGet, c.project("executions", id), nil, nil, &e)
	return e, err
}

func (c *client) resume(ctx context.Context, id string, d any) (e *execution, err error) {
	err = c.call(ctx, http.MethodPost, c.project("executions", id, "resume"), c.workspace(), d, &e)
	return e, err
}

// suspendedIn finds the suspended execution of a session; nil when there is none.
func (c *client) suspendedIn(ctx context.Context, session string) (*execution, error) {
	var list struct {
		Executions []*execution `json:"executions"`
	}
	query := url.Values{"session_id": {session}, "status": {suspended}, "workspace_id": {c.Workspace}, "limit": {"1"}}
	if err := c.call(ctx, http.MethodGet, c.project("executions"), query, nil, &list); err != nil || len(list.Executions) == 0 {
		return nil, err
	}
	return list.Executions[0], nil
}

func (c *client) workspace() url.Values { return url.Values{"workspace_id": {c.Workspace}} }
