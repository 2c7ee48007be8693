package thread

import (
	"context"
	"time"
)

// Delivery is one message of the outbox: a webhook to be sent.
type Delivery struct {
	ID       string
	ThreadID string
	RunID    string
	URL      string
	Attempt  int
	Due      time.Time
	// Payload is made when it is sent, from the run as it ended.
}

// Outbox holds webhooks until they are delivered.
type Outbox interface {
	DueDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// RetryDelivery puts it off; FinishDelivery removes it.
	RetryDelivery(ctx context.Context, id string, due time.Time, lastError string) error
	FinishDelivery(ctx context.Context, id string) error
}
