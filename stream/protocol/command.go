package protocol

import (
	"context"
	"encoding/json"
	"math"
)

// Codes of refused commands that belong to connections (spec/streaming-protocol.md 1.2).
const (
	InvalidArgument    = "invalid_argument"
	NoSuchSubscription = "no_such_subscription"
	NotSupported       = "not_supported"
	UnknownError       = "unknown_error"
)

// Texts of refused commands, which clients know.
const (
	TextNotJSON   = "Protocol commands must be valid JSON."
	TextNoCommand = "Protocol commands must include an integer id and string method."
)

// Command is one command of a client.
type Command struct {
	ID     int64
	Method string
	Params json.RawMessage // an object, or nil
}

// Refusal says why a command is not carried out.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Message }

// ParseCommand reads a command as it came over a socket. The error is a *Refusal.
func ParseCommand(raw []byte) (Command, error) {
	var c struct {
		ID     *float64        `json:"id"`
		Method *string         `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	switch err := json.Unmarshal(raw, &c); {
	case err != nil && !json.Valid(raw):
		return Command{}, &Refusal{InvalidArgument, TextNotJSON}
	case err != nil, c.ID == nil, c.Method == nil, *c.ID != math.Trunc(*c.ID), *c.ID < 0, *c.ID > 1<<53:
		return Command{}, &Refusal{InvalidArgument, TextNoCommand}
	}
	return Command{ID: int64(*c.ID), Method: *c.Method, Params: c.Params}, nil
}

// Reply answers a command.
type Reply struct {
	Type    string `json:"type"` // success or error
	ID      *int64 `json:"id"`   // the command's; null where it has none
	Result  any    `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	Meta    *Meta  `json:"meta,omitempty"`
}

// Meta is what successful replies say of the thread.
type Meta struct {
	ThreadID string `json:"thread_id"`
	// AppliedThroughSeq is the seq of the thread's newest event when the reply was made.
	AppliedThroughSeq int64 `json:"applied_through_seq"`
}

// Subscribed is the result of subscription.subscribe.
type Subscribed struct {
	SubscriptionID string `json:"subscription_id"`
	// ReplayedEvents is the number of past events that match.
	ReplayedEvents int `json:"replayed_events"`
}

// Refuse is the reply to a command that isn't carried out; id is nil for what was no command.
func Refuse(id *int64, r *Refusal) Reply {
	return Reply{Type: "error", ID: id, Error: r.Code, Message: r.Message}
}

// ParseSubscription reads the params of subscription.subscribe. The error is a *Refusal.
func ParseSubscription(params json.RawMessage) (Subscription, error) {
	var s struct {
		Channels   *[]string  `json:"channels"`
		Namespaces [][]string `json:"namespaces"`
		Depth      *int       `json:"depth"`
		Since      *int64     `json:"since"`
	}
	switch err := json.Unmarshal(params, &s); {
	case len(params) == 0, err == nil && s.Channels == nil:
		return Subscription{}, &Refusal{InvalidArgument, "subscription.subscribe requires channels."}
	case err != nil, s.Depth != nil && *s.Depth < 0, s.Since != nil && *s.Since < 0:
		return Subscription{}, &Refusal{InvalidArgument, "subscription.subscribe takes channels, namespaces, depth and since."}
	}
	return Subscription{Channels: *s.Channels, Namespaces: s.Namespaces, Depth: s.Depth, Since: s.Since}, nil
}

// Commander carries out the commands that are not about subscriptions, on one
// thread. The reply is the JSON that the client gets, be it a refusal; the error
// is a fault of the server's own.
type Commander interface {
	Command(ctx context.Context, raw json.RawMessage) (reply json.RawMessage, err error)
}
