package thread

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The metadata keys that say to which project and workspace a thread, an assistant
// or a cron belongs. What has none belongs to the default ones. The server sets them,
// never a client.
const (
	ProjectKey   = "project_id"
	WorkspaceKey = "workspace_id"
)

// scopeName is what projects and workspaces can be named.
var scopeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// ValidScope reports whether a project or workspace can have the name: 1 to 63
// letters, digits, _ and -, beginning with a letter or digit.
func ValidScope(name string) bool { return scopeName.MatchString(name) }

// ScopeMetadata marks what belongs to a project and workspace. An empty name marks nothing.
func ScopeMetadata(project, workspace string) Metadata {
	m := Metadata{}
	if project != "" {
		m[ProjectKey] = quoted(project)
	}
	if workspace != "" {
		m[WorkspaceKey] = quoted(workspace)
	}
	return m
}

// ScopeOf is the project and the workspace that metadata marks; the default ones without marks.
func ScopeOf(m Metadata) (project, workspace string) {
	return markOr(m, ProjectKey, DefaultProject), markOr(m, WorkspaceKey, DefaultWorkspace)
}

func markOr(m Metadata, key, def string) string {
	var s string
	if json.Unmarshal(m[key], &s) != nil || s == "" {
		return def
	}
	return s
}

// scopeMarks are the marks among metadata.
func scopeMarks(m Metadata) Metadata {
	marks := Metadata{}
	for _, key := range []string{ProjectKey, WorkspaceKey} {
		if v, ok := m[key]; ok {
			marks[key] = v
		}
	}
	return marks
}

// scope is where a run on a thread with this metadata belongs; "" for the default.
func (r *StartRun) scope(m Metadata) (project, workspace string) {
	project, workspace = r.Project, r.Workspace
	if project == "" {
		project = markOr(m, ProjectKey, "")
	}
	if workspace == "" {
		workspace = markOr(m, WorkspaceKey, "")
	}
	return project, workspace
}

// scopeSign begins the first label of a namespace that belongs to another project than the default one, or
// to another workspace than its default one. Clients and agents can't write such a label themselves.
const scopeSign = "~"

// scopeLabel is the first label of a workspace's namespaces; "" where they have none of their own.
func scopeLabel(project, workspace string) string {
	project, workspace = cmp.Or(project, DefaultProject), cmp.Or(workspace, DefaultWorkspace)
	switch {
	case workspace != DefaultWorkspace:
		return scopeSign + project + "/" + workspace // no name has a slash
	case project != DefaultProject:
		return scopeSign + project
	}
	return ""
}

// ScopedNamespace is where an item of a project's workspace with a namespace is stored: ["a"] of project p
// at ["~p", "a"], of its workspace w at ["~p/w", "a"], and that of the default ones as it is. "" are the default ones.
func ScopedNamespace(project, workspace string, namespace []string) []string {
	label := scopeLabel(project, workspace)
	if label == "" {
		return namespace
	}
	return append([]string{label}, namespace...)
}

// UnscopedNamespace undoes ScopedNamespace.
func UnscopedNamespace(project, workspace string, namespace []string) []string {
	if len(namespace) == 0 || scopeLabel(project, workspace) == "" {
		return namespace
	}
	return slices.Clone(namespace[1:])
}

// Reserved reports whether a namespace would reach into another project's, or another workspace's.
func Reserved(namespace []string) bool {
	return len(namespace) > 0 && strings.HasPrefix(namespace[0], scopeSign)
}

// UnscopedItems is the filter on items that belong to the default workspace of the default project.
func UnscopedItems() Filter { return Filter{"namespace": json.RawMessage(`{"$unscoped":true}`)} }

// isUnscoped is Reserved's opposite, of a decoded namespace.
func isUnscoped(namespace any) bool {
	labels, ok := namespace.([]any)
	if !ok {
		return false
	}
	if len(labels) == 0 {
		return true
	}
	first, ok := labels[0].(string)
	return ok && !strings.HasPrefix(first, scopeSign)
}
