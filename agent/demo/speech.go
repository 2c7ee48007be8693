package demo

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// pace is the pause between words, so that one can watch them arrive.
const pace = 25 * time.Millisecond

// speak streams a text word by word, as a model would, and appends it to the conversation.
func speak(ctx agent.Context, text string) (agent.Update, error) {
	answer, err := streamWords(ctx, text)
	if err != nil {
		return nil, err
	}
	return agent.Set("messages", []message.Message{answer}), nil
}

// streamWords streams a text, then tool calls, as one message.
func streamWords(ctx agent.Context, text string, calls ...message.ToolCallChunk) (message.Message, error) {
	out := agent.StreamMessage(ctx, agent.MessageOptions{})
	for i, word := range words(text) {
		if i > 0 {
			if err := ctx.Sleep(pace); err != nil {
				out.Fail(err)
				return message.Message{}, err
			}
		}
		out.Chunk(message.Chunk{Text: word})
	}
	if len(calls) > 0 {
		out.Chunk(message.Chunk{ToolCalls: calls, FinishReason: "tool_use"})
	} else {
		out.Chunk(message.Chunk{FinishReason: "stop"})
	}
	return out.Finish(), nil
}

// words cuts a text behind white space; joined again they are the text, byte for byte.
func words(text string) []string {
	var all []string
	from := 0
	space := false
	for i, r := range text {
		if space && !unicode.IsSpace(r) {
			all = append(all, text[from:i])
			from = i
		}
		space = unicode.IsSpace(r)
	}
	if from < len(text) {
		all = append(all, text[from:])
	}
	return all
}

// toolResult answers a tool call.
func toolResult(callID, status, text string) message.Message {
	m := message.NewTool(callID, action, text)
	m.Status = status
	return m
}

// sentence gives a clause its capital letter and full stop.
func sentence(clause string) string {
	r, size := utf8.DecodeRuneInString(clause)
	text := string(unicode.ToUpper(r)) + clause[size:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// newestRequest is what the user said last, trimmed; "" when there is nothing.
func newestRequest(l message.List) string {
	for _, m := range l.Backward() {
		if m.Type == message.Human {
			return strings.TrimSpace(m.Text())
		}
	}
	return ""
}
