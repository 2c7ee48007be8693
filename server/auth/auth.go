// Package auth holds the hooks by which a deployment decides who may do what:
// an authenticator (request → user) and authorisers keyed by resource and
// action, which may refuse, change what is stored, or answer with a filter on
// the metadata of what the user may see (spec/rest-api.md 1.10).
package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Hooks are the auth hooks of a server. The zero value allows everything.
type Hooks struct {
	// Authenticate finds the user of a request. It is asked for every route but
	// GET /info and preflights. An *Error is sent as it is; any other error is a
	// 401. Nil: nobody is asked, and no authoriser runs.
	Authenticate func(r *http.Request) (*User, error)
	// On are the authorisers by key: "threads:create_run", "threads", "*:read"
	// or "*". Only the most specific one that exists is asked, in the order
	// resource:action, resource, *:action, *. Events without one are allowed.
	On map[string]Authorizer
	// AllowStudio lets requests with the header x-auth-scheme: langsmith pass as
	// the Studio user, whatever else they carry. Insecure: anyone can send the
	// header. Default: off.
	AllowStudio bool
}

// Authorizer decides on one event. It may change e.Value (typically its
// metadata). A filter narrows the event to resources that match it; an error
// refuses: an *Error is sent as it is, any other error is a 403.
type Authorizer func(ctx context.Context, e *Event) (Filter, error)

// Event is what is about to happen.
type Event struct {
	// Resource is assistants, threads, store or crons; Action what is done to
	// it: create, read, update, delete, search, create_run (threads), put, get,
	// list_namespaces (store).
	Resource, Action string
	User             *User
	// Value is what the request says: ids, metadata, namespace and so on. An
	// authoriser may change metadata (create, update, create_run) and
	// namespace (store).
	Value Value
}

// Value is the mutable content of an event.
type Value map[string]json.RawMessage

// String returns a string field; "" when it is absent or no string.
func (v Value) String(key string) string {
	var s string
	if json.Unmarshal(v[key], &s) != nil {
		return ""
	}
	return s
}

// Strings returns a field that is a list of strings; ok is false when it is absent or something else.
func (v Value) Strings(key string) (list []string, ok bool) {
	raw, there := v[key]
	if !there || string(raw) == "null" || json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	return list, true
}

// SetMetadata sets one key of the value's metadata.
func (v Value) SetMetadata(key string, value any) {
	m := map[string]json.RawMessage{}
	if raw, ok := v["metadata"]; ok {
		_ = json.Unmarshal(raw, &m) // anything but an object is replaced
		if m == nil {
			m = map[string]json.RawMessage{}
		}
	}
	m[key] = mustJSON(value)
	v["metadata"] = mustJSON(m)
}

// DeleteMetadata takes one key out of the value's metadata.
func (v Value) DeleteMetadata(key string) {
	m := map[string]json.RawMessage{}
	if json.Unmarshal(v["metadata"], &m) != nil {
		return
	}
	if _, ok := m[key]; ok {
		delete(m, key)
		v["metadata"] = mustJSON(m)
	}
}

// metadata reads one key of the value's metadata; "" when it is absent.
func (v Value) metadata(key string) string {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(v["metadata"], &m) // anything but an object has no keys
	return string(m[key])
}

// Error refuses a request with a status and a text.
type Error struct {
	Status  int
	Message string
	Header  http.Header
	// Code is for programs, where a reply has room for it; "" for none.
	Code string
	// Cause is for the log alone; nil for none.
	Cause error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// Unauthorized is a 401 with the given text.
func Unauthorized(message string) *Error {
	return &Error{Status: http.StatusUnauthorized, Message: message}
}

// Forbidden is a 403 with the given text.
func Forbidden(message string) *Error {
	return &Error{Status: http.StatusForbidden, Message: message}
}

// ErrForbidden is what an authoriser returns to refuse without a text of its own.
var ErrForbidden = errors.New("auth: forbidden")

// studioUser is who requests with x-auth-scheme: langsmith are made by.
var studioUser = &User{Identity: "langgraph-studio-user", DisplayName: "langgraph-studio-user"}

// User authenticates a request; nil without error when no hooks are installed.
func (h *Hooks) User(r *http.Request) (*User, error) {
	if h == nil || h.Authenticate == nil {
		return nil, nil
	}
	if h.AllowStudio && r.Header.Get("x-auth-scheme") == "langsmith" {
		return studioUser, nil
	}
	u, err := h.Authenticate(r)
	switch {
	case err != nil:
		var e *Error
		if errors.As(err, &e) {
			return nil, e
		}
		return nil, Unauthorized("Unauthorized")
	case u == nil:
		return nil, Unauthorized("Unauthorized")
	}
	return u, nil
}

// Authorize asks the most specific authoriser of an event. No handler, or no user: everything is allowed.
func (h *Hooks) Authorize(ctx context.Context, e *Event) (Filter, error) {
	if h == nil || e.User == nil {
		return nil, nil
	}
	for _, key := range []string{e.Resource + ":" + e.Action, e.Resource, "*:" + e.Action, "*"} {
		f, ok := h.On[key]
		if !ok {
			continue
		}
		filter, err := f(ctx, e)
		if err == nil {
			return filter, nil
		}
		var own *Error
		if errors.As(err, &own) {
			return nil, own
		}
		return nil, Forbidden("Forbidden")
	}
	return nil, nil
}

// actions are the events that the server raises.
var actions = map[string][]string{
	"assistants": {"create", "read", "update", "delete", "search"},
	"threads":    {"create", "read", "update", "delete", "search", "create_run"},
	"store":      {"put", "get", "delete", "search", "list_namespaces"},
	"crons":      {"create", "read", "update", "delete", "search"},
}

// Check refuses keys of On that no event would ever reach: a misspelt
// authoriser would otherwise allow what it was meant to guard.
func (h *Hooks) Check() error {
	if h == nil {
		return nil
	}
	for key := range h.On {
		resource, action, has := strings.Cut(key, ":")
		known := false
		for r, list := range actions {
			if (resource == "*" || resource == r) && (!has || slices.Contains(list, action)) {
				known = true
			}
		}
		if !known {
			return fmt.Errorf("auth: no event has the key %q", key)
		}
	}
	if h.Authenticate == nil && len(h.On) > 0 {
		return errors.New("auth: authorisers need an authenticator")
	}
	return nil
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("auth: value can't be encoded: %v", err))
	}
	return b
}
