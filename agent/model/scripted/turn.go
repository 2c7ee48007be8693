package scripted

import (
	"context"
	"errors"
	"time"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// errEnough: the caller stopped listening.
var errEnough = errors.New("scripted: enough")

// Say returns a turn that answers with text.
func Say(text string) Turn { return Turn{Text: text} }

// CallTool returns a turn that calls a tool; args must be a JSON object.
func CallTool(id, name, args string) Turn {
	return Turn{ToolCalls: []message.ToolCall{message.NewToolCall(id, name, []byte(args))}}
}

// Always returns a Chooser of one turn.
func Always(t Turn) Chooser { return Sequence(t) }

// chunks cuts the answer; the last chunk carries usage and reason.
func (t Turn) chunks() []message.Chunk {
	var all []message.Chunk
	for _, w := range words(t.Reasoning) {
		all = append(all, message.Chunk{Reasoning: w})
	}
	tokens := t.Tokens
	if len(tokens) == 0 {
		tokens = words(t.Text)
	}
	for _, w := range tokens {
		all = append(all, message.Chunk{Text: w})
	}
	for i, call := range t.ToolCalls {
		for j, part := range halves(string(call.Args)) {
			piece := message.ToolCallChunk{Index: i, Args: part}
			if j == 0 {
				piece.ID, piece.Name = call.ID, call.Name
			}
			all = append(all, message.Chunk{ToolCalls: []message.ToolCallChunk{piece}})
		}
	}
	if t.Err != nil {
		return all[:min(max(t.FailAfter, 0), len(all))]
	}
	if len(all) == 0 {
		all = append(all, message.Chunk{})
	}
	last := &all[len(all)-1]
	last.Usage = t.Usage
	switch {
	case t.FinishReason != "":
		last.FinishReason = t.FinishReason
	case len(t.ToolCalls) > 0:
		last.FinishReason = "tool_use"
	default:
		last.FinishReason = "stop"
	}
	return all
}

// play yields the turn's chunks in time.
func (t Turn) play(ctx context.Context, id string, yield func(message.Chunk, error) bool) error {
	if err := model.Sleep(ctx, t.Delay); err != nil {
		return err
	}
	var first time.Time
	if t.Interval > 0 {
		first = model.Now(ctx)
	}
	for i, c := range t.chunks() {
		if t.Interval > 0 && i > 0 {
			due := first.Add(time.Duration(i) * t.Interval)
			if err := model.Sleep(ctx, due.Sub(model.Now(ctx))); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c.ID = id
		if !yield(c, nil) {
			return errEnough
		}
	}
	return t.Err
}
