package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// truthy reads a boolean of a query: true, 1 and yes in any case (spec/rest-api.md 1.3).
func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes":
		return true
	}
	return false
}

// queryInt reads an integer in [low, high] from the query; def when absent or empty.
func queryInt(c echo.Context, key string, def, low, high int) (int, error) {
	v := c.QueryParam(key)
	if v == "" || v == "null" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	switch {
	case err != nil:
		return 0, invalid("Expected number, received "+strconv.Quote(v), key)
	case n < low:
		return 0, &validationError{[]issue{{Code: "too_small", Message: fmt.Sprintf("Number must be greater than or equal to %d", low), Path: []any{key}}}}
	case n > high:
		return 0, &validationError{[]issue{{Code: "too_big", Message: fmt.Sprintf("Number must be less than or equal to %d", high), Path: []any{key}}}}
	}
	return n, nil
}

// queryList reads a list: one JSON array, one string, or the key several times.
func queryList(c echo.Context, key string) []string {
	var out []string
	for _, v := range c.QueryParams()[key] {
		var list []string
		switch {
		case v == "":
		case v[0] == '[' && json.Unmarshal([]byte(v), &list) == nil:
			out = append(out, list...)
		default:
			out = append(out, v)
		}
	}
	return out
}

// param reads a path parameter, decoded.
func param(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return v // echo matched the decoded path
	}
	if d, err := url.PathUnescape(v); err == nil {
		return d
	}
	return v
}

// uuidParam reads a path parameter that must be a UUID.
func uuidParam(c echo.Context, name string) (string, error) {
	v := param(c, name)
	if !isUUID(v) {
		return "", &validationError{[]issue{{Code: "invalid_string", Message: "Invalid uuid", Path: []any{name}}}}
	}
	return strings.ToLower(v), nil
}

// threadRun reads the path parameters of a run of a thread.
func threadRun(c echo.Context) (threadID, runID string, err error) {
	if threadID, err = uuidParam(c, "thread_id"); err != nil {
		return "", "", err
	}
	runID, err = uuidParam(c, "run_id")
	return threadID, runID, err
}

// isUUID reports whether s has the form 8-4-4-4-12 of hex digits, whatever its version.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHex(c) {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
