package auth

import (
	"context"
	"encoding/json"

	"github.com/parley-dev/parley/thread"
)

// Tenants are authorisers that keep projects apart: what a user creates is marked
// with their project and, if they are bound to one, their workspace, in the metadata
// keys thread.ProjectKey and thread.WorkspaceKey, which no request can set; and they
// see what is marked so. The default project also owns what has no mark. System
// assistants are seen by all, changed by owners of the default project, and deleted by
// nobody. Items of the store lie in a namespace of the project, those of users who are
// bound to a workspace, and of its runs, in one of the workspace; who isn't bound works with those of the default one.
//
// Anonymous callers are alone on their machine and see everything.
func Tenants() map[string]Authorizer {
	return map[string]Authorizer{"*": ownMetadata, "assistants": ownAssistants, "store": ownItems}
}

// ownMetadata marks what is written and filters what is read.
func ownMetadata(_ context.Context, e *Event) (Filter, error) {
	if e.User.Kind == KindAnonymous {
		return nil, nil
	}
	switch e.Action {
	case "create", "update", "create_run":
		e.Value.SetMetadata(thread.ProjectKey, e.User.ProjectID())
		if e.User.Workspace != "" {
			e.Value.SetMetadata(thread.WorkspaceKey, e.User.Workspace)
		} else {
			e.Value.DeleteMetadata(thread.WorkspaceKey) // it stays what it is
		}
	}
	return scopeFilter(e.User), nil
}

// scopeFilter matches the metadata of what a user may see.
func scopeFilter(u *User) Filter {
	f := marked(thread.ProjectKey, u.ProjectID(), thread.DefaultProject)
	if u.Workspace == "" {
		return f
	}
	w := marked(thread.WorkspaceKey, u.Workspace, thread.DefaultWorkspace)
	if _, both := f["$or"]; both && w["$or"] != nil {
		return Filter{"$or": mustJSON(combine(f, w))}
	}
	for k, v := range w {
		f[k] = v
	}
	return f
}

// marked matches metadata whose key has a value; that of def may be missing.
func marked(key, value, def string) Filter {
	if value != def {
		return Equal(key, value)
	}
	return Filter{"$or": mustJSON([]Filter{Equal(key, value), {key: json.RawMessage(`{"$absent":true}`)}})}
}

// combine is the conjunction of two disjunctions.
func combine(a, b Filter) []Filter {
	var out, left, right []Filter
	_ = json.Unmarshal(a["$or"], &left) // marked made them
	_ = json.Unmarshal(b["$or"], &right)
	for _, l := range left {
		for _, r := range right {
			one := Filter{}
			for k, v := range l {
				one[k] = v
			}
			for k, v := range r {
				one[k] = v
			}
			out = append(out, one)
		}
	}
	return out
}

// createdBy is the metadata key that tells system assistants from others.
const createdBy = "created_by"

// ownAssistants is ownMetadata with what is special about system assistants.
func ownAssistants(ctx context.Context, e *Event) (Filter, error) {
	f, err := ownMetadata(ctx, e)
	if err != nil || e.User.Kind == KindAnonymous {
		return f, err
	}
	system := Equal(createdBy, "system")
	switch e.Action {
	case "read", "search":
		return Filter{"$or": mustJSON([]Filter{f, system})}, nil
	case "create", "update":
		if e.Value.metadata(createdBy) == `"system"` {
			e.Value.DeleteMetadata(createdBy) // nobody makes others see theirs
		}
	}
	if e.Action == "delete" || !e.User.Roles.Has(RoleOwner) { // its runs are everybody's
		f[createdBy] = json.RawMessage(`{"$ne":"system"}`)
	}
	return f, nil
}

// ownItems moves namespaces into those of the user's project or workspace; the server takes the
// label off again before it answers.
func ownItems(_ context.Context, e *Event) (Filter, error) {
	if e.User.Kind == KindAnonymous {
		return nil, nil
	}
	ns, _ := e.Value.Strings("namespace")
	if thread.Reserved(ns) {
		return nil, Forbidden("The first label of a namespace can't begin with ~")
	}
	scoped := thread.ScopedNamespace(e.User.Project, e.User.Workspace, ns)
	if len(scoped) == len(ns) {
		return thread.UnscopedItems(), nil
	}
	e.Value["namespace"] = mustJSON(scoped)
	return nil, nil
}
