package reviews

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/thread"
)

// reviewJSON is a review on the wire (decisions 20). Nothing in it is ever cut off (D-105).
type reviewJSON struct {
	ID               string          `json:"review_id"`
	Project          string          `json:"project_id"`
	Workspace        string          `json:"workspace_id"`
	ThreadID         string          `json:"thread_id"`
	RunID            *string         `json:"run_id"`
	ExecutionID      *string         `json:"execution_id"`
	InterruptID      string          `json:"interrupt_id"`
	Namespace        string          `json:"namespace"`
	Agent            string          `json:"agent"`
	Tool             *string         `json:"tool"`
	Tools            []string        `json:"tools"`
	Kind             string          `json:"kind"`
	Message          *string         `json:"message"` // that began the execution
	SuspendReason    string          `json:"suspend_reason"`
	SuspendContext   json.RawMessage `json:"suspend_context"`
	Actions          []action        `json:"actions"`
	Payload          json.RawMessage `json:"payload"`
	ResponseSchema   json.RawMessage `json:"response_schema"`
	AllowedDecisions []string        `json:"allowed_decisions"`
	Digest           string          `json:"digest"`
	Generation       int64           `json:"generation"`
	Status           string          `json:"status"`
	Requester        *string         `json:"requester"`
	Assignee         *string         `json:"assignee"`
	ClaimedUntil     *string         `json:"claimed_until"`
	Role             *string         `json:"role"`
	Escalations      int             `json:"escalations"`
	CreatedAt        *string         `json:"created_at"`
	UpdatedAt        *string         `json:"updated_at"`
	ExpiresAt        *string         `json:"expires_at"`
	OnExpiry         *string         `json:"on_expiry"` // reject, respond or escalate
	WaitingSeconds   int64           `json:"waiting_seconds"`
	MayDecide        bool            `json:"may_decide"`
	Refusal          *string         `json:"refusal"` // why the caller may not decide
	Decided          *decidedJSON    `json:"decided"`
	Comments         []comment       `json:"comments"`
	Link             *string         `json:"link"`
	// Input is the whole input that began the execution; only of a single review.
	Input json.RawMessage `json:"input,omitempty"`
}

// decidedJSON is how a review ended. By is null for who didn't say who they are, and for deadlines.
type decidedJSON struct {
	By       *string         `json:"by"`
	At       *string         `json:"at"`
	Decision *string         `json:"decision"`
	Notes    *string         `json:"notes"`
	Answer   json.RawMessage `json:"answer"`
	RunID    *string         `json:"run_id"` // that goes on with it
}

type comment struct {
	By   string  `json:"by"`
	At   *string `json:"at"`
	Text string  `json:"text"`
}

// action is a tool call under review, with all of its arguments.
type action struct {
	Name        string          `json:"name"`
	Args        json.RawMessage `json:"args"`
	Description string          `json:"description"`
	CallID      *string         `json:"tool_call_id"`
	Allowed     []string        `json:"allowed_decisions"`
}

// encoder writes the reviews of one reply: all as of one time, and each execution's first run read once.
type encoder struct {
	svc   *thread.Service
	now   time.Time
	first map[string]thread.Run
}

func (a *API) encoder(echo.Context) *encoder {
	return &encoder{svc: a.o.Service, now: a.o.Service.Now(), first: map[string]thread.Run{}}
}

// review is a review on the wire.
func (e *encoder) review(ctx context.Context, r thread.Review, whole bool) (reviewJSON, error) {
	reason, suspended := e.svc.SuspendContext(r)
	first, err := e.firstRun(ctx, r)
	if err != nil {
		return reviewJSON{}, err
	}
	out := reviewJSON{
		ID: r.ID, Project: r.Project, Workspace: r.Workspace, ThreadID: r.ThreadID, RunID: nullable(r.RunID),
		ExecutionID: nullable(r.ExecutionID), InterruptID: r.InterruptID, Namespace: r.NS, Agent: r.Agent,
		Tool: nullable(r.Tool), Tools: orEmpty(r.Tools), Kind: r.Kind, Message: messageOf(first.Kwargs.Input),
		SuspendReason: reason, SuspendContext: suspended, Actions: actionsOf(r.Kind, suspended),
		Payload: orNull(r.Payload), ResponseSchema: orNull(r.ResponseSchema), AllowedDecisions: orEmpty(r.AllowedDecisions),
		Digest: r.Digest, Generation: r.Generation, Status: string(r.Status), Requester: nullable(r.Requester),
		Assignee: nullable(r.Assignee), ClaimedUntil: stamp(r.ClaimedUntil), Role: nullable(r.Role), Escalations: r.Escalations,
		CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt), ExpiresAt: stamp(r.ExpiresAt),
		WaitingSeconds: waited(r, e.now), Decided: outcome(r), Comments: []comment{}, Link: nullable(e.svc.ReviewLink(r.ID)),
	}
	if r.Expiry != nil {
		out.OnExpiry = nullable(r.Expiry.Action)
	}
	for _, c := range r.Comments {
		out.Comments = append(out.Comments, comment{c.By, stamp(c.At), c.Text})
	}
	if out.MayDecide = true; whole {
		out.Input = first.Kwargs.Input
	}
	if err := e.svc.MayDecide(ctx, r); err != nil {
		var refused *thread.MayNotDecideError
		if !errors.As(err, &refused) {
			return out, err
		}
		out.MayDecide, out.Refusal = false, nullable(messageIn(refused.Err))
	}
	return out, nil
}

// firstRun is the run that began the review's execution; the zero value when it is gone.
func (e *encoder) firstRun(ctx context.Context, r thread.Review) (thread.Run, error) {
	id := r.ExecutionID
	if id == "" {
		return thread.Run{}, nil
	}
	if run, ok := e.first[id]; ok {
		return run, nil
	}
	run, err := e.svc.GetRun(ctx, r.ThreadID, id)
	if errors.Is(err, thread.ErrNotFound) {
		run, err = thread.Run{}, nil
	}
	if err == nil {
		e.first[id] = run
	}
	return run, err
}

// waited is how long a review waits, or waited, in whole seconds by the store's clock.
func waited(r thread.Review, now time.Time) int64 {
	until := now
	switch {
	case r.Decided != nil:
		until = r.Decided.At
	case !r.Status.Open():
		until = r.UpdatedAt
	}
	return int64(max(0, until.Sub(r.CreatedAt)) / time.Second)
}

func outcome(r thread.Review) *decidedJSON {
	d := r.Decided
	if d == nil {
		return nil
	}
	return &decidedJSON{nullable(d.By), stamp(d.At), nullable(d.Decision), nullable(d.Notes), orNull(d.Answer), nullable(d.RunID)}
}

// actionsOf reads the tool calls of a suspension's context.
func actionsOf(kind string, suspended json.RawMessage) []action {
	list := []action{}
	if kind != thread.KindToolCalls {
		return list
	}
	var all struct {
		Actions []action `json:"action_requests"`
		Configs []struct {
			Allowed []string `json:"allowed_decisions"`
		} `json:"review_configs"`
	}
	if json.Unmarshal(suspended, &all) != nil { // package thread has made it
		return list
	}
	for i, x := range all.Actions {
		x.Allowed = []string{}
		if i < len(all.Configs) {
			x.Allowed = orEmpty(all.Configs[i].Allowed)
		}
		list = append(list, x)
	}
	return list
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
