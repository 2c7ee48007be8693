package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/oidc"
	"github.com/parley-dev/parley/server/auth/session"
)

// The routes by which people sign in with the identity provider.
const (
	signInOptionsPath = sessionPath + "/options"
	signInPath        = sessionPath + "/oidc/start"
	signedInPath      = sessionPath + "/oidc/callback"
	renewPath         = sessionPath + "/oidc/renew"
)

const (
	// flowCookie begins the names of the cookies that hold sign-ins under way, one for each.
	flowCookie = "parley_signin_"
	// grantCookie holds by what a session is renewed, and ended at the issuer.
	grantCookie = "parley_grant"
	// flowPurpose and grantPurpose keep what they hold apart.
	flowPurpose  = "parley sign-in v1"
	grantPurpose = "parley grant v1"
	// mostFlows is how many sign-ins a browser may have under way.
	mostFlows = 5
	// failedParam tells the page why nobody was signed in.
	failedParam = "signin"
)

var (
	errNoSignIn = &auth.Error{Status: http.StatusNotImplemented, Code: "no_oidc", Message: "This server signs nobody in with an identity provider: see --oidc-client-id"}
	errNoRenew  = &auth.Error{Status: http.StatusUnauthorized, Code: "signed_out", Header: auth.Challenge(""), Message: "The session can't be renewed: sign in again"}
)

// oidc signs people in; nil where that isn't set up.
func (s *Server) oidc() *oidc.Client {
	if s.identity == nil {
		return nil
	}
	return s.identity.oidc
}

// getSignInOptions is GET /api/v1/session/options: how one can sign in. It asks nobody.
func (s *Server) getSignInOptions(c echo.Context) error {
	type provider struct {
		Name  string `json:"name"`
		Start string `json:"start"`
	}
	reply := struct {
		// Credentials tells that keys and tokens are taken by POST /api/v1/session.
		Credentials bool      `json:"credentials"`
		OIDC        *provider `json:"oidc"`
	}{Credentials: s.identity != nil}
	if client := s.oidc(); client != nil {
		reply.OIDC = &provider{client.Name(), signInPath}
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return writeJSON(c, http.StatusOK, reply)
}

// startSignIn is GET /api/v1/session/oidc/start?return=PATH: it sends the browser to the issuer. What is to be
// remembered of it is in a sealed cookie, so that any replica can go on with it.
func (s *Server) startSignIn(c echo.Context) error {
	client := s.oidc()
	if client == nil {
		return errNoSignIn
	}
	r, back := c.Request(), oidc.Back(c.QueryParam("return"))
	page, flow, err := client.Begin(r.Context(), s.publicURL(r)+signedInPath, back, c.QueryParam("anew") != "")
	if err != nil {
		return s.notSignedIn(c, back, err)
	}
	value, err := s.identity.sessions.sealAs(r.Context(), flowPurpose, flow)
	if err != nil {
		return err
	}
	if old := session.Named(r, flowCookie); len(old) >= mostFlows {
		for _, name := range old {
			session.Returning(name).Clear(c.Response(), r)
		}
	}
	cookieOf(flow.State).Set(c.Response(), r, value, time.Unix(flow.Expires, 0))
	return redirect(c, page)
}

// finishSignIn is GET /api/v1/session/oidc/callback, to which the issuer sends the browser back.
func (s *Server) finishSignIn(c echo.Context) error {
	client := s.oidc()
	if client == nil {
		return errNoSignIn
	}
	r := c.Request()
	ctx, cookie := r.Context(), cookieOf(c.QueryParam("state"))
	var flow oidc.Flow
	err := s.identity.sessions.openAs(ctx, flowPurpose, cookie.Value(r), &flow)
	if errors.Is(err, session.ErrInvalid) {
		return s.notSignedIn(c, oidc.Back(""), &oidc.Failure{Code: oidc.Expired, Err: errors.New("no such sign-in is under way in this browser")})
	}
	if err != nil {
		return err
	}
	cookie.Clear(c.Response(), r) // each is good for one answer
	grant, err := client.Finish(ctx, flow, r.URL.Query())
	if err != nil {
		return s.notSignedIn(c, flow.Back, err)
	}
	if _, err := s.keepGrant(c, grant, time.Now()); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "signed in", "principal", grant.User.Identity, "project", grant.User.ProjectID(), "address", c.RealIP())
	return redirect(c, flow.Back)
}

