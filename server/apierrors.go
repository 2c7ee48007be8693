package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
)

// apiPath is where the routes are whose failures have the form of package apierror.
const apiPath = "/api/v1/"

// failure is an error as the route that a request went to tells it.
func failure(r *http.Request, err error) reply {
	if !strings.HasPrefix(r.URL.Path, apiPath) {
		return replyOf(err)
	}
	e := apiError(err)
	return reply{status: e.Status, json: json.RawMessage(e.Body()), header: e.Header}
}

// apiError is an error in the form of package apierror.
func apiError(err error) *apierror.Error {
	var (
		text       *textError
		validation *validationError
		routing    *echo.HTTPError
	)
	switch {
	case errors.Is(err, errRoute):
		return apierror.New(http.StatusNotFound, "ROUTE_NOT_FOUND", "There is no such route.")
	case errors.As(err, &text):
		return apierror.New(text.status, textCode(text), text.text)
	case errors.As(err, &validation):
		e := apierror.New(http.StatusBadRequest, apierror.CodeInvalid, validation.issues[0].Message)
		for _, i := range validation.issues {
			path := make([]string, len(i.Path))
			for n, p := range i.Path {
				path[n] = fmt.Sprint(p)
			}
			e.Fields = append(e.Fields, apierror.Field{Description: i.Message, Field: strings.Join(path, ".")})
			e.Parameters = append(e.Parameters, strings.Join(path, "."))
		}
		return e
	case errors.As(err, &routing):
		if routing.Code == http.StatusNotFound || routing.Code == http.StatusMethodNotAllowed {
			return apierror.New(http.StatusNotFound, "ROUTE_NOT_FOUND", "There is no such route.")
		}
		return apierror.New(routing.Code, apierror.CodeInvalid, routingText(routing))
	}
	return apierror.Of(err)
}

// textCode names the failures of reading a request.
func textCode(e *textError) string {
	switch e {
	case errMalformed:
		return "MALFORMED_JSON"
	case errTooLarge:
		return "BODY_TOO_LARGE"
	case errTooSlow:
		return "BODY_TOO_SLOW"
	case errShuttingDown:
		return apierror.CodeUnavailable
	}
	return strings.ToUpper(strings.ReplaceAll(http.StatusText(e.status), " ", "_"))
}
