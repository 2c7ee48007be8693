package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/session"
)

// sessionPath is where the web app signs in, asks who it is, and signs out.
const sessionPath = "/api/v1/session"

// identityReply tells a caller who they are.
type identityReply struct {
	Principal   string     `json:"principal"`
	DisplayName string     `json:"display_name"`
	Kind        string     `json:"kind"`
	Project     string     `json:"project_id"`
	Workspace   string     `json:"workspace_id,omitempty"`
	Roles       auth.Roles `json:"roles"`
	Agent       bool       `json:"agent"`
	// Can says what the roles amount to.
	Can permissions `json:"can"`
	// ExpiresAt is when key, token or session ends; absent for never.
	ExpiresAt string `json:"expires_at,omitempty"`
	// Renewable tells that the session can be made to last longer: see renewSession.
	Renewable bool `json:"renewable,omitempty"`
}

// permissions are what the caller's roles allow.
type permissions struct {
	Read   bool `json:"read"`
	Run    bool `json:"run"`
	Decide bool `json:"decide"`
	Own    bool `json:"own"`
}

func identityOf(u *auth.User) identityReply {
	if u == nil { // hooks without an authenticator ask nobody
		u = &auth.User{DisplayName: auth.Anonymous, Kind: auth.KindAnonymous, Roles: auth.Roles{auth.RoleOwner}}
	}
	r := identityReply{
		Principal: u.Identity, DisplayName: u.DisplayName, Kind: u.Kind, Project: u.ProjectID(), Workspace: u.Workspace,
		Roles: append(auth.Roles{}, u.Roles...), Agent: u.Agent,
		Can: permissions{
			Read: u.Roles.Has(auth.RoleViewer), Run: u.Roles.Has(auth.RoleOperator), Own: u.Roles.Has(auth.RoleOwner),
			Decide: u.Roles.Has(auth.RoleReviewer) && !u.Agent,
		},
	}
	if u.Kind == auth.KindAnonymous {
		r.Principal = auth.Anonymous
	}
	if r.DisplayName == "" {
		r.DisplayName = u.Identity
	}
	if r.Kind == "" {
		r.Kind = auth.KindUser
	}
	if !u.Expires.IsZero() {
		r.ExpiresAt = timestamp(u.Expires)
	}
	return r
}

// getSession is GET /api/v1/session: who makes the request, by whatever means.
func (s *Server) getSession(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	reply := identityOf(auth.UserFrom(c.Request().Context()))
	if credential(c.Request()) == "" {
		h := s.held(c.Request())
		reply.Renewable = h != nil && h.Refresh != "" && h.Principal == reply.Principal
	}
	return writeJSON(c, http.StatusOK, reply)
}

// postSession is POST /api/v1/session {"credential": KEY or TOKEN}, or with that as for
// any other request: it begins a session, which the browser keeps as a cookie.
func (s *Server) postSession(c echo.Context) error {
	if s.identity == nil {
		return &auth.Error{Status: http.StatusNotImplemented, Code: "no_sessions", Message: "This server's own hooks say who somebody is; it has no sessions"}
	}
	r := c.Request()
	if same, known := session.SameOrigin(r); known && !same { // nobody signs somebody in as somebody else
		return errForeignPage
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	text := f.str("credential")
	f.only("credential")
	if err := f.err(); err != nil {
		return err
	}
	if text == "" {
		text = credential(r)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	free, err := s.identity.anonymous(r.Context())
	if err != nil {
		return err
	}
	if free {
		u, err := s.identity.anybody(r)
		if err != nil {
			return err
		}
		return writeJSON(c, http.StatusOK, identityOf(u))
	}
	if text == "" {
		return errWho
	}
	u, err := s.identity.holder(r.Context(), text)
	if err != nil {
		return err
	}
	value, v, err := s.identity.sessions.seal(r.Context(), u)
	if err != nil {
		return err
	}
	session.Set(c.Response(), r, value, v.End())
	if session.Kept(grantCookie).Value(r) != "" { // of who was signed in here before
		session.Kept(grantCookie).Clear(c.Response(), r)
	}
	reply := identityOf(u)
	reply.ExpiresAt = timestamp(v.End())
	return writeJSON(c, http.StatusOK, reply)
}

// deleteSession is DELETE /api/v1/session: it signs out. Who signed in with the identity provider is told where to
// end its session, too.
func (s *Server) deleteSession(c echo.Context) error {
	r, kept := c.Request(), session.Kept(grantCookie)
	if (session.Value(r) != "" || kept.Value(r) != "") && !session.MayUse(r) {
		return errForeignPage
	}
	elsewhere := s.signOutURL(r)
	session.Clear(c.Response(), r)
	if kept.Value(r) != "" {
		kept.Clear(c.Response(), r)
	}
	if elsewhere == "" {
		return c.NoContent(http.StatusNoContent)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return writeJSON(c, http.StatusOK, struct {
		URL string `json:"sign_out_url"`
	}{elsewhere})
}
