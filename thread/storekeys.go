package thread

import (
	"context"
	"time"
)

// Key is an API key as it is stored: never its secret.
type Key struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	Name    string `json:"name"`
	// Hash is the SHA-256 of the secret, lower-case hex.
	Hash string `json:"hash"`
	// Roles are viewer, operator, reviewer, owner; a reviewer may be bound: "reviewer:AGENT", "reviewer:AGENT/TOOL".
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

// Keys are the API keys. Each change is audited in the project's chain, in the same transition.
type Keys interface {
	// CreateKey stores a key; ErrExists when the id is taken. Detail of the entry is the key without its hash.
	CreateKey(ctx context.Context, k Key, audit AuditBody) error
	// GetKey finds a key, revoked and expired ones, too; *NotFoundError.
	GetKey(ctx context.Context, id string) (Key, error)
	// ListKeys lists a project's keys, oldest first; project "" means all.
	ListKeys(ctx context.Context, project string) ([]Key, error)
	// RevokeKey sets RevokedAt, store time. Revoking once more changes nothing; *NotFoundError.
	RevokeKey(ctx context.Context, id string, audit AuditBody) (Key, error)
}

// Executions finds executions: chains of runs from one invocation to its end (design 8).
type Executions interface {
	// ListExecutions lists the first runs of a project's executions, newest first.
	ListExecutions(ctx context.Context, q ExecutionQuery) ([]Run, error)
}

// ExecutionQuery selects executions. The project is Run.Project.
type ExecutionQuery struct {
	Project string
	// Before is where to go on: only executions older than this run. "" for the newest.
	Before string
	Limit  int
}
