package thread

import (
	"context"
	"encoding/json"
	"time"
)

// Cron is a schedule that creates runs.
type Cron struct {
	ID             string
	AssistantID    string
	ThreadID       string // "" for a stateless cron
	Schedule       string
	Timezone       string
	EndTime        time.Time
	Enabled        bool
	OnRunCompleted string
	Payload        json.RawMessage
	Metadata       Metadata
	UserID         string
	NextRun        time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Crons are the rows of crons.
type Crons interface {
	PutCron(ctx context.Context, c Cron) error
	GetCron(ctx context.Context, id string) (Cron, error)
	DeleteCron(ctx context.Context, id string) error
	SearchCrons(ctx context.Context, q CronQuery) ([]Cron, int, error)
	// FireCron claims one due firing: it sets NextRun only if it still is the one given, so a firing happens once.
	FireCron(ctx context.Context, id string, due, next time.Time) (bool, error)
}

// CronQuery finds crons.
type CronQuery struct {
	AssistantID, ThreadID string
	Enabled               *bool
	Metadata              Metadata
	DueBefore             time.Time
	SortBy                string
	SortAsc               bool
	Limit, Offset         int
}
