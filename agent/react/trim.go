package react

import (
	"errors"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Trimming says how much of a conversation the model gets. One of Messages and Tokens is needed.
type Trimming struct {
	// Messages and Tokens are the most that is kept of the newest messages; 0 is no bound. The
	// prompt and the descriptions of tools aren't counted.
	Messages, Tokens int
	// Count counts the tokens of a message. Default: Estimate.
	Count Counter
}

// Trim is a middleware that shows the model the newest part of the conversation only; what is
// stored stays whole. A call and its answers are never parted. The part begins with a human
// message: if the newest one is older than all that is kept, it is kept, too, as
// are system messages at the start. The newest message is shown whatever its size.
func Trim(t Trimming) Middleware {
	return Middleware{
		Name: "TrimMiddleware",
		check: func() error {
			if t.Messages <= 0 && t.Tokens <= 0 {
				return errors.New("trimming: neither Messages nor Tokens says how much")
			}
			return nil
		},
		WrapModel: func(ctx agent.Context, call ModelCall, next ModelHandler) (message.Message, error) {
			call.Request.Messages = t.newest(call.Request.Messages)
			return next(ctx, call)
		},
	}
}

// newest is what is kept of a conversation.
func (t Trimming) newest(conversation message.List) message.List {
	all := exchanges(Acceptable(conversation))
	start := 0 // behind the system messages
	for start < len(all) && all[start][0].Type == message.System {
		start++
	}
	human := -1 // the newest human message
	for i := start; i < len(all); i++ {
		if all[i][0].Type == message.Human {
			human = i
		}
	}
	used := size{}
	for _, e := range all[:start] {
		used.add(t, e)
	}
	if human >= 0 {
		used.add(t, all[human])
	}
	first := len(all)
	for i := len(all) - 1; i >= start; i-- {
		next := used
		if i != human {
			next.add(t, all[i])
		}
		if first < len(all) && next.over(t) {
			break
		}
		first, used = i, next
	}
	kept := slices.Clone(all[:start])
	switch begin := slices.IndexFunc(all[first:], func(e []message.Message) bool { return e[0].Type == message.Human }); {
	case begin >= 0:
		first += begin
	case human >= 0:
		kept = append(kept, all[human])
	}
	kept = append(kept, all[first:]...)
	if len(kept) == len(all) {
		return conversation
	}
	return message.New(slices.Concat(kept...)...)
}

// size is what messages take.
type size struct{ messages, tokens int }

func (s *size) add(t Trimming, messages []message.Message) {
	count := t.Count
	if count == nil {
		count = Estimate
	}
	s.messages += len(messages)
	if t.Tokens > 0 {
		for _, m := range messages {
			s.tokens += count(m)
		}
	}
}

func (s size) over(t Trimming) bool {
	return t.Messages > 0 && s.messages > t.Messages || t.Tokens > 0 && s.tokens > t.Tokens
}

// exchanges cuts an acceptable conversation where it can be cut: an AI message and the answers to its calls are one piece.
func exchanges(conversation message.List) [][]message.Message {
	var all [][]message.Message
	for _, m := range conversation.All() {
		if m.Type == message.Tool && len(all) > 0 {
			all[len(all)-1] = append(all[len(all)-1], m)
			continue
		}
		all = append(all, []message.Message{m})
	}
	return all
}
