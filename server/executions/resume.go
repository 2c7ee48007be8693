package executions

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

// The fields of a decision.
const (
	decisionField   = "decision"
	notesField      = "reviewer_notes"
	generationField = "suspend_generation"
	nestedField     = "human_review"
)

// decision reads a decision (spec/executions.md 5).
func decision(raw json.RawMessage) (d thread.ExecutionDecision, err error) {
	if err := apierror.Unambiguous(raw); err != nil {
		return d, err
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) == nil {
		if _, nested := keys[nestedField]; nested {
			return d, apierror.BadField(apierror.CodeUnknown, nestedField,
				`The decision must not be nested in human_review: send the flat body {"decision": "…", "reviewer_notes": "…"}.`)
		}
	}
	b, err := newBody(raw, decisionField, notesField, generationField)
	if err != nil {
		return d, err
	}
	if !b.has(decisionField) {
		return d, apierror.BadField(apierror.CodeMissing, decisionField, "The field decision is missing.")
	}
	if d.Decision, err = b.text(decisionField); err != nil {
		return d, err
	}
	if strings.TrimSpace(d.Decision) == "" {
		return d, apierror.BadField(apierror.CodeInvalid, decisionField, "The field decision must not be empty.")
	}
	if d.Notes, err = b.text(notesField); err != nil {
		return d, err
	}
	d.Generation, err = b.positive(generationField)
	return d, err
}

// resume is POST …/executions/{execution_id}/resume.
func (a *API) resume(c echo.Context) error {
	workspace, err := ofWorkspace(c)
	if err != nil {
		return err
	}
	e, err := a.execution(c, "update")
	if err != nil {
		return err
	}
	if e.Workspace != workspace {
		return apierror.NotFound("execution", e.ID)
	}
	raw, err := a.o.Body(c)
	if err != nil {
		return err
	}
	d, err := decision(raw)
	if err != nil {
		return err
	}
	d.ExecutionID = e.ID
	a.o.Complete(c, &d.Run)
	d.Run.Headers = nil
	d.IdempotencyKey, d.Run.IdempotencyKey = d.Run.IdempotencyKey, ""
	if e, _, err = a.o.Service.ResumeExecution(c.Request().Context(), d); err != nil {
		return err
	}
	return a.reply(c, http.StatusOK, e)
}
