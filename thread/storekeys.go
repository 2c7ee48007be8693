package thread

import (
	"context"
	"encoding/json"
	"time"
)

// Key is an API key as it is stored: never its secret.
type Key struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	Name    string `json:"name"`
	// Hash is the SHA-256 of the secret, lower-case hex.
	Hash string `json:"hash,omitempty"`
	// Roles are viewer, operator, reviewer, owner; a reviewer may be bound: "reviewer:AGENT", "reviewer:AGENT/TOOL". "team:NAME" only names who reviews are escalated to.
	Roles []string `json:"roles"`
	// Agent marks the key of a program, which can't decide reviews whatever its roles (D-102).
	Agent bool `json:"agent,omitempty"`
	// Workspace bounds the key to one; "": all of the project.
	Workspace string    `json:"workspace,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	// ExpiresAt and RevokedAt are zero for never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// Keys are the API keys. Each change is audited in the chain of the key's project, in the same transition; of
// a body that says nothing else, the action is AuditKeyCreated or AuditKeyRevoked, the actor ActorFrom(ctx)
// and Detail Key.Public (of one that is revoked, as it was before).
type Keys interface {
	// CreateKey stores a key; ErrExists when the id is taken. A zero CreatedAt becomes the store's time, Project "" DefaultProject.
	CreateKey(ctx context.Context, k Key, audit AuditBody) error
	// GetKey finds a key, revoked and expired ones, too; *NotFoundError of kind "key".
	GetKey(ctx context.Context, id string) (Key, error)
	// ListKeys lists a project's keys, oldest first; project "" means all.
	ListKeys(ctx context.Context, project string) ([]Key, error)
	// RevokeKey sets RevokedAt, store time. Revoking once more changes nothing, and isn't audited; *NotFoundError.
	RevokeKey(ctx context.Context, id string, audit AuditBody) (Key, error)
}

// Public is the key as others may see it, in JSON: without its hash.
func (k Key) Public() json.RawMessage {
	k.Hash = ""
	b, err := json.Marshal(struct {
		Key
		CreatedAt time.Time `json:"created_at,omitzero"` // the store's clock sets it, later than this is asked
	}{k, k.CreatedAt})
	if err != nil { // strings and times always can be
		panic(err)
	}
	return b
}

// Executions finds executions: chains of runs from one invocation to its end (design 8).
type Executions interface {
	// ListExecutions lists the first runs of a project's executions (ID is ExecutionID), newest first by CreatedAt.
	// A removed first run has no execution.
	ListExecutions(ctx context.Context, q ExecutionQuery) ([]Run, error)
}

// ExecutionQuery selects executions. The project is Run.Project; "" is DefaultProject, in both.
type ExecutionQuery struct {
	Project string
	// Before is where to go on: only executions that this run comes before in the list. "" for the newest.
	// *NotFoundError when it is gone.
	Before string
	Limit  int // default 50
}
