package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// readBody reads the whole body (a client that leaves is noticed only once its
// body was consumed) and returns it as JSON in one line: what is spliced into
// frames later must not break a line. An empty body is {}. The content type
// does not matter (spec/rest-api.md 1.2).
func (s *Server) readBody(c echo.Context) (json.RawMessage, error) {
	r := c.Request()
	// Not every connection has deadlines.
	rc := http.NewResponseController(c.Response().Writer)
	timed := r.Body != http.NoBody && rc.SetReadDeadline(time.Now().Add(s.limits.BodyTime)) == nil
	b, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, s.limits.Body))
	if err != nil {
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			return nil, errTooLarge
		case errors.Is(err, os.ErrDeadlineExceeded): // it stays: the server drops what else may come
			return nil, errTooSlow
		}
		return nil, errMalformed
	}
	if timed { // from here on reads only tell whether the client is there
		if err := rc.SetReadDeadline(time.Time{}); err != nil {
			return nil, err
		}
	}
	return cleanJSON(b, s.limits.Depth)
}

// cleanJSON checks a body and makes it one line of valid UTF-8.
func cleanJSON(b []byte, depth int) (json.RawMessage, error) {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if len(b) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(b) || !utf8.Valid(b) {
		return nil, errMalformed
	}
	if nesting(b) > depth {
		return nil, invalid("JSON is nested too deeply")
	}
	if bytes.ContainsAny(b, "\n\r") {
		var out bytes.Buffer
		out.Grow(len(b))
		if err := json.Compact(&out, b); err != nil {
			return nil, errMalformed
		}
		b = out.Bytes()
	}
	return b, nil
}

// nesting returns how deep objects and arrays are nested in valid JSON.
func nesting(b []byte) int {
	deepest, depth, inString := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case inString:
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// object reads the body as a JSON object.
func (s *Server) object(c echo.Context) (*fields, error) {
	raw, err := s.readBody(c)
	if err != nil {
		return nil, err
	}
	return objectOf(raw)
}

// objectOf reads a JSON object's fields.
func objectOf(raw json.RawMessage, path ...any) (*fields, error) {
	f, ok := newFields(raw, path...)
	if !ok {
		return nil, &validationError{[]issue{wrongType("object", raw, append([]any{}, path...))}}
	}
	return f, nil
}
