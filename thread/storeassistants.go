package thread

import (
	"context"
	"encoding/json"
	"time"
)

// Assistant is a named, versioned configuration of a graph.
type Assistant struct {
	ID          string
	GraphID     string
	Name        string
	Description *string
	Version     int
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    Metadata
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Assistants are the rows of assistants and their versions.
type Assistants interface {
	// CreateAssistant stores version 1; ErrExists when the id is taken.
	CreateAssistant(ctx context.Context, a Assistant) error
	GetAssistant(ctx context.Context, id string) (Assistant, error)
	// PatchAssistant stores a new version: highest version + 1.
	PatchAssistant(ctx context.Context, id string, change func(*Assistant)) (Assistant, error)
	// SetAssistantVersion makes an existing version the current one.
	SetAssistantVersion(ctx context.Context, id string, version int, at time.Time) (Assistant, error)
	AssistantVersions(ctx context.Context, id string, metadata Metadata, limit, offset int) ([]Assistant, error)
	DeleteAssistant(ctx context.Context, id string) error
	SearchAssistants(ctx context.Context, q AssistantQuery) ([]Assistant, int, error)
}

// AssistantQuery filters and sorts assistants.
type AssistantQuery struct {
	GraphID  string
	Name     string // case-insensitive substring
	Metadata Metadata
	Filter   Filter
	SortBy   string
	SortAsc  bool
	Limit    int
	Offset   int
}
