// Package builtin holds small tools that need no server and touch nothing: the
// time, arithmetic, and a question to the user.
package builtin

import (
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // time zones by name, on machines without them too

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// All returns the tools: now, calculator and ask_user.
func All() []tool.Tool { return []tool.Tool{Now(), Calculator(), AskUser()} }

type zoned struct {
	TimeZone string `json:"time_zone,omitempty" jsonschema_description:"IANA name of a time zone, as Europe/Berlin. Default: UTC."`
}

// Now tells the date and the time.
func Now() tool.Tool {
	return tool.Func("now", "Tells the current date, weekday and time.", func(ctx tool.CallContext, a zoned) (string, error) {
		zone, err := time.LoadLocation(a.TimeZone)
		if err != nil || a.TimeZone == "Local" {
			return "", fmt.Errorf("unknown time zone %q; use an IANA name as Europe/Berlin", a.TimeZone)
		}
		return ctx.Now().In(zone).Format("Monday, 2006-01-02T15:04:05Z07:00"), nil
	}, tool.Annotate(tool.Annotations{ReadOnly: true}), tool.AtLeastOnce())
}

type expression struct {
	Expression string `json:"expression" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"What to calculate, as (3 + 4.5) * 2^3 or round(10 / 3, 2)."`
}

// Calculator calculates exactly, with fractions of integers instead of floating point.
func Calculator() tool.Tool {
	return tool.Func("calculator", "Calculates an arithmetic expression exactly: + - * / % ^, parentheses, abs, ceil, floor, max, min, round(x, digits), sqrt.",
		func(_ tool.CallContext, a expression) (string, error) { return Calculate(a.Expression) },
		tool.Annotate(tool.Annotations{ReadOnly: true}), tool.AtLeastOnce())
}

type question struct {
	Question string   `json:"question" jsonschema:"minLength=1" jsonschema_description:"What to ask, in full sentences."`
	Options  []string `json:"options,omitempty" jsonschema_description:"Answers to choose from, if there are few possible ones. The user may still answer freely."`
}

// asked is what the user is shown; type tells it from other questions.
type asked struct {
	Type string `json:"type"` // question
	question
}

// answerSchema admits a text, and an object that holds it.
var answerSchema = json.RawMessage(`{"anyOf":[
  {"type":"string","minLength":1},
  {"type":"object","properties":{"answer":{"type":"string","minLength":1}},"required":["answer"],"additionalProperties":false}
]}`)

// AskUser asks the user a question and suspends the run until there is an answer: a
// text, or {"answer": text}.
func AskUser() tool.Tool {
	return tool.New("ask_user", "Asks the user a question and waits for the answer. For what only the user can know or decide.",
		func(ctx tool.Context, q question) (any, error) {
			raw, err := agent.Interrupt[json.RawMessage](ctx, asked{Type: "question", question: q}, agent.ResponseSchema(answerSchema))
			if err != nil {
				return nil, err
			}
			var text string
			if json.Unmarshal(raw, &text) == nil {
				return text, nil
			}
			var object struct {
				Answer string `json:"answer"`
			}
			err = json.Unmarshal(raw, &object)
			return object.Answer, err
		}, tool.Annotate(tool.Annotations{ReadOnly: true}))
}
