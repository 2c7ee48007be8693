package scripted

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// Turn is what a Script says in one call.
type Turn struct {
	// ID of the message; "" leaves it to the Script.
	ID string
	// Reasoning, Text and ToolCalls are the answer, streamed in this order.
	// Reasoning and Text come word by word, or as Tokens when those are given.
	Reasoning string
	Text      string
	Tokens    []string
	ToolCalls []message.ToolCall
	Usage     *message.Usage
	// FinishReason defaults to stop, or tool_use when there are tool calls.
	FinishReason string
	// Delay is waited before the first chunk. Chunk i is due at i × Interval
	// behind the first one, so that a late one doesn't delay the rest.
	Delay    time.Duration
	Interval time.Duration
	// Err, when set, is how the call ends after FailAfter chunks (all of them, when there are fewer).
	Err       error
	FailAfter int
}

// Call is what a Chooser decides on.
type Call struct {
	model.Request
	// N is the number of calls before this one; see Script.
	N int
}

// LastHuman is the text of the newest human message, "" when there is none.
func (c Call) LastHuman() string {
	for _, m := range c.Messages.Backward() {
		if m.Type == message.Human {
			return m.Text()
		}
	}
	return ""
}

// Chooser decides what a Script says.
type Chooser func(Call) (Turn, error)

// Sequence says one turn after the other, over and over; there must be one.
func Sequence(turns ...Turn) Chooser {
	return func(c Call) (Turn, error) { return turns[c.N%len(turns)], nil }
}

// Rule is one case of Match.
type Rule struct {
	// Contains is looked for in the newest human message, in any case; "" matches all.
	Contains string
	Say      Chooser
}

// Match follows the first rule that fits. No rule is an error of the call.
func Match(rules ...Rule) Chooser {
	return func(c Call) (Turn, error) {
		text := strings.ToLower(c.LastHuman())
		for _, r := range rules {
			if strings.Contains(text, strings.ToLower(r.Contains)) {
				return r.Say(c)
			}
		}
		return Turn{}, fmt.Errorf("scripted: no rule for %q", text)
	}
}

// Script is a model that says what Choose decides.
type Script struct {
	Choose Chooser
	// Cursors and Key, a thread's id, count the calls. Without Cursors a call's
	// number is that of ai messages behind the newest human one, so that a turn of
	// the conversation plays the script from its start, after a restart too.
	Cursors *Cursors
	Key     string
	// IDPrefix, with Cursors, makes message ids: it is followed by the call's number.
	IDPrefix string
	// Name is the model's ls_model_name; "" stands for scripted.
	Name string
}

// Info implements model.Model.
func (s Script) Info() model.Info {
	if s.Name == "" {
		return model.Info{Provider: "scripted", Name: "scripted"}
	}
	return model.Info{Provider: "scripted", Name: s.Name}
}

// Stream implements model.Model.
func (s Script) Stream(ctx context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		n, id := s.number(req)
		turn, err := s.Choose(Call{Request: req, N: n})
		if err == nil {
			if turn.ID != "" {
				id = turn.ID
			}
			err = turn.play(ctx, id, yield)
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(message.Chunk{}, err)
		}
	}
}

func (s Script) number(req model.Request) (n int, id string) {
	if s.Cursors != nil {
		n = s.Cursors.next(s.Key)
		if s.IDPrefix != "" {
			id = s.IDPrefix + strconv.Itoa(n)
		}
		return n, id
	}
	for _, m := range req.Messages.Backward() {
		if m.Type == message.Human {
			break
		}
		if m.Type == message.AI {
			n++
		}
	}
	return n, ""
}
