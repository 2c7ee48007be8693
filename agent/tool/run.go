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

// RunOption configures Set.Run: Reviewed, MessageID, StateFrom.
type RunOption func(*runOptions)

type runOptions struct {
	reviewed  bool
	messageID string
	state     func() json.RawMessage
}

// Reviewed says that a person has decided on the call: functions that don't say
// otherwise are carried out at most once then (decisions 6).
func Reviewed() RunOption { return func(o *runOptions) { o.reviewed = true } }

// MessageID is the id of the tool message that Run makes, by default one derived from the task.
func MessageID(id string) RunOption { return func(o *runOptions) { o.messageID = id } }

// StateFrom gives the state on demand, instead of Run's argument.
func StateFrom(state func() json.RawMessage) RunOption {
	return func(o *runOptions) { o.state = state }
}

// run is one call that is carried out.
type run struct {
	ctx  agent.Context
	call message.ToolCall
	id   string // of the tool message; "" derives one
}

// Run carries out one call in the task of ctx, reports it to the run's readers
// and returns the update with its tool message. What the model did wrong (an unknown
// tool, bad arguments) and what a tool failed with is answered with a message of status
// error. An error is returned only if it agent.Bubbles: return it from the node.
// A call that waits for a person is reported as started, again after the
// answer, and not as failed (decisions 11). state is what tools see as Context.State; may be nil.
func (s *Set) Run(ctx agent.Context, call message.ToolCall, state json.RawMessage, opts ...RunOption) (agent.Update, error) {
	o := runOptions{state: func() json.RawMessage { return state }}
	for _, opt := range opts {
		opt(&o)
	}
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	r := run{ctx, call, o.messageID}
	agent.ToolCallStarted(ctx, call.ID, call.Name, call.Args)
	if err := s.refuses(call); err != nil {
		return r.refuse(err)
	}
	c := &callContext{Context: ctx, call: call, state: o.state, once: o.reviewed}
	out, err := attempt(ctx, func() (any, error) { return s.entries[call.Name].tool.Call(c) }, func(v any) {
		agent.ToolCallOutput(ctx, call.ID, call.Name, v)
	})
	if agent.Bubbles(ctx, err) {
		if err == nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			return nil, agent.ErrSuspended
		}
		return nil, err
	}
	if err == nil {
		err = out.err()
	}
	var update agent.Update
	var answer message.Message
	if err == nil {
		update, answer, err = r.answered(out)
	}
	if err != nil {
		return r.refuse(err)
	}
	agent.ToolCallFinished(ctx, call.ID, call.Name, answer)
	return update, nil
}

// refuses tells why a call can't be carried out; nil if it can.
func (s *Set) refuses(call message.ToolCall) error {
	if _, ok := s.entries[call.Name]; !ok {
		return fmt.Errorf("%s is not a valid tool, try one of [%s].", call.Name, strings.Join(s.names(), ", ")) //nolint:staticcheck // a sentence for the model
	}
	if issues := s.Issues(call.Name, call.Args); len(issues) > 0 {
		return badArguments(call, issues)
	}
	return nil
}

func (r run) messageID() string {
	if r.id != "" {
		return r.id
	}
	return r.ctx.NewID()
}

// refuse answers a call with an error that the model can read.
func (r run) refuse(err error) (agent.Update, error) {
	agent.ToolCallFailed(r.ctx, r.call.ID, r.call.Name, err)
	m := message.NewTool(r.call.ID, r.call.Name, "Error: "+err.Error()+"\n Please fix your mistakes.")
	m.ID, m.Status = r.messageID(), "error"
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
func (r run) answered(out outcome) (agent.Update, message.Message, error) {
	switch {
	case out.Command != nil:
		return r.commanded(out.Command)
	case out.Messages != nil:
		all := slices.Clone(out.Messages)
		answer := r.complete(all)
		if answer == nil {
			return nil, message.Message{}, fmt.Errorf("tool %q returned a message that doesn't answer call %q", r.call.Name, r.call.ID)
		}
		return agent.Set(messagesKey, all), *answer, nil
	}
	m := message.NewTool(r.call.ID, r.call.Name, "")
	m.ID, m.Status, m.Content, m.Artifact = r.messageID(), "success", out.Content, out.Artifact
	if out.Failed {
		m.Status = "error"
	}
	return agent.Set(messagesKey, []message.Message{m}), m, nil
}

// complete gives messages ids, so that the result is reported under the id that the
// state will have, and finds the one that answers the call; nil if there is none.
func (r run) complete(messages []message.Message) *message.Message {
	var answer *message.Message
	for i := range messages {
		m := &messages[i]
		answers := m.Type == message.Tool && m.ToolCallID == r.call.ID
		if m.ID == "" && answers {
			m.ID = r.messageID()
		}
		if m.ID == "" {
			m.ID = r.ctx.NewID()
		}
		if answers {
			answer = m
		}
	}
	return answer
}

// commanded completes the messages of a Command.
func (r run) commanded(cmd *agent.Command) (agent.Update, message.Message, error) {
	full := *cmd
	full.Update = slices.Clone(cmd.Update)
	var answer *message.Message
	for i, w := range full.Update {
		if w.Channel != messagesKey {
			continue
		}
		messages, err := message.CoerceList(w.Value)
		if err != nil {
			return nil, message.Message{}, fmt.Errorf("tool %q: %w", r.call.Name, err)
		}
		if found := r.complete(messages); found != nil {
			answer = found
		}
		full.Update[i].Value = message.New(messages...).AppendJSON(nil)
	}
	if answer == nil {
		return nil, message.Message{}, fmt.Errorf("tool %q returned a Command without a message that answers call %q", r.call.Name, r.call.ID)
	}
	return &full, *answer, nil
}
