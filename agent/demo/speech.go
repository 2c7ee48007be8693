package demo

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// pace is the time between words, so that one can watch them arrive.
const pace = 25 * time.Millisecond

// speak streams a turn of the scripted model, word by word.
func speak(ctx agent.Context, conversation message.List, turn scripted.Turn) (message.Message, error) {
	turn.Interval = pace
	script := scripted.Script{Choose: scripted.Always(turn), Name: "parley-demo"}
	return model.Generate(ctx, script, model.Request{Messages: conversation})
}

// say is speak for a node that does nothing else.
func say(ctx agent.Context, conversation message.List, text string) (agent.Update, error) {
	answer, err := speak(ctx, conversation, scripted.Say(text))
	if err != nil {
		return nil, err
	}
	return agent.Set("messages", []message.Message{answer}), nil
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

// sentence gives a clause its capital letter and full stop.
func sentence(clause string) string {
	r, size := utf8.DecodeRuneInString(clause)
	text := string(unicode.ToUpper(r)) + clause[size:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
