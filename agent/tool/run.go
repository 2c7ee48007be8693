package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// messagesKey is the state key that tool messages are written to.
const messagesKey = "messages"

// Run carries out one call in the task of ctx, reports it to the run's readers
// and returns the update with its tool message. What the model did wrong (an unknown
// tool, bad arguments) and what a tool failed with is answered with a message of status
// error. An error is returned only if it agent.Bubbles: return it from the node.
// A call that waits for a person is reported as started, again after the
// answer, and not as failed (decisions 11). state is what tools see as Context.State; may be nil.
func (s *Set) Run(ctx agent.Context, call message.ToolCall, state json.RawMessage) (agent.Update, error) {
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	agent.ToolCallStarted(ctx, call.ID, call.Name, call.Args)
	e, ok := s.entries[call.Name]
	if !ok {
		return refuse(ctx, call, fmt.Errorf("%s is not a valid tool, try one of [%s].", call.Name, strings.Join(s.names(), ", "))) //nolint:staticcheck // a sentence for the model
	}
	if e.args != nil {
		if issues := e.args.Issues(call.Args); len(issues) > 0 {
			return refuse(ctx, call, badArguments(call, issues))
		}
	}
	result, err := e.tool.Call(&callContext{Context: ctx, call: call, state: state})
	var update agent.Update
	var answer message.Message
	if !agent.Bubbles(ctx, err) && err == nil {
		update, answer, err = answered(ctx, call, result)
	}
	switch {
	case agent.Bubbles(ctx, err):
		if err == nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			return nil, agent.ErrSuspended
		}
		return nil, err
	case err != nil:
		return refuse(ctx, call, err)
	}
	agent.ToolCallFinished(ctx, call.ID, call.Name, answer)
	return update, nil
}

// refuse answers a call with an error that the model can read.
func refuse(ctx agent.Context, call message.ToolCall, err error) (agent.Update, error) {
	agent.ToolCallFailed(ctx, call.ID, call.Name, err)
	m := message.NewTool(call.ID, call.Name, "Error: "+err.Error()+"\n Please fix your mistakes.")
	m.ID, m.Status = ctx.NewID(), "error"
	return agent.Set(messagesKey, []message.Message{m}), nil
}

// badArguments says what is wrong with the arguments of a call.
func badArguments(call message.ToolCall, issues []agent.Issue) error {
	texts := make([]string, len(issues))
	for i, issue := range issues {
		texts[i] = strings.TrimPrefix(strings.ReplaceAll(issue.Path, "/", "."), ".")
		if texts[i] != "" {
			texts[i] += ": "
		}
		texts[i] += issue.Message
	}
	return fmt.Errorf("Error invoking tool '%s' with kwargs %s with error: %s", call.Name, call.Args, strings.Join(texts, "; ")) //nolint:staticcheck // a sentence for the model
}

// answered makes the update and the tool message of what a tool returned.
func answered(ctx agent.Context, call message.ToolCall, result any) (agent.Update, message.Message, error) {
	switch r := result.(type) {
	case *agent.Command:
		return commanded(ctx, call, r)
	case message.Message:
		if r.Type != message.Tool || r.ToolCallID != call.ID {
			return nil, r, fmt.Errorf("tool %q returned a message that doesn't answer call %q", call.Name, call.ID)
		}
		if r.ID == "" {
			r.ID = ctx.NewID()
		}
		return agent.Set(messagesKey, []message.Message{r}), r, nil
	}
	content, err := contentOf(result)
	if err != nil {
		return nil, message.Message{}, fmt.Errorf("tool %q: encode its result: %w", call.Name, err)
	}
	m := message.NewTool(call.ID, call.Name, content)
	m.ID, m.Status = ctx.NewID(), "success"
	return agent.Set(messagesKey, []message.Message{m}), m, nil
}

// contentOf is a result as the text of a message.
func contentOf(result any) (string, error) {
	if text, ok := result.(string); ok {
		return text, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// commanded completes a Command: its messages get ids now, so that the result
// is reported under the id that the state will have.
func commanded(ctx agent.Context, call message.ToolCall, cmd *agent.Command) (agent.Update, message.Message, error) {
	full := *cmd
	full.Update = slices.Clone(cmd.Update)
	var answer *message.Message
	for i, w := range full.Update {
		if w.Channel != messagesKey {
			continue
		}
		messages, err := message.CoerceList(w.Value)
		if err != nil {
			return nil, message.Message{}, fmt.Errorf("tool %q: %w", call.Name, err)
		}
		for j := range messages {
			m := &messages[j]
			if m.ID == "" {
				m.ID = ctx.NewID()
			}
			if m.Type == message.Tool && m.ToolCallID == call.ID {
				answer = m
			}
		}
		full.Update[i].Value = message.New(messages...).AppendJSON(nil)
	}
	if answer == nil {
		return nil, message.Message{}, fmt.Errorf("tool %q returned a Command without a message that answers call %q", call.Name, call.ID)
	}
	return &full, *answer, nil
}

// Answer is a Command that answers a call with a text and writes further state
// keys, in order. It says nothing of success (spec/conformance-frontends.md 4.1).
func Answer(call message.ToolCall, text string, more ...agent.Write) *agent.Command {
	m := message.NewTool(call.ID, call.Name, text)
	return &agent.Command{Update: append(slices.Clone(more), agent.Write{
		Channel: messagesKey, Value: message.New(m).AppendJSON(nil),
	})}
}
