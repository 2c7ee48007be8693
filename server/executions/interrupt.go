package executions

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
)

// interrupt is POST …/executions/{execution_id}/interrupt.
func (a *API) interrupt(c echo.Context) error {
	e, err := a.execution(c, "update")
	if err != nil {
		return err
	}
	if w := c.QueryParam("workspace_id"); w != "" && w != e.Workspace {
		return apierror.NotFound("execution", e.ID)
	}
	raw, err := a.o.Body(c)
	if err != nil {
		return err
	}
	b, err := newBody(raw, "step_number")
	if err != nil {
		return err
	}
	step, err := b.positive("step_number")
	if err != nil {
		return err
	}
	outcome, e, err := a.o.Service.InterruptExecution(c.Request().Context(), e.ID, int(step))
	if err != nil {
		return err
	}
	return a.write(c, http.StatusOK, struct {
		Outcome     string `json:"outcome"`
		ExecutionID string `json:"execution_id"`
		Status      string `json:"status"`
		Step        int64  `json:"step_number,omitempty"`
	}{string(outcome), e.ID, string(e.Status), step})
}
