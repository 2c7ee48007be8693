package cli

import (
	"errors"
	"net/http"
)

// Exit codes of the commands, beside 0 and those of the command line (1 failed, 2 usage).
const (
	// ExitSuspended: the execution waits for a person; standard output has it as JSON.
	ExitSuspended = 3
	// ExitConflict: somebody else was faster, or the review waits no more.
	ExitConflict = 4
	// ExitDenied: no key, a wrong one, or one that may not do this.
	ExitDenied = 5
	// ExitUnreachable: no server answered, or it can't at present.
	ExitUnreachable = 6
)

// ExitError ends the program with a code of its own.
type ExitError struct {
	Code int
	Err  error // nil when all has been said
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode is the program's exit code.
func (e *ExitError) ExitCode() int { return e.Code }

// coded gives an error of the API its exit code.
func coded(err error) error {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	var api *APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.Status {
	case http.StatusConflict, http.StatusGone:
		return &ExitError{ExitConflict, err}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &ExitError{ExitDenied, err}
	case 0, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return &ExitError{ExitUnreachable, err}
	}
	return err
}
