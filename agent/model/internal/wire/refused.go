package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-dev/parley/agent/model"
)

// Bounds of what is read and kept of an error, in bytes.
const (
	maxErrorBody = 64 << 10
	maxMessage   = 2000
)

// refused reads an answer that isn't a success.
func (c *Call) refused(resp *http.Response) *model.Error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what can be read
	e := ParseError(text)
	e.Provider, e.Status = c.provider, resp.StatusCode
	if e.Message == "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Message = "the server redirects; check the base URL"
	}
	Classify(e)
	if wait := retryAfter(resp.Header, time.Now()); wait > 0 {
		e.Wait = wait
	}
	if again, err := strconv.ParseBool(resp.Header.Get("X-Should-Retry")); err == nil && e.Again == nil {
		e.Again = &again
	}
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := resp.Header.Get(name); id != "" {
			e.RequestID = id
			break
		}
	}
	e.Message, e.Code = c.hide.in(e.Message), c.hide.in(e.Code)
	return e
}

// ParseError reads the body of an error, or its object within a stream, in any
// of the forms that providers and gateways have.
func ParseError(text []byte) *model.Error {
	text = bytes.TrimSpace(text)
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil && len(list) > 0 { // Google's
		text = list[0]
	}
	var outer struct {
		Error     json.RawMessage `json:"error"`
		Detail    json.RawMessage `json:"detail"`
		RequestID string          `json:"request_id"`
		errorObject
	}
	if json.Unmarshal(text, &outer) != nil {
		return &model.Error{Message: abbreviate(string(text))}
	}
	inner, message := outer.errorObject, ""
	switch {
	case json.Unmarshal(outer.Error, &message) == nil && message != "": // Ollama's
	case len(outer.Error) > 0:
		var object errorObject
		if json.Unmarshal(outer.Error, &object) == nil {
			inner = object
		} else {
			message = string(outer.Error)
		}
	case inner.Message == nil && len(outer.Detail) > 0: // of proxies
		if json.Unmarshal(outer.Detail, &message) != nil {
			message = string(outer.Detail)
		}
	}
	e := &model.Error{Message: message, RequestID: outer.RequestID, Code: inner.code(), Wait: inner.delay()}
	if e.Message == "" {
		e.Message = inner.text()
	}
	if status, err := strconv.Atoi(scalar(inner.Code)); err == nil && status >= 400 && status < 600 {
		e.Status = status
	}
	e.Message = abbreviate(e.Message)
	return e
}

// errorObject is the object that describes an error. Types vary between providers.
type errorObject struct {
	Message json.RawMessage `json:"message"`
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
	Status  json.RawMessage `json:"status"`
	Details json.RawMessage `json:"details"`
}

func (o errorObject) text() string {
	var parts []string
	if json.Unmarshal(o.Message, &parts) == nil {
		return strings.Join(parts, ", ")
	}
	return scalar(o.Message)
}

// code is the most telling name: code, else status in words, else type.
func (o errorObject) code() string {
	for _, raw := range []json.RawMessage{o.Code, o.Status, o.Type} {
		name := scalar(raw)
		if _, err := strconv.Atoi(name); name != "" && err != nil && name != "error" {
			return name
		}
	}
	return ""
}

// delay is Google's way to say how long to wait.
func (o errorObject) delay() time.Duration {
	var details []struct {
		RetryDelay string `json:"retryDelay"`
	}
	if json.Unmarshal(o.Details, &details) == nil {
		for _, d := range details {
			if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
				return wait
			}
		}
	}
	return 0
}

// scalar is a JSON string's text or a number's digits.
func scalar(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

func abbreviate(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage]
		for !utf8.ValidString(s) && s != "" {
			s = s[:len(s)-1]
		}
		return s + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Classify fills in what follows from an error's code and message: a status for
// one that came within a stream, the context's overflow, exhausted credit.
func Classify(e *model.Error) {
	if e.Status == 0 {
		e.Status = statusOf[e.Code]
	}
	text := strings.ToLower(e.Code + " " + e.Message)
	for _, sign := range overflowSigns {
		if (e.Status < 429 || e.Status == http.StatusInternalServerError) && strings.Contains(text, sign) {
			e.Err = model.ErrContextLength
		}
	}
	switch e.Code {
	case "insufficient_quota", "billing_error", "billing_hard_limit_reached", "enforced_spend_limit_reached":
		e.Again = new(bool) // waiting doesn't fill the purse
	}
}

// overflowSigns are parts of the messages for too long requests.
var overflowSigns = []string{
	"context_length_exceeded", "maximum context length", "context length", "context window", "exceed context limit", "context size",
	"exceed_context_size", "prompt is too long", "exceeds the maximum number of tokens", "request_too_large", "too many input tokens",
}

// statusOf gives the status of an error that is told by name, within a stream.
var statusOf = map[string]int{
	"invalid_request_error": 400, "context_length_exceeded": 400, "INVALID_ARGUMENT": 400,
	"authentication_error": 401, "invalid_api_key": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "model_not_found": 404, "request_too_large": 413,
	"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429, "RESOURCE_EXHAUSTED": 429,
	"api_error": 500, "server_error": 500, "internal_server_error": 500, "INTERNAL": 500, "UNAVAILABLE": 503,
	"timeout_error": 504, "overloaded_error": 529,
}

// retryAfter reads how long a server asks to wait: Retry-After-Ms, or
// Retry-After in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return span(seconds, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent // clocks may differ
		}
		return max(at.Sub(now), 0)
	}
	return 0
}

// span is n units, from 0 to a day.
func span(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if !(n > 0) { // NaN too
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(day)))
}

// InStream is the error that a provider sent as a part of its answer.
func InStream(text []byte) *model.Error {
	e := ParseError(text)
	Classify(e)
	if e.Message == "" && e.Code == "" {
		e.Message = fmt.Sprintf("the provider sent an error: %s", abbreviate(string(text)))
	}
	return e
}
