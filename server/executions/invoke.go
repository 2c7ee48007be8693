package executions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

// sessionHeader names the conversation of an invocation; replies have it, too.
const sessionHeader = "X-Session-ID"

// invocation reads what is to be invoked from a request.
func (a *API) invocation(c echo.Context, workspace string) (thread.Invocation, error) {
	i := thread.Invocation{Project: c.Param("project_id"), Workspace: workspace, Session: c.Request().Header.Get(sessionHeader)}
	own, err := a.workspace(c, workspace)
	if err != nil {
		return i, err
	}
	raw, err := a.o.Body(c)
	if err != nil {
		return i, err
	}
	b, err := newBody(raw, "message", "input", "agent", thread.SealedContextField)
	if err != nil {
		return i, err
	}
	if i.Agent, err = b.text("agent"); err != nil {
		return i, err
	}
	if i.Agent == "" {
		i.Agent = own
	}
	if i.Agent == "" {
		return i, apierror.BadField(apierror.CodeMissing, "agent", "The workspace has no agent of its own: name one.")
	}
	if i.Input, err = b.input(); err != nil {
		return i, err
	}
	if i.SealedContext, err = b.texts(thread.SealedContextField); err != nil {
		return i, err
	}
	a.o.Complete(c, &i.Run)
	i.Run.Headers = nil // only custom headers reach the agent
	i.IdempotencyKey, i.Run.IdempotencyKey = i.Run.IdempotencyKey, ""
	if a.o.Hooks != nil {
		if i.Session == "" {
			i.Session = uuid.NewString()
		}
		i.Run.AssistantID, i.Run.Input, i.Run.HasInput, i.Run.CreateThread = i.Agent, i.Input, true, true
		id, err := a.o.Service.SessionThread(c.Request().Context(), i.Project, i.Session)
		if err != nil {
			return i, err
		}
		if err := a.o.Hooks.Begin(c, &i.Run, id); err != nil {
			return i, err
		}
	}
	return i, nil
}

// begin begins an execution.
func (a *API) begin(c echo.Context, workspace string) (thread.Execution, bool, error) {
	i, err := a.invocation(c, workspace)
	if err != nil {
		return thread.Execution{}, false, err
	}
	note, err := a.o.Room(c, &i.Run)
	if err != nil {
		return thread.Execution{}, false, err
	}
	e, repeat, err := a.o.Service.Invoke(c.Request().Context(), i)
	if err == nil && !repeat {
		note(e.ThreadID, e.ID)
	} else {
		note("", "")
	}
	var invalid *thread.InvalidInputError
	if errors.As(err, &invalid) && len(invalid.Path) == 1 && invalid.Path[0] == thread.SessionKey {
		err = apierror.BadField(apierror.CodeInvalid, sessionHeader, strings.ToUpper(invalid.Message[:1])+invalid.Message[1:]+".")
	}
	if err == nil && e.SessionID != "" {
		c.Response().Header().Set(sessionHeader, e.SessionID)
	}
	return e, repeat, err
}

// create is POST …/executions: invoke without waiting.
func (a *API) create(c echo.Context) error {
	workspace, err := ofWorkspace(c)
	if err != nil {
		return err
	}
	e, _, err := a.begin(c, workspace)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, "/api/v1/projects/"+e.Project+"/executions/"+e.ID)
	return a.reply(c, http.StatusAccepted, e)
}

// result is the reply of an invocation.
type result struct {
	Success        bool            `json:"success"`
	Response       string          `json:"response"`
	ExecutionID    string          `json:"execution_id"`
	SessionID      string          `json:"session_id,omitempty"`
	Status         string          `json:"status"`
	SuspendReason  string          `json:"suspend_reason,omitempty"`
	SuspendContext json.RawMessage `json:"suspend_context,omitempty"`
	Generation     int64           `json:"suspend_generation,omitempty"`
	ReviewIDs      []string        `json:"review_ids,omitempty"`
	Error          string          `json:"error,omitempty"`
	ErrorCode      string          `json:"error_code,omitempty"`
}

// invoke is POST …/workspaces/{workspace_id}/invoke: it waits for the end or a suspension.
func (a *API) invoke(c echo.Context) error {
	e, _, err := a.begin(c, c.Param("workspace_id"))
	if err != nil {
		return err
	}
	ctx, release, err := a.o.Lasting(c.Request().Context())
	if err != nil {
		return err
	}
	defer release()
	return a.wait(c, func() (any, error) {
		e, err := a.o.Service.Await(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		return a.result(ctx, e)
	})
}

// result tells what an invocation came to.
func (a *API) result(ctx context.Context, e thread.Execution) (result, error) {
	r := result{
		Success: e.Status != thread.ExecutionError, ExecutionID: e.ID, SessionID: e.SessionID, Status: string(e.Status),
		Error: e.Error, ErrorCode: e.ErrorCode,
	}
	if e.Status == thread.ExecutionSuspended {
		r.SuspendReason, r.SuspendContext, r.Generation, r.ReviewIDs = e.SuspendReason, e.SuspendContext, e.Generation, reviewIDs(e)
	}
	var err error
	r.Response, err = a.response(ctx, e)
	return r, err
}

// response is what the execution has said; "" where its thread is gone.
func (a *API) response(ctx context.Context, e thread.Execution) (string, error) {
	text, err := a.o.Service.Response(ctx, e)
	var none *thread.NoGraphError
	if errors.Is(err, thread.ErrNotFound) || errors.As(err, &none) {
		return "", nil
	}
	return text, err
}

const (
	// keepAlive is the time between the line feeds that keep a waiting connection alive.
	keepAlive = 5 * time.Second
	// writeTimeout bounds one write of a waiting reply.
	writeTimeout = 30 * time.Second
)

// wait answers with what do returns. While that takes long, line feeds keep the connection alive: white space
// before a JSON document is legal.
func (a *API) wait(c echo.Context, do func() (any, error)) error {
	type outcome struct {
		value any
		err   error
	}
	done := make(chan outcome, 1)
	go func() { // it ends with the request's context
		v, err := do()
		done <- outcome{v, err}
	}()
	w := a.o.Writer(c)
	rc := http.NewResponseController(w)
	send := func(b []byte) error {
		if err := rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		return rc.Flush()
	}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	begun := false
	for {
		select {
		case o := <-done:
			if !begun {
				if o.err != nil {
					return o.err
				}
				return a.write(c, http.StatusOK, o.value)
			}
			b, err := encode(o.value)
			if o.err != nil || err != nil {
				return errors.Join(o.err, err) // cuts the reply, which can't be completed
			}
			if err := send(b); err != nil && c.Request().Context().Err() == nil {
				return err
			}
			return nil
		case <-tick.C:
			if !begun {
				c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
				w.WriteHeader(http.StatusOK)
				begun = true
			}
			if err := send([]byte{'\n'}); err != nil {
				<-done // its context ends with the connection
				return nil
			}
		}
	}
}
