package stream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/parley-dev/parley/stream/frame"
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
func (s *subscription) sent(f *frame.Frame) bool {
	return (s.until == 0 || f.Pos <= s.until) && f.Seq > s.since && s.filter.Passes(f.Label) && !s.past.stale(f)
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
func (s *subscriptions) sent(f *frame.Frame) bool {
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

// gatherTime is how long a subscribe waits for others that the client sends along.
const gatherTime = 10 * time.Millisecond

// joining is a subscription that is about to begin.
type joining struct {
	subscription
	reader *eventReader
	frames []frame.Frame // the next ones of the past that weren't looked at
}

// gather subscribes, together with the commands of the same kind that follow at
// once. Pages send two at a time, and SDK 1.9.28 stops listening when a run's end
// comes before the rest of the run: so they share one past, in order.
func (s *socket) gather(ctx context.Context, first *protocol.Command) error {
	cmds := []*protocol.Command{first}
	late := time.NewTimer(gatherTime)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return s.subscribe(ctx, cmds)
		case it := <-s.items:
			if it.subscribe != nil {
				cmds = append(cmds, it.subscribe)
				continue
			}
			if err := s.subscribe(ctx, cmds); err != nil {
				return err
			}
			return s.handle(ctx, it)
		}
	}
}

// subscribe answers, then sends what the subscriptions find in the past and the
// connection has not had, and from then on what comes.
func (s *socket) subscribe(ctx context.Context, cmds []*protocol.Command) error {
	upTo := s.live.pos
	var all []*joining
	defer func() {
		for _, j := range all {
			j.reader.close()
		}
	}()
	for _, cmd := range cmds {
		params, err := protocol.ParseSubscription(cmd.Params)
		if err != nil {
			if err := s.handle(ctx, refused(&cmd.ID, err)); err != nil {
				return err
			}
			continue
		}
		o := s.o.Events
		o.Filters = protocol.Filters{protocol.NewFilter(params)}
		if params.Since != nil {
			o.Since = *params.Since
		}
		j := &joining{reader: s.hub.newEventReader(s.o.ThreadID, o)}
		all = append(all, j)
		matching, err := j.reader.count(ctx, upTo)
		if err != nil {
			return err
		}
		j.subscription = subscription{id: newSubscriptionID(), filter: o.Filters[0], since: j.reader.seq, past: j.reader.replay}
		meta, err := s.meta(ctx)
		if err != nil {
			return err
		}
		if err := s.reply(ctx, protocol.Reply{
			Type: "success", ID: &cmd.ID, Meta: meta, Result: protocol.Subscribed{SubscriptionID: j.id, ReplayedEvents: matching},
		}); err != nil {
			return err
		}
	}
	if err := s.sendPast(ctx, all, upTo); err != nil {
		return err
	}
	for _, j := range all {
		s.subs.add(j.subscription)
	}
	s.live.setFilters(s.subs.filters())
	return nil
}

// sendPast sends the events up to a Pos that match one of the subscriptions, each
// once and in their order.
func (s *socket) sendPast(ctx context.Context, all []*joining, upTo int64) error {
	var last int64
	for {
		var next *joining
		for _, j := range all {
			if err := s.fill(ctx, j, upTo); err != nil {
				return err
			}
			if len(j.frames) > 0 && (next == nil || j.frames[0].Pos < next.frames[0].Pos) {
				next = j
			}
		}
		if next == nil {
			return nil
		}
		f := &next.frames[0]
		if (f.Pos == 0 || f.Pos > last) && !s.subs.sent(f) {
			if err := s.write(ctx, f.Data()); err != nil {
				return err
			}
			last = f.Pos
		}
		next.frames = next.frames[1:]
	}
}

// fill reads on in a subscription's past until it has frames, or none are left.
func (s *socket) fill(ctx context.Context, j *joining, upTo int64) error {
	for len(j.frames) == 0 && (j.reader.pos < upTo || j.reader.lead != nil) {
		frames, state, err := j.reader.next(ctx)
		if err != nil {
			return err
		}
		j.frames = slices.DeleteFunc(slices.Clone(frames), func(f frame.Frame) bool { return f.Pos > upTo })
		if state == missing && len(j.frames) == 0 {
			if err := s.soon(ctx); err != nil {
				return err
			}
		}
	}
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
	meta := &protocol.Meta{ThreadID: s.o.ThreadID}
	mine, err := s.live.mine(ctx)
	if err == nil && mine {
		_, meta.AppliedThroughSeq, err = s.live.track.log.end(ctx)
	}
	return meta, err
}

// send sends events, each as one message.
func (s *socket) send(ctx context.Context, frames []frame.Frame) error {
	for i := range frames {
		if err := s.write(ctx, frames[i].Data()); err != nil {
			return err
		}
	}
	return nil
}
