// Package apierror is the form that failures have under /api/v1 (spec/executions.md 5), and the one place
// where errors get their status there.
package apierror

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/parley-dev/parley/agent/exactjson"
)

// Error is a failure as callers get it. It is an error itself, so that handlers may return one.
type Error struct {
	Status int
	// Code is for programs: capitals and _.
	Code string
	// Detail is for people.
	Detail string
	// Parameters belong to the detail: what would have been allowed, what waits, what is current. Never null.
	Parameters []any
	// Fields are those that a bad request has wrong.
	Fields []Field
	// Extra are further members of the body, by key.
	Extra map[string]any
	// Header goes with the reply.
	Header http.Header
}

// Field is a field of a request, and what is wrong with it.
type Field struct {
	Description string `json:"description"`
	Field       string `json:"field"`
}

func (e *Error) Error() string { return e.Detail }

// New returns an Error.
func New(status int, code, detail string, parameters ...any) *Error {
	return &Error{Status: status, Code: code, Detail: detail, Parameters: parameters}
}

// The codes of requests that can't be understood.
const (
	CodeMissing = "MISSING_ATTRIBUTE"
	CodeInvalid = "INVALID_ATTRIBUTE"
	CodeUnknown = "UNKNOWN_ATTRIBUTE"
)

// BadField refuses a request for one of its fields.
func BadField(code, field, description string) *Error {
	return &Error{
		Status: http.StatusBadRequest, Code: code, Detail: description, Parameters: []any{field},
		Fields: []Field{{Description: description, Field: field}},
	}
}

// Unambiguous refuses a body in which a key stands twice in one object: readers differ in which of the two counts.
func Unambiguous(raw []byte) error {
	at, twice := exactjson.Repeated(raw)
	if !twice {
		return nil
	}
	field := strings.TrimPrefix(at, "/")
	return BadField(CodeInvalid, field, "The field "+field+" stands twice in the body.")
}

// NotFound says that something isn't there, or not for the caller to see.
func NotFound(kind, id string) *Error {
	return New(http.StatusNotFound, strings.ToUpper(kind)+"_NOT_FOUND", "There is no "+kind+" "+quote(id)+".", id)
}

// With adds a member to the body.
func (e *Error) With(key string, value any) *Error {
	if e.Extra == nil {
		e.Extra = map[string]any{}
	}
	e.Extra[key] = value
	return e
}

// Body is the reply's JSON.
func (e *Error) Body() []byte {
	type bad struct {
		Fields []Field `json:"fields"`
	}
	body := map[string]any{}
	for k, v := range e.Extra {
		body[k] = v
	}
	body["detail"], body["error"], body["errorCode"], body["reason"] = e.Detail, e.Status, e.Code, Reason(e.Status)
	body["parameters"] = e.Parameters
	if e.Parameters == nil {
		body["parameters"] = []any{}
	}
	if len(e.Fields) > 0 {
		body["badRequestDetail"] = bad{e.Fields}
	}
	out, err := json.Marshal(body)
	if err != nil { // an Extra that isn't JSON: a fault of the server's
		out, _ = json.Marshal(map[string]any{
			"detail": "Internal Server Error", "error": http.StatusInternalServerError, "errorCode": CodeInternal,
			"reason": Reason(http.StatusInternalServerError), "parameters": []any{},
		})
	}
	return out
}

// Reason is the phrase of a status.
func Reason(status int) string {
	if status == statusGone {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
