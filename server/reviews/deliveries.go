package reviews

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// deliveryJSON is a message that waits to be sent, or is tried no more.
type deliveryJSON struct {
	ID          string  `json:"delivery_id"`
	ThreadID    string  `json:"thread_id"`
	RunID       *string `json:"run_id"`
	InterruptID *string `json:"interrupt_id"`
	Event       *string `json:"event"` // null for a run that ended
	URL         string  `json:"url"`   // without user and query, which may hold secrets
	Attempts    int     `json:"attempts"`
	LastError   *string `json:"last_error"`
	Dead        bool    `json:"dead"`
	DeadSince   *string `json:"dead_since"`
	Due         *string `json:"due"`
}

func delivery(d thread.Delivery) deliveryJSON {
	out := deliveryJSON{
		ID: d.ID, ThreadID: d.ThreadID, RunID: nullable(d.RunID), InterruptID: nullable(d.InterruptID), Event: nullable(d.Event),
		URL: d.Shown(), Attempts: d.Attempt, LastError: nullable(strings.ReplaceAll(d.LastError, d.URL, d.Shown())), Dead: d.Dead,
	}
	if d.Dead {
		out.DeadSince = stamp(d.Due)
	} else {
		out.Due = stamp(d.Due)
	}
	return out
}

// deliveries is GET …/deliveries?dead=1: the dead letters, the last that died first.
func (a *API) deliveries(c echo.Context) error {
	if err := allWorkspaces(c); err != nil {
		return err
	}
	switch c.QueryParam("dead") {
	case "1", "true":
	default:
		return apierror.BadField(apierror.CodeMissing, "dead", "Only dead letters are listed: say dead=1.")
	}
	n, err := limit(c)
	if err != nil {
		return err
	}
	found, err := a.o.Service.DeadLetters(c.Request().Context(), c.Param("project_id"), n)
	if err != nil {
		return err
	}
	list := make([]deliveryJSON, len(found))
	for i, d := range found {
		list[i] = delivery(d)
	}
	return writeJSON(c, http.StatusOK, map[string]any{"deliveries": list})
}

// retry is POST …/deliveries/{delivery_id}/retry.
func (a *API) retry(c echo.Context) error {
	if err := allWorkspaces(c); err != nil {
		return err
	}
	f, err := a.fields(c)
	if err != nil {
		return err
	}
	if f.only(); len(f.faults) > 0 {
		return f.err()
	}
	d, err := a.o.Service.RetryDeadLetter(c.Request().Context(), c.Param("project_id"), c.Param("delivery_id"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, delivery(d))
}

// allWorkspaces refuses who is bound to one: announcements are the project's.
func allWorkspaces(c echo.Context) error {
	if u := auth.UserFrom(c.Request().Context()); u != nil && u.Workspace != "" {
		return &auth.Error{
			Status: http.StatusForbidden, Code: "bound_to_workspace", Message: "Deliveries are the project's; you are bound to the workspace " + u.Workspace,
		}
	}
	return nil
}
