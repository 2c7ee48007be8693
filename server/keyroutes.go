package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
)

// errNoKeys: the store has no place for keys.
var errNoKeys = &auth.Error{Status: http.StatusNotImplemented, Code: "no_keys", Message: "This server's store keeps no API keys"}

// keyStore is where API keys are kept.
func (s *Server) keyStore() (thread.Keys, error) {
	if store, ok := s.store.(thread.Keys); ok {
		return store, nil
	}
	return nil, errNoKeys
}

// keyReply is a key as its owners see it; Key is the key itself, once.
type keyReply struct {
	ID        string   `json:"id"`
	Key       string   `json:"key,omitempty"`
	Project   string   `json:"project_id"`
	Workspace string   `json:"workspace_id,omitempty"`
	Name      string   `json:"name"`
	Principal string   `json:"principal"`
	Roles     []string `json:"roles"`
	Agent     bool     `json:"agent"`
	CreatedAt string   `json:"created_at"`
	CreatedBy string   `json:"created_by,omitempty"`
	ExpiresAt any      `json:"expires_at"`
	RevokedAt any      `json:"revoked_at"`
}

func keyJSON(k thread.Key) keyReply {
	return keyReply{
		ID: k.ID, Project: k.Project, Workspace: k.Workspace, Name: k.Name, Principal: keys.Principal(k), Roles: orEmpty(k.Roles), Agent: k.Agent,
		CreatedAt: timestamp(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: timeOrNull(k.ExpiresAt), RevokedAt: timeOrNull(k.RevokedAt),
	}
}

// listKeys is GET …/keys: all of the project's, also those that have ended.
func (s *Server) listKeys(c echo.Context) error {
	store, err := s.keyStore()
	if err != nil {
		return err
	}
	u := auth.UserFrom(c.Request().Context())
	list, err := store.ListKeys(c.Request().Context(), param(c, "project_id"))
	if err != nil {
		return err
	}
	out := []keyReply{}
	for _, k := range list {
		if !keys.Internal(k) && mayManage(u, k) {
			out = append(out, keyJSON(k))
		}
	}
	return writeJSON(c, http.StatusOK, map[string][]keyReply{"keys": out})
}

// createKey is POST …/keys. Nobody makes a key that can do more than they can themselves.
func (s *Server) createKey(c echo.Context) error {
	store, err := s.keyStore()
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("roles")
	r := keys.Request{
		Project: param(c, "project_id"), Workspace: f.str("workspace_id"), Name: f.str("name"), Roles: f.strings("roles"),
		Agent: f.boolean("agent"), CreatedBy: principal(c),
	}
	f.only("workspace_id", "name", "roles", "agent", "expires_at")
	if at, ok := f.optional("expires_at"); ok {
		if r.ExpiresAt, err = time.Parse(time.RFC3339, at); err != nil {
			f.fault("expires_at", "Invalid datetime")
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	if u := auth.UserFrom(c.Request().Context()); u != nil {
		r.NeedsOwner = u.Kind == auth.KindAnonymous
		if u.Workspace != "" && r.Workspace == "" {
			r.Workspace = u.Workspace
		}
		if u.Workspace != "" && r.Workspace != u.Workspace {
			return auth.Forbidden("Your own key is bound to the workspace " + u.Workspace)
		}
		if u.Agent && !r.Agent {
			return auth.Forbidden("A program can make keys of programs only")
		}
	}
	k, text, err := keys.Create(c.Request().Context(), store, r)
	if err != nil {
		return err
	}
	s.keysChanged()
	reply := keyJSON(k)
	reply.Key = text
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return writeJSON(c, http.StatusCreated, reply)
}

// revokeKey is DELETE …/keys/{key_id}: it ends a key, and its streams at once.
func (s *Server) revokeKey(c echo.Context) error {
	store, err := s.keyStore()
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), param(c, "key_id")
	old, err := store.GetKey(ctx, id)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return err
	}
	if err != nil || !mayManage(auth.UserFrom(ctx), old) {
		return &thread.NotFoundError{Kind: "key", ID: id}
	}
	k, err := keys.Revoke(ctx, store, param(c, "project_id"), id)
	if err != nil {
		return err
	}
	s.keysChanged()
	return writeJSON(c, http.StatusOK, keyJSON(k))
}

// mayManage reports whether an owner may see and end a key: one who is bound to a workspace, only its keys.
func mayManage(u *auth.User, k thread.Key) bool {
	return u == nil || u.Workspace == "" || u.Workspace == k.Workspace
}

// keysChanged has keys read anew, and ends the streams of those that are over.
func (s *Server) keysChanged() {
	if s.identity != nil && s.identity.keys != nil {
		s.identity.keys.Forget()
		s.watch.look()
	}
}
