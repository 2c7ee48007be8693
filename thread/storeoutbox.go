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
	// Event is "" for a run that ended, or what became of a review: an Audit… action. The payload is made when it
	// is sent, from the run as it ended, or from the review of InterruptID.
	Event       string
	InterruptID string
	// LastError is the last attempt's; Dead marks one that is tried no more, since Due.
	LastError string
	Dead      bool
}

// Outbox holds webhooks until they are delivered.
type Outbox interface {
	// DueDeliveries lists those that are due and not dead, earliest first.
	DueDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// RetryDelivery counts an attempt and puts it off, a dead one, too, which then is tried again; FinishDelivery removes it.
	RetryDelivery(ctx context.Context, id string, due time.Time, lastError string) error
	FinishDelivery(ctx context.Context, id string) error
}

// DeadLetters are the deliveries that are tried no more. They don't keep the thread of a stateless run.
type DeadLetters interface {
	// FailDelivery counts an attempt and keeps the delivery, as dead since now, store time; *NotFoundError of kind "delivery".
	FailDelivery(ctx context.Context, id string, lastError string) error
	// DeadDeliveries lists those, the last that died first.
	DeadDeliveries(ctx context.Context, limit int) ([]Delivery, error)
}
