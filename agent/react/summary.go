package react

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// DefaultSummaryPrompt tells the model how to sum up.
const DefaultSummaryPrompt = `Sum up the conversation below for an assistant who is to go on with it and sees nothing else of it.
Keep what the user wants, what was decided and done, facts, names, numbers and ids, results of tools that still matter, and what is open.
Answer with the summary only.`

// summaryOpening begins the message that stands for what was summed up.
const summaryOpening = "Here is a summary of the conversation to date:\n\n"

// Summary says when a conversation is summed up, and how. One of Messages and Tokens is needed.
type Summary struct {
	// Model writes the summary; required. Options are handed on to its calls.
	Model   model.Model
	Options []model.Option
	// Messages and Tokens are the most that a conversation may have; with more it is summed up. 0 is no bound.
	Messages, Tokens int
	// Keep is how many of the newest messages stay as they are. Default: 20.
	Keep int
	// Count counts the tokens of a message. Default: Estimate.
	Count Counter
	// Prompt tells the model what to do. Default: DefaultSummaryPrompt.
	Prompt string
}

// Summarize is a middleware that replaces the older part of a long conversation, as stored, by a
// summary: one human message whose additional_kwargs have lc_source "summarization". A call and
// its answers are never parted. Clients don't see the model write it. If that fails the
// conversation stays as it is.
func Summarize(s Summary) Middleware {
	return Middleware{Name: "SummarizationMiddleware", BeforeModel: &Step{run: s.run}, check: s.check}
}

func (s Summary) check() error {
	switch {
	case s.Model == nil:
		return fmt.Errorf("summary: there is no model")
	case s.Messages <= 0 && s.Tokens <= 0:
		return fmt.Errorf("summary: neither Messages nor Tokens says when")
	}
	return nil
}

func (s Summary) run(ctx agent.Context, conversation message.List, spent *spending) (agent.Update, error) {
	cut := s.cut(conversation)
	if cut == 0 {
		return nil, nil
	}
	var old, kept []message.Message
	for i, m := range conversation.All() {
		if i < cut {
			old = append(old, m)
		} else {
			kept = append(kept, m)
		}
	}
	prompt := s.Prompt
	if prompt == "" {
		prompt = DefaultSummaryPrompt
	}
	req := model.Request{System: prompt, Messages: message.New(message.NewHuman(transcript(old)))}
	if err := spent.limits.priced(s.Model); err != nil {
		return nil, err
	}
	written, err := model.Generate(ctx, s.Model, req, append([]model.Option{model.StepName("summary"), model.Tags("nostream")}, s.Options...)...)
	if agent.Bubbles(ctx, err) {
		return nil, err
	}
	if err != nil || written.Text() == "" {
		return nil, nil //nolint:nilerr // the conversation stays as it is
	}
	spent.add(s.Model, req, written)
	summary := message.NewHuman(summaryOpening + written.Text())
	summary.ID, summary.AdditionalKwargs = ctx.NewID(), json.RawMessage(`{"lc_source":"summarization"}`)
	return agent.Set(messagesKey, append([]message.Message{message.NewRemove(message.RemoveAll), summary}, kept...)), nil
}

// cut is how many of the oldest messages are to be summed up; 0 for none.
func (s Summary) cut(conversation message.List) int {
	whole := size{}
	var all []message.Message
	for _, m := range conversation.All() {
		all = append(all, m)
	}
	bound := Trimming{Messages: s.Messages, Tokens: s.Tokens, Count: s.Count}
	if whole.add(bound, all); !whole.over(bound) {
		return 0
	}
	keep := s.Keep
	if keep <= 0 {
		keep = 20
	}
	cut := max(0, len(all)-keep)
	for cut > 0 && parts(all, cut) {
		cut--
	}
	if cut == 1 && isSummary(all[0]) {
		return 0 // nothing new to sum up
	}
	return cut
}

// parts tells whether a cut before message i parts an answer from its call: the nearest one before
// it, as ids may come again.
func parts(all []message.Message, i int) bool {
	for j := i; j < len(all); j++ {
		if all[j].Type != message.Tool {
			continue
		}
		for at := j - 1; at >= 0; at-- {
			if slices.ContainsFunc(all[at].ToolCalls, func(c message.ToolCall) bool { return c.ID == all[j].ToolCallID }) {
				if at < i {
					return true
				}
				break
			}
		}
	}
	return false
}

// transcript is a conversation as a text.
func transcript(messages []message.Message) string {
	var b strings.Builder
	for _, m := range messages {
		text := strings.TrimPrefix(m.Text(), summaryOpening)
		switch {
		case isSummary(m):
			fmt.Fprintf(&b, "summary of what was before: %s\n", text)
		case m.Type == message.Tool:
			fmt.Fprintf(&b, "result of %s: %s\n", m.Name, text)
		case text != "":
			fmt.Fprintf(&b, "%s: %s\n", m.Type, text)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "%s calls %s with %s\n", m.Type, c.Name, c.Args)
		}
	}
	return b.String()
}

// isSummary tells whether a human message is one that Summarize wrote.
func isSummary(m message.Message) bool {
	var kwargs struct {
		Source string `json:"lc_source"`
	}
	return json.Unmarshal(m.AdditionalKwargs, &kwargs) == nil && kwargs.Source == "summarization"
}
