package server

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/server/cli"
	"github.com/parley-dev/parley/thread"
)

// storedKeys are the keys of a store that this process has opened.
type storedKeys struct{ store thread.Keys }

func (s storedKeys) create(ctx context.Context, r keys.Request) (keyReply, error) {
	r.NeedsOwner = true // the caller holds the data, not a key
	k, text, err := keys.Create(ctx, s.store, r)
	if err != nil {
		return keyReply{}, err
	}
	reply := keyJSON(k)
	reply.Key = text
	return reply, nil
}

func (s storedKeys) list(ctx context.Context, project string) ([]keyReply, error) {
	list, err := s.store.ListKeys(ctx, project)
	out := []keyReply{}
	for _, k := range list {
		if !keys.Internal(k) {
			out = append(out, keyJSON(k))
		}
	}
	return out, err
}

func (s storedKeys) revoke(ctx context.Context, project, id string) (keyReply, error) {
	k, err := keys.Revoke(ctx, s.store, project, id)
	return keyJSON(k), err
}

// remoteKeys are the keys of a server that runs.
type remoteKeys struct{ server cli.Connection }

// remoteTime bounds a request to it.
const remoteTime = 30 * time.Second

func (r remoteKeys) path(project string) string {
	return "/api/v1/projects/" + url.PathEscape(project) + "/keys"
}

func (r remoteKeys) create(ctx context.Context, k keys.Request) (reply keyReply, err error) {
	body := map[string]any{"name": k.Name, "roles": k.Roles, "agent": k.Agent}
	if k.Workspace != "" {
		body["workspace_id"] = k.Workspace
	}
	if !k.ExpiresAt.IsZero() {
		body["expires_at"] = k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	err = r.do(ctx, http.MethodPost, r.path(k.Project), body, &reply)
	return reply, err
}

func (r remoteKeys) list(ctx context.Context, project string) ([]keyReply, error) {
	var reply struct {
		Keys []keyReply `json:"keys"`
	}
	err := r.do(ctx, http.MethodGet, r.path(project), nil, &reply)
	return reply.Keys, err
}

func (r remoteKeys) revoke(ctx context.Context, project, id string) (reply keyReply, err error) {
	err = r.do(ctx, http.MethodDelete, r.path(project)+"/"+url.PathEscape(id), nil, &reply)
	return reply, err
}

// do sends a request and reads its reply.
func (r remoteKeys) do(ctx context.Context, method, path string, body, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, remoteTime)
	defer cancel()
	return r.server.Call(ctx, method, path, body, reply)
}