// renewSession is POST /api/v1/session/oidc/renew: it exchanges the session's token for a new one, if the issuer
// gave something to do that with. A session lasts no longer for it than one that began with a key.
func (s *Server) renewSession(c echo.Context) error {
	client := s.oidc()
	if client == nil {
		return errNoSignIn
	}
	r := c.Request()
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	held := s.held(r)
	switch {
	case held == nil:
		return errNoRenew
	case !session.MayUse(r):
		return errForeignPage
	}
	began := time.Unix(held.Began, 0)
	if held.Refresh == "" || time.Since(began) >= session.DefaultLife {
		return errNoRenew
	}
	grant, err := client.Renew(r.Context(), held.Refresh, held.Subject)
	if err == nil && grant.User.Identity != held.Principal {
		err = &oidc.Failure{Code: oidc.Failed, Err: errors.New("the renewed token is about somebody else")}
	}
	if err != nil {
		s.log.WarnContext(r.Context(), "session not renewed", "principal", held.Principal, "error", err)
		if oidc.CodeOf(err) == oidc.Unavailable {
			return &auth.Error{Status: http.StatusServiceUnavailable, Code: "issuer_unavailable", Message: "The issuer can't be reached; try again", Header: http.Header{"Retry-After": {"5"}}}
		}
		return errNoRenew
	}
	end, err := s.keepGrant(c, grant, began)
	if err != nil {
		return err
	}
	reply := identityOf(grant.User)
	reply.ExpiresAt, reply.Renewable = timestamp(end), grant.RefreshToken != ""
	return writeJSON(c, http.StatusOK, reply)
}

// held is what grantCookie holds.
type held struct {
	Refresh   string `json:"r,omitempty"`
	ID        string `json:"i,omitempty"`
	Subject   string `json:"s"`
	Principal string `json:"p"`
	Began     int64  `json:"b"`
}

// held opens a request's grantCookie; nil for none.
func (s *Server) held(r *http.Request) *held {
	value := session.Kept(grantCookie).Value(r)
	if value == "" || s.oidc() == nil {
		return nil
	}
	var h held
	if s.identity.sessions.openAs(r.Context(), grantPurpose, value, &h) != nil {
		return nil
	}
	return &h
}

// keepGrant has the browser keep a session of the grant's user, and by what to renew it.
func (s *Server) keepGrant(c echo.Context, g oidc.Grant, began time.Time) (end time.Time, err error) {
	r := c.Request()
	value, v, err := s.identity.sessions.sealFrom(r.Context(), g.User, began)
	if err != nil {
		return end, err
	}
	h := held{g.RefreshToken, g.IDToken, g.Subject, g.User.Identity, began.Unix()}
	kept := session.Kept(grantCookie)
	for _, less := range []func(){func() {}, func() { h.ID = "" }, func() { h.Refresh = "" }} {
		less() // what doesn't fit into a cookie is done without
		var beside string
		if beside, err = s.identity.sessions.sealAs(r.Context(), grantPurpose, h); err != nil {
			return end, err
		}
		if len(beside) <= session.LongestCookie-len("__Host-"+grantCookie+"=") {
			kept.Set(c.Response(), r, beside, began.Add(session.DefaultLife))
			break
		}
	}
	session.Set(c.Response(), r, value, v.End())
	return v.End(), nil
}

// signOutURL is where the issuer ends its own session of who signs out here; "" where there is nothing to end.
func (s *Server) signOutURL(r *http.Request) string {
	h := s.held(r)
	if h == nil {
		return ""
	}
	return s.identity.oidc.SignOutURL(r.Context(), h.ID, s.publicURL(r)+"/")
}

// notSignedIn sends the browser back to the page, which says why.
func (s *Server) notSignedIn(c echo.Context, back string, err error) error {
	if ctx := c.Request().Context(); ctx.Err() != nil {
		return context.Canceled
	}
	s.log.WarnContext(c.Request().Context(), "not signed in", "address", c.RealIP(), "error", err)
	return redirect(c, oidc.With(back, failedParam, oidc.CodeOf(err)))
}

// publicURL is where people reach the server, without a slash at its end: as the operator says, or as this browser did.
func (s *Server) publicURL(r *http.Request) string {
	if u := s.opts.Announce.PublicURL; u != "" {
		return strings.TrimSuffix(u, "/")
	}
	scheme := "http://"
	if session.Secure(r) {
		scheme = "https://"
	}
	return scheme + r.Host
}

// cookieOf is the cookie of a sign-in under way. The state is anybody's text here.
func cookieOf(state string) session.Cookie {
	const part = 10
	for _, r := range state {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return session.Returning(flowCookie)
		}
	}
	return session.Returning(flowCookie + state[:min(len(state), part)])
}

// redirect sends the browser elsewhere by GET.
func redirect(c echo.Context, address string) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.Redirect(http.StatusSeeOther, address)
}
