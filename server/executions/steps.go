package executions

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

// step is a call of a model or a tool as callers see it.
type step struct {
	Number       int    `json:"step_number"`
	RunID        string `json:"run_id"`
	Kind         string `json:"type"` // model or tool
	Name         string `json:"name"`
	CallID       string `json:"call_id,omitempty"`
	Namespace    string `json:"namespace,omitempty"`
	Status       string `json:"status"`
	StartedAt    string `json:"started_at"`
	EndedAt      string `json:"ended_at,omitempty"`
	DurationMS   *int64 `json:"duration_ms,omitempty"`
	FirstTokenMS *int64 `json:"time_to_first_token_ms,omitempty"`
	Tokens       *usage `json:"tokens,omitempty"`
	Error        string `json:"error,omitempty"`
}

// usage counts tokens.
type usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Total  int `json:"total"`
}

func usageOf(u *message.Usage) *usage {
	if u == nil {
		return nil
	}
	return &usage{u.InputTokens, u.OutputTokens, u.TotalTokens}
}

func stepsOf(list []thread.Step) []step {
	out := make([]step, len(list))
	for i, s := range list {
		out[i] = stepOf(s)
	}
	return out
}

func stepOf(s thread.Step) step {
	out := step{
		Number: s.Number, RunID: s.RunID, Kind: s.Kind, Name: s.Name, CallID: s.CallID, Namespace: s.Namespace, Status: s.Status,
		StartedAt: stamp(s.StartedAt), EndedAt: stamp(s.EndedAt), Tokens: usageOf(s.Usage), Error: s.Error,
	}
	if !s.EndedAt.IsZero() {
		out.DurationMS = millis(s.Duration())
	}
	if !s.FirstTokenAt.IsZero() {
		out.FirstTokenMS = millis(s.FirstTokenAt.Sub(s.StartedAt))
	}
	return out
}

func millis(d time.Duration) *int64 {
	ms := d.Milliseconds()
	return &ms
}

// run is a run of a session as callers see it.
type run struct {
	ID           string `json:"run_id"`
	ExecutionID  string `json:"execution_id"`
	Agent        string `json:"agent"`
	Status       string `json:"status"` // of the run: pending, running, success, error, interrupted, timeout
	Suspended    bool   `json:"suspended"`
	CreatedAt    string `json:"created_at"`
	StartedAt    string `json:"started_at,omitempty"`
	EndedAt      string `json:"ended_at,omitempty"`
	DurationMS   *int64 `json:"duration_ms,omitempty"`
	FirstEventMS *int64 `json:"time_to_first_event_ms,omitempty"`
	Invoker      string `json:"invoker_user_id,omitempty"`
	Tokens       usage  `json:"tokens"`
	Slowest      *step  `json:"slowest_step,omitempty"`
	Steps        []step `json:"steps"`
}

const defaultRuns = 50

// sessionRuns is GET …/sessions/{session_id}/runs.
func (a *API) sessionRuns(c echo.Context) error {
	project, session, limit := c.Param("project_id"), c.Param("session_id"), min(defaultRuns, a.o.Page)
	if v := c.QueryParam("limit"); v != "" {
		var err error
		if limit, err = strconv.Atoi(v); err != nil || limit < 1 || limit > a.o.Page {
			return apierror.BadField(apierror.CodeInvalid, "limit", "The limit must be a whole number from 1 to "+strconv.Itoa(a.o.Page)+".")
		}
	}
	id, err := a.o.Service.SessionThread(c.Request().Context(), project, session)
	var none *thread.InvalidInputError
	if errors.As(err, &none) {
		return apierror.NotFound("session", session)
	}
	if err != nil {
		return err
	}
	if err := a.may(c, "read", id, apierror.NotFound("session", session)); err != nil {
		return err
	}
	reports, err := a.o.Service.SessionRuns(c.Request().Context(), project, session, limit)
	if err != nil {
		return err
	}
	out := struct {
		Session  string `json:"session_id"`
		Project  string `json:"project_id"`
		ThreadID string `json:"thread_id"`
		Runs     []run  `json:"runs"`
	}{session, project, id, []run{}}
	for _, r := range reports {
		if !sees(c, project, r.Run.Workspace) {
			return apierror.NotFound("session", session)
		}
		out.Runs = append(out.Runs, runOf(r))
	}
	return a.write(c, http.StatusOK, out)
}

func runOf(r thread.RunReport) run {
	out := run{
		ID: r.Run.ID, ExecutionID: r.Run.ExecutionID, Agent: r.Run.GraphID, Status: string(r.Run.Status), Suspended: r.Run.Suspended,
		CreatedAt: stamp(r.Run.CreatedAt), StartedAt: stamp(r.Run.StartedAt), EndedAt: stamp(r.Run.EndedAt), Invoker: r.Run.Principal,
		Tokens: *usageOf(&r.Usage), Steps: stepsOf(r.Steps),
	}
	if !r.Run.EndedAt.IsZero() {
		out.DurationMS = millis(r.Run.EndedAt.Sub(r.Run.CreatedAt))
	}
	if r.FirstEvent > 0 {
		out.FirstEventMS = millis(r.FirstEvent)
	}
	if r.Slowest != nil {
		slowest := stepOf(*r.Slowest)
		out.Slowest = &slowest
	}
	return out
}
