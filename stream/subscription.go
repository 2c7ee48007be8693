package stream

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/parley-dev/parley/stream/protocol"
)

// subscription is one of a socket's.
type subscription struct {
	id     string
	filter protocol.Filter
	since  int64
	past   replay
	// until is the Pos up to which events were sent for it; 0 while it is active.
	until int64
}

// sent reports whether the subscription, at the time, had the event sent.
func (s *subscription) sent(f *protocol.Frame) bool {
	return (s.until == 0 || f.Pos <= s.until) && f.Seq > s.since && s.filter.Passes(f) && !s.past.stale(f)
}

// subscriptions are all that a socket has and had.
type subscriptions struct {
	list []subscription
	// synthetic are the ids of events that were sent in place of lost ones.
	synthetic map[string]bool
}

// maxSubscriptions bounds the subscriptions that are remembered: beyond it those
// that ended first are forgotten, and their events may be sent once more.
const maxSubscriptions = 256

// sent reports whether the connection has had an event, whose Pos is at most that
// of the events now sent.
func (s *subscriptions) sent(f *protocol.Frame) bool {
	if f.Pos == 0 { // made for a reader whose place is gone
		id := string(f.ID())
		if s.synthetic[id] {
			return true
		}
		if s.synthetic == nil {
			s.synthetic = map[string]bool{}
		}
		s.synthetic[id] = true
		return false
	}
	return slices.ContainsFunc(s.list, func(sub subscription) bool { return sub.sent(f) })
}

// filters are those of the active ones.
func (s *subscriptions) filters() protocol.Filters {
	var fs protocol.Filters
	for i := range s.list {
		if s.list[i].until == 0 {
			fs = append(fs, s.list[i].filter)
		}
	}
	return fs
}

func (s *subscriptions) add(sub subscription) {
	if len(s.list) >= maxSubscriptions {
		if i := slices.IndexFunc(s.list, func(old subscription) bool { return old.until != 0 }); i >= 0 {
			s.list = slices.Delete(s.list, i, i+1)
		}
	}
	s.list = append(s.list, sub)
}

// end ends one at a Pos; false if there is none of that id.
func (s *subscriptions) end(id string, pos int64) bool {
	i := slices.IndexFunc(s.list, func(sub subscription) bool { return sub.id == id && sub.until == 0 })
	if i < 0 {
		return false
	}
	s.list[i].until = max(pos, 1)
	return true
}

// subscribe answers, then sends what the subscription finds in the past and the
// connection has not had, and from then on what comes.
func (s *socket) subscribe(ctx context.Context, cmd *protocol.Command) error {
	params, err := protocol.ParseSubscription(cmd.Params)
	if err != nil {
		return s.handle(ctx, refused(&cmd.ID, err))
	}
	o := s.o.Events
	o.Filters = protocol.Filters{protocol.NewFilter(params)}
	if params.Since != nil {
		o.Since = *params.Since
	}
	past := s.hub.newEventReader(s.o.ThreadID, o)
	defer past.close()
	upTo := s.live.pos
	matching, err := past.count(ctx, upTo)
	if err != nil {
		return err
	}
	meta, err := s.meta(ctx)
	if err != nil {
		return err
	}
	sub := subscription{id: newSubscriptionID(), filter: o.Filters[0], since: past.seq, past: past.replay}
	if err := s.reply(ctx, protocol.Reply{
		Type: "success", ID: &cmd.ID, Meta: meta, Result: protocol.Subscribed{SubscriptionID: sub.id, ReplayedEvents: matching},
	}); err != nil {
		return err
	}
	for past.pos < upTo || past.lead != nil {
		frames, state, err := past.next(ctx)
		if err != nil {
			return err
		}
		frames = slices.DeleteFunc(slices.Clone(frames), func(f protocol.Frame) bool { return f.Pos > upTo || s.subs.sent(&f) })
		if err := s.send(ctx, frames); err != nil {
			return err
		}
		if state == missing {
			if err := s.soon(ctx); err != nil {
				return err
			}
		}
	}
	s.subs.add(sub)
	s.live.setFilters(s.subs.filters())
	return nil
}

// unsubscribe ends a subscription.
func (s *socket) unsubscribe(ctx context.Context, cmd *protocol.Command) error {
	var params struct {
		ID *string `json:"subscription_id"`
	}
	if len(cmd.Params) == 0 || json.Unmarshal(cmd.Params, &params) != nil || params.ID == nil {
		return s.handle(ctx, refused(&cmd.ID, &protocol.Refusal{Code: protocol.InvalidArgument, Message: "subscription.unsubscribe requires a subscription_id."}))
	}
	if !s.subs.end(*params.ID, s.live.pos) {
		return s.handle(ctx, refused(&cmd.ID, &protocol.Refusal{Code: protocol.NoSuchSubscription, Message: "Unknown subscription: " + *params.ID}))
	}
	s.live.setFilters(s.subs.filters())
	meta, err := s.meta(ctx)
	if err != nil {
		return err
	}
	return s.reply(ctx, protocol.Reply{Type: "success", ID: &cmd.ID, Result: struct{}{}, Meta: meta})
}

func (s *socket) meta(ctx context.Context) (*protocol.Meta, error) {
	_, seq, err := s.live.track.log.end(ctx)
	return &protocol.Meta{ThreadID: s.o.ThreadID, AppliedThroughSeq: seq}, err
}

// send sends events, each as one message.
func (s *socket) send(ctx context.Context, frames []protocol.Frame) error {
	for i := range frames {
		if err := s.write(ctx, frames[i].Data()); err != nil {
			return err
		}
	}
	return nil
}
