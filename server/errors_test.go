package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// TestErrorsHaveTheirTexts covers spec/rest-api.md 1.6.
func TestErrorsHaveTheirTexts(t *testing.T) {
	t.Parallel()
	missing := func(kind string) error { return &thread.NotFoundError{Kind: kind, ID: "X"} }
	for name, tt := range map[string]struct {
		err    error
		status int
		text   string
	}{
		"malformed":        {errMalformed, 400, "Malformed JSON in request body"},
		"unknown route":    {echo.ErrNotFound, 404, "404 Not Found"},
		"wrong method":     {echo.ErrMethodNotAllowed, 404, "404 Not Found"},
		"thread":           {missing("thread"), 404, "Thread with ID X not found"},
		"assistant":        {missing("assistant"), 404, "Assistant not found"},
		"version":          {missing("version"), 404, "Assistant version not found"},
		"graph":            {missing("graph"), 404, `Graph "X" not found`},
		"run":              {fmt.Errorf("wrapped: %w", missing("run")), 404, "Run not found"},
		"cron":             {missing("cron"), 404, "Cron not found"},
		"something":        {thread.ErrNotFound, 404, "Not found"},
		"busy":             {thread.ErrBusy, 409, "Thread is busy"},
		"busy run":         {runError(thread.ErrBusy, "a"), 422, "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."},
		"run's assistant":  {runError(missing("assistant"), "a"), 404, `No assistant found for "a". Make sure the assistant ID is for a valid assistant or a valid graph ID.`},
		"no graph":         {&thread.NoGraphError{ThreadID: "X"}, 400, "Thread X has no graph ID"},
		"unknown node":     {&agent.InvalidUpdateError{Message: "no node x"}, 400, "no node x"},
		"no namespace":     {checkNamespace(nil), 400, "Namespace is required"},
		"dotted namespace": {checkNamespace([]string{"a", "b.c"}), 422, "Namespace labels cannot be empty or contain periods. Received: a.b.c"},
		"empty label":      {checkNamespace([]string{"a", ""}), 422, "Namespace labels cannot be empty or contain periods. Received: a."},
		"reserved root":    {checkNamespace([]string{"langgraph"}), 422, `Root label for namespace cannot be "langgraph". Received: langgraph`},
		"unauthorized":     {auth.Unauthorized("who?"), 401, "who?"},
		"forbidden":        {auth.Forbidden("no"), 403, "no"},
		"too large":        {&http.MaxBytesError{Limit: 1}, 413, "Request body too large"},
		"client gone":      {context.Canceled, 499, ""},
		"anything else":    {errors.New("secret detail"), 500, "Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := replyOf(tt.err)
			require.Equal(t, tt.status, got.status)
			require.Nil(t, got.json)
			require.Equal(t, tt.text, got.text)
		})
	}
}

// TestRefusedAnswersHaveCodes covers the table of decisions 8.
func TestRefusedAnswersHaveCodes(t *testing.T) {
	t.Parallel()
	pending := []agent.InterruptInfo{{ID: "i1", Value: json.RawMessage(`"q"`)}}
	at := time.Date(2026, 11, 30, 9, 13, 58, 938_000_000, time.UTC)
	for name, tt := range map[string]struct {
		err    error
		status int
		body   string
	}{
		"nothing pending": {&agent.ResumeError{Code: agent.NothingPending, Message: "m"}, 409, `{"error":"nothing_pending","message":"m","pending":[]}`},
		"nothing pending, as somebody was faster": { // D-32
			&thread.DecidedBeforeError{
				Refusal: &agent.ResumeError{Code: agent.NothingPending, Message: "m"},
				Review:  thread.Review{InterruptID: "i1", Decided: &thread.Outcome{By: "ann", At: at, Decision: "approve", Answer: json.RawMessage(`{"ok":true}`), RunID: "r"}},
			}, 409,
			`{"error":"nothing_pending","message":"m: interrupt i1 was decided by ann (approve) at 2026-11-30T09:13:58.938Z","pending":[],"interrupt_id":"i1","by":"ann","at":"2026-11-30T09:13:58.938Z","decision":{"ok":true},"run_id":"r"}`,
		},
		"nothing pending, as the deadline was faster": {
			&thread.DecidedBeforeError{
				Refusal: &agent.ResumeError{Code: agent.NothingPending, Message: "m"},
				Review:  thread.Review{InterruptID: "i1", Status: thread.ReviewExpired, Decided: &thread.Outcome{At: at}},
			}, 409,
			`{"error":"nothing_pending","message":"m: interrupt i1 expired at 2026-11-30T09:13:58.938Z, before anybody decided","pending":[],"interrupt_id":"i1","by":null,"at":"2026-11-30T09:13:58.938Z","decision":null}`,
		},
		"not pending": {
			&agent.ResumeError{Code: agent.InterruptNotPending, Message: "m", IDs: []string{"i0"}, Pending: pending}, 409,
			`{"error":"interrupt_not_pending","message":"m","interrupt_ids":["i0"],"pending":[{"id":"i1","value":"q"}]}`,
		},
		"ambiguous": {
			&agent.ResumeError{Code: agent.AmbiguousResume, Message: "m", Pending: pending}, 400,
			`{"error":"ambiguous_resume","message":"m","pending":[{"id":"i1","value":"q"}]}`,
		},
		"invalid answer": {
			&agent.ResumeError{Code: agent.InvalidAnswer, Message: "m", Issues: []agent.Issue{{InterruptID: "i1", Path: "/a", Message: "too small"}}}, 422,
			`{"error":"invalid_answer","message":"m","pending":[],"issues":[{"interrupt_id":"i1","path":"/a","message":"too small"}]}`,
		},
		"empty command":   {&agent.ResumeError{Code: agent.EmptyCommand, Message: "m"}, 400, `{"error":"empty_command","message":"m","pending":[]}`},
		"invalid command": {&agent.InvalidCommandError{Problems: []string{"no node x"}}, 422, `{"error":"invalid_command","message":"invalid command: no node x","problems":["no node x"]}`},
		"decided": { // D-32
			&thread.AlreadyDecidedError{InterruptID: "i1", Answer: agent.Answer{By: "ann", At: at, Value: json.RawMessage(`{"ok":true}`), RunID: "r"}}, 409,
			`{"error":"already_decided","message":"interrupt i1 was decided by ann at 2026-11-30T09:13:58.938Z","interrupt_id":"i1","by":"ann","at":"2026-11-30T09:13:58.938Z","decision":{"ok":true},"run_id":"r"}`,
		},
		"field": {
			&thread.InvalidInputError{Path: []string{"schedule"}, Message: "bad"}, 400,
			`{"success":false,"error":{"name":"ValidationError","issues":[{"code":"custom","message":"bad","path":["schedule"]}]}}`,
		},
		"required": {
			&validationError{[]issue{wrongType("string", nil, []any{"assistant_id"})}}, 400,
			`{"success":false,"error":{"name":"ValidationError","issues":[{"code":"invalid_type","expected":"string","received":"undefined","message":"Required","path":["assistant_id"]}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := replyOf(tt.err)
			require.Equal(t, tt.status, got.status)
			require.JSONEq(t, tt.body, string(encode(got.json)))
		})
	}
}
