package executions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/thread"
)

// execution is an execution as callers see it; what doesn't apply is absent.
type execution struct {
	ID             string          `json:"execution_id"`
	Project        string          `json:"project_id"`
	Workspace      string          `json:"workspace_id"`
	Session        string          `json:"session_id,omitempty"`
	Agent          string          `json:"agent"`
	Status         string          `json:"status"`
	Input          json.RawMessage `json:"input,omitempty"`
	Response       string          `json:"response,omitempty"`
	CreatedAt      string          `json:"created_at"`
	UpdatedAt      string          `json:"updated_at"`
	CompletedAt    string          `json:"completed_at,omitempty"`
	SuspendReason  string          `json:"suspend_reason,omitempty"`
	SuspendContext json.RawMessage `json:"suspend_context,omitempty"`
	Generation     int64           `json:"suspend_generation,omitempty"`
	SuspendedAt    string          `json:"suspended_at,omitempty"`
	Waiting        *int64          `json:"waiting_seconds,omitempty"`
	// ExpiresAt is null while it is suspended without a deadline.
	ExpiresAt json.RawMessage `json:"expires_at,omitempty"`
	ReviewIDs []string        `json:"review_ids,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorCode string          `json:"error_code,omitempty"`
	Invoker   string          `json:"invoker_user_id,omitempty"`
	ThreadID  string          `json:"thread_id"`
	RunIDs    []string        `json:"run_ids"`
	Steps     []step          `json:"steps,omitempty"`
	// Traces are the distributed traces that it has a part in.
	Traces []trace `json:"traces,omitempty"`
}

// trace is a distributed trace, with where to look at it.
type trace struct {
	ID     string   `json:"trace_id"`
	URL    string   `json:"url,omitempty"`
	RunIDs []string `json:"run_ids"`
}

// brief is an execution as lists have it: without response and steps.
func (a *API) brief(e thread.Execution) execution {
	out := execution{
		ID: e.ID, Project: e.Project, Workspace: e.Workspace, Session: e.SessionID, Agent: e.Agent, Status: string(e.Status), Input: e.Input,
		CreatedAt: stamp(e.CreatedAt), UpdatedAt: stamp(e.UpdatedAt), CompletedAt: stamp(e.CompletedAt), Generation: e.Generation,
		Error: e.Error, ErrorCode: e.ErrorCode, Invoker: e.Principal, ThreadID: e.ThreadID,
	}
	for _, r := range e.Runs {
		out.RunIDs = append(out.RunIDs, r.ID)
	}
	for _, t := range e.Traces() {
		shown := trace{ID: t.ID, RunIDs: t.Runs}
		if a.o.TraceLink != nil {
			shown.URL = a.o.TraceLink(t.ID)
		}
		out.Traces = append(out.Traces, shown)
	}
	if e.Status != thread.ExecutionSuspended {
		return out
	}
	out.SuspendReason, out.SuspendContext, out.SuspendedAt, out.ReviewIDs = e.SuspendReason, e.SuspendContext, stamp(e.SuspendedAt), reviewIDs(e)
	seconds := max(0, int64(a.o.Service.Now().Sub(e.SuspendedAt)/time.Second))
	out.Waiting, out.ExpiresAt = &seconds, json.RawMessage("null")
	if !e.ExpiresAt.IsZero() {
		out.ExpiresAt = json.RawMessage(`"` + stamp(e.ExpiresAt) + `"`)
	}
	return out
}

// whole is an execution with all there is to it.
func (a *API) whole(ctx context.Context, e thread.Execution) (execution, error) {
	out := a.brief(e)
	var err error
	if out.Response, err = a.response(ctx, e); err != nil {
		return out, err
	}
	steps, err := a.o.Service.Steps(ctx, e)
	if err != nil {
		return out, err
	}
	out.Steps = stepsOf(steps)
	return out, nil
}

// reviewIDs are those of the reviews that wait.
func reviewIDs(e thread.Execution) []string {
	var ids []string
	for _, r := range e.Open() {
		ids = append(ids, r.ID)
	}
	return ids
}

// stamp is a time as callers see it; "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
