package executions

import (
	"bytes"
	"encoding/json"

	"github.com/labstack/echo/v4"
)

// encode is a value as JSON, as people would write it.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// write answers with a value.
func (a *API) write(c echo.Context, status int, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return c.Blob(status, echo.MIMEApplicationJSON, b)
}
