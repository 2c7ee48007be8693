package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
)

func request(headers map[string]string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	return r
}

func TestOnlyTheMostSpecificAuthoriserIsAsked(t *testing.T) {
	t.Parallel()
	keys := []string{"threads:read", "threads", "*:read", "*"}
	for i := range keys {
		asked := ""
		on := map[string]auth.Authorizer{}
		for _, k := range keys[i:] {
			on[k] = func(context.Context, *auth.Event) (auth.Filter, error) {
				asked += k + " "
				return auth.Equal("owner", k), nil
			}
		}
		h := &auth.Hooks{On: on}
		f, err := h.Authorize(t.Context(), &auth.Event{Resource: "threads", Action: "read", User: &auth.User{}})
		require.NoError(t, err)
		require.Equal(t, keys[i]+" ", asked)
		require.True(t, f.Matches(map[string]json.RawMessage{"owner": []byte(`"` + keys[i] + `"`)}))
	}
}

func TestWithoutHandlerOrUserEverythingIsAllowed(t *testing.T) {
	t.Parallel()
	never := func(context.Context, *auth.Event) (auth.Filter, error) { return nil, auth.ErrForbidden }
	h := &auth.Hooks{On: map[string]auth.Authorizer{"store": never, "*:delete": never}}
	_, err := h.Authorize(t.Context(), &auth.Event{Resource: "threads", Action: "read", User: &auth.User{}})
	require.NoError(t, err)
	_, err = h.Authorize(t.Context(), &auth.Event{Resource: "store", Action: "put"})
	require.NoError(t, err)
	_, err = h.Authorize(t.Context(), &auth.Event{Resource: "threads", Action: "delete", User: &auth.User{}})
	require.Error(t, err)
	_, err = (*auth.Hooks)(nil).Authorize(t.Context(), &auth.Event{})
	require.NoError(t, err)
}

func TestRefusalsKeepTheirStatus(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		status int
	}{
		"plain":    {errors.New("x"), 403},
		"sentinel": {auth.ErrForbidden, 403},
		"own":      {&auth.Error{Status: 402, Message: "pay"}, 402},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &auth.Hooks{On: map[string]auth.Authorizer{"*": func(context.Context, *auth.Event) (auth.Filter, error) { return nil, tt.err }}}
			_, err := h.Authorize(t.Context(), &auth.Event{Resource: "threads", Action: "read", User: &auth.User{}})
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.status, e.Status)
		})
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	find := func(r *http.Request) (*auth.User, error) {
		switch r.Header.Get("who") {
		case "ann":
			return &auth.User{Identity: "ann"}, nil
		case "teapot":
			return nil, &auth.Error{Status: 418, Message: "short and stout"}
		case "nobody":
			return nil, nil
		}
		return nil, errors.New("no such user")
	}
	h := &auth.Hooks{Authenticate: find}
	u, err := h.User(request(map[string]string{"who": "ann"}))
	require.NoError(t, err)
	require.Equal(t, "ann", u.Identity)
	for who, status := range map[string]int{"teapot": 418, "nobody": 401, "eve": 401} {
		var e *auth.Error
		_, err := h.User(request(map[string]string{"who": who}))
		require.ErrorAs(t, err, &e)
		require.Equal(t, status, e.Status, who)
	}
	studio := request(map[string]string{"x-auth-scheme": "langsmith"})
	_, err = h.User(studio)
	require.Error(t, err, "off unless allowed")
	h.AllowStudio = true
	_, err = h.User(studio)
	require.NoError(t, err)
}

func TestMisspeltKeysAreRefused(t *testing.T) {
	t.Parallel()
	allow := func(context.Context, *auth.Event) (auth.Filter, error) { return nil, nil }
	nobody := func(*http.Request) (*auth.User, error) { return nil, nil }
	for _, key := range []string{"*", "*:read", "threads", "threads:create_run", "store:list_namespaces", "crons:create"} {
		require.NoError(t, (&auth.Hooks{Authenticate: nobody, On: map[string]auth.Authorizer{key: allow}}).Check(), key)
	}
	for _, key := range []string{"", "thread", "threads:run", "store:create_run", "*:nope", "threads:"} {
		require.Error(t, (&auth.Hooks{Authenticate: nobody, On: map[string]auth.Authorizer{key: allow}}).Check(), key)
	}
	require.Error(t, (&auth.Hooks{On: map[string]auth.Authorizer{"*": allow}}).Check(), "authorisers that nobody would ask")
	require.NoError(t, (*auth.Hooks)(nil).Check())
}

func TestFilters(t *testing.T) {
	t.Parallel()
	doc := map[string]json.RawMessage{"owner": []byte(`"ann"`), "n": []byte(`1`), "tags": []byte(`["a","b"]`), "o": []byte(`{"x":1,"y":2}`)}
	for filter, want := range map[string]bool{
		`{}`:                               true,
		`{"owner":"ann"}`:                  true,
		`{"owner":"bob"}`:                  false,
		`{"owner":{"$eq":"ann"}}`:          true,
		`{"owner":{"$eq":"bob"}}`:          false,
		`{"missing":null}`:                 false,
		`{"tags":{"$contains":"a"}}`:       true,
		`{"tags":{"$contains":["b","a"]}}`: true,
		`{"tags":{"$contains":["a","c"]}}`: false,
		`{"owner":{"$contains":"a"}}`:      false,
		`{"o":{"y":2,"x":1}}`:              true,
		`{"owner":"ann","n":2}`:            false,
		`{"owner":{"$gt":"a"}}`:            false,
	} {
		var f auth.Filter
		require.NoError(t, json.Unmarshal([]byte(filter), &f))
		require.Equal(t, want, f.Matches(doc), filter)
	}
	require.True(t, auth.Contains("tags", "a", "b").Matches(doc))
	require.False(t, auth.Contains("tags", "z").Matches(doc))
}

func TestValueIsChanged(t *testing.T) {
	t.Parallel()
	v := auth.Value{"metadata": []byte(`{"a":1}`)}
	v.SetMetadata("owner", "ann")
	require.JSONEq(t, `{"a":1,"owner":"ann"}`, string(v["metadata"]))
	v = auth.Value{"metadata": []byte(`null`)}
	v.SetMetadata("owner", "ann")
	require.JSONEq(t, `{"owner":"ann"}`, string(v["metadata"]))
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	find := auth.APIKeys(map[string]string{"k1": "ann", "k2": "bob"})
	u, err := find(request(map[string]string{"X-Api-Key": "k2"}))
	require.NoError(t, err)
	require.Equal(t, "bob", u.Identity)
	for _, key := range []string{"", "k3"} {
		_, err := find(request(map[string]string{"X-Api-Key": key}))
		require.Error(t, err)
	}
}

func TestUserAsNodesSeeIt(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(&auth.User{Identity: "ann", Permissions: []string{"p"}, Extra: map[string]json.RawMessage{"team": []byte(`7`)}})
	require.NoError(t, err)
	require.JSONEq(t, `{"identity":"ann","display_name":"ann","is_authenticated":true,"permissions":["p"],"team":7}`, string(b))
	require.True(t, (&auth.User{Permissions: []string{"a", "b"}}).HasPermission("x", "b"))
	require.False(t, (*auth.User)(nil).HasPermission("x"))
	require.Nil(t, auth.UserFrom(context.Background()))
}
