package oidc

import (
	"errors"
	"net/http"

	"golang.org/x/oauth2"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/token"
)

// The codes of failures: what a page can tell people.
const (
	Denied      = "denied"      // the person, or the issuer, said no
	Expired     = "expired"     // too late, begun in another browser, or answered before
	NoRole      = "no_role"     // the person is known, and has no role here
	Unavailable = "unavailable" // the issuer can't be reached
	Failed      = "failed"      // anything else; the log has it
)

// Failure is why nobody was signed in.
type Failure struct {
	Code string
	// Err is for the log alone.
	Err error
}

func (e *Failure) Error() string { return "oidc: " + e.Code + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Failure) Unwrap() error { return e.Err }

// CodeOf is the code of an error.
func CodeOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return Failed
}

// exchangeFailure is what an error of the token endpoint means.
func exchangeFailure(err error) error {
	var refused *oauth2.RetrieveError
	switch {
	case !errors.As(err, &refused), refused.Response != nil && refused.Response.StatusCode >= http.StatusInternalServerError:
		return &Failure{Unavailable, err}
	case refused.ErrorCode == "invalid_grant": // the code, or the refresh token, is used or too old
		return &Failure{Expired, errors.New("invalid_grant")}
	}
	return &Failure{Failed, errors.New(refused.ErrorCode + " " + refused.ErrorDescription)}
}

// tokenFailure is what a refusal of a token means.
func tokenFailure(err error) error {
	var refused *auth.Error
	switch {
	case token.IsUnavailable(err):
		return &Failure{Unavailable, err}
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden:
		return &Failure{NoRole, err}
	}
	return &Failure{Failed, err}
}
