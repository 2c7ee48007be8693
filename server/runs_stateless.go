package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/thread"
)

// createStateless is POST /runs.
func (s *Server) createStateless(c echo.Context) error {
	run, err := s.startRun(c, "")
	if err != nil {
		return err
	}
	locate(c, run)
	return writeJSON(c, http.StatusOK, runJSON(run))
}

// batchRuns is POST /runs/batch: all bodies are read before the first run starts.
func (s *Server) batchRuns(c echo.Context) error {
	raw, err := s.readBody(c)
	if err != nil {
		return err
	}
	var bodies []json.RawMessage
	if kindOf(raw) != "array" || json.Unmarshal(raw, &bodies) != nil {
		return &validationError{[]issue{wrongType("array", raw, []any{})}}
	}
	if len(bodies) == 0 {
		return &validationError{[]issue{{Code: "too_small", Message: "Array must contain at least 1 element(s)", Path: []any{}}}}
	}
	if most := s.limits.Page; len(bodies) > most {
		return &validationError{[]issue{{Code: "too_big", Message: fmt.Sprintf("Array must contain at most %d element(s)", most), Path: []any{}}}}
	}
	requests := make([]thread.StartRun, len(bodies))
	var issues []issue
	for i, body := range bodies {
		f, err := objectOf(body, i)
		if err != nil {
			return err
		}
		snakeCase(f)
		f.require("assistant_id")
		if requests[i], err = runFields(f); err != nil {
			issues = append(issues, f.issues...)
			continue
		}
		if _, err := s.runAssistant(c, requests[i].AssistantID); err != nil {
			return err
		}
	}
	if len(issues) > 0 {
		return &validationError{issues}
	}
	out := make([]json.RawMessage, len(requests))
	for i, r := range requests {
		started, err := s.admit(c, "", r)
		if err != nil {
			return err
		}
		out[i] = runJSON(started.Run)
	}
	return writeJSON(c, http.StatusOK, list(out))
}
