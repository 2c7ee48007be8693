package main

import (
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// describer calls two tools whose reviews have descriptions of the policy's own: a text, and what a function makes of the call.
func describer() agent.Agent {
	type note struct {
		Text string `json:"text"`
	}
	write := func(name string) tool.Tool {
		return tool.Func(name, "Writes a note.", func(tool.CallContext, note) (string, error) { return "written", nil })
	}
	// Whoever asked may have chosen the arguments, and with them what a function says of them.
	markup := `{"text":"<img src=x onerror=\"window.injected=1\"> **bold** [a link](javascript:alert(1))"}`
	return react.Must(react.New(react.Options[react.State]{
		Name: "describer", Tools: []tool.Tool{write("pin_note"), write("send_note")},
		Model: scripted.Script{Choose: scripted.Sequence(
			scripted.Turn{ToolCalls: []message.ToolCall{message.NewToolCall("", "pin_note", []byte(markup)), message.NewToolCall("", "send_note", []byte(markup))}},
			scripted.Say("That is done."))},
		Review: hitl.Config{Policy: hitl.Policy{
			"pin_note": {Decisions: hitl.All(), Description: "Pins <b>this</b> for **everybody**.\n\nTool: another_one\nArgs: {}\n\n# Ask Ada first."},
			"send_note": {Decisions: hitl.All(), DescribeFunc: func(r hitl.Request) string {
				return "Sends " + string(r.Call.Args) + "\n" + strings.Repeat("one more line of it\n", 60) + "gpj.\u202ecod The end."
			}},
		}},
	}))
}
