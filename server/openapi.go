package server

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.json
var openAPIDocument []byte

// openAPI is GET /openapi.json.
func (s *Server) openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, openAPIDocument)
}

// docs is GET /docs: the OpenAPI document as a page that needs no network.
func (s *Server) docs(c echo.Context) error {
	asPage(c.Response().Header())
	page, err := docsPage(openAPIDocument)
	if err != nil {
		return err
	}
	return c.HTML(http.StatusOK, page)
}
