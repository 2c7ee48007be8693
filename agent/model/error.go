package model

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Sentinels that an Error may match with errors.Is.
var (
	// ErrContextLength: the request is longer than the model takes. Another try
	// with the same messages is refused alike.
	ErrContextLength = errors.New("model: the messages exceed the model's context window")
	// ErrTimeout: one of the Timeouts ran out.
	ErrTimeout = errors.New("model: timeout")
	// ErrBrokenStream: the answer ended before the model was done, or couldn't be read.
	ErrBrokenStream = errors.New("model: broken stream")
	// ErrUnsupported: the request has something that the provider doesn't take.
	ErrUnsupported = errors.New("model: not supported")
	// ErrNoKey: the API key isn't where it should be.
	ErrNoKey = errors.New("model: no API key")
)

// Error is a failed call of a provider, from a refused request to a stream that
// broke off. It never holds a key or a header.
type Error struct {
	// Provider is the Info.Provider of the model.
	Provider string
	// Status is the HTTP status, or the one that stands for an error that came
	// within the stream; 0 when the server gave none.
	Status int
	// Code is the provider's own name of the error; may be empty.
	Code string
	// Message is the provider's text or, without one, what happened.
	Message string
	// RequestID is the provider's id of the request; may be empty.
	RequestID string
	// Wait is how long the provider asks to wait before another try; 0 for no word on it.
	Wait time.Duration
	// Again overrules, if not nil, whether another try is worthwhile.
	Again *bool
	// Err is the cause: one of the sentinels above, a network error or nil.
	Err error
}

// Error gives provider, status, code and message.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d", e.Status)
		if text := http.StatusText(e.Status); text != "" && e.Code == "" {
			b.WriteString(" " + text)
		}
	}
	if e.Code != "" {
		b.WriteString(": " + e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StatusCode is the HTTP status, 0 when there is none.
func (e *Error) StatusCode() int { return e.Status }

// RetryAfter is how long the provider asks to wait; 0 for no word on it.
func (e *Error) RetryAfter() time.Duration { return e.Wait }

// Timeout reports whether one of the Timeouts ran out, or the server's.
func (e *Error) Timeout() bool {
	return errors.Is(e.Err, ErrTimeout) || e.Status == http.StatusRequestTimeout || e.Status == http.StatusGatewayTimeout
}

// ErrorName is the class that clients see.
func (e *Error) ErrorName() string {
	switch {
	case errors.Is(e.Err, ErrContextLength):
		return "ContextOverflowError"
	case e.Timeout():
		return "ModelTimeoutError"
	case e.Status == http.StatusTooManyRequests:
		return "ModelRateLimitError"
	}
	return "ModelError"
}

// Retryable reports whether the same request may succeed later: after 408, 425,
// 429 and any 5xx, after a broken connection or stream and after a timeout.
func (e *Error) Retryable() bool {
	switch {
	case e.Again != nil:
		return *e.Again
	case errors.Is(e.Err, ErrContextLength), errors.Is(e.Err, ErrUnsupported), errors.Is(e.Err, ErrNoKey):
		return false
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooEarly, e.Status == http.StatusTooManyRequests:
		return true
	case e.Status != 0:
		return e.Status >= 500
	}
	return true
}

// Unsupported is the error for something in a request that a provider doesn't take.
func Unsupported(provider, format string, args ...any) *Error {
	return &Error{Provider: provider, Message: fmt.Sprintf(format, args...), Err: ErrUnsupported}
}
