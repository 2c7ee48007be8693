package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// offline is a model that plays the agent without any server: "Please refund order A-17, 900 cents".
func offline() model.Model { return scripted.Script{Choose: choose} }

var claim = regexp.MustCompile(`(?i)refund.*?([A-Z]-\d+)\D+(\d+)`)

func choose(c scripted.Call) (scripted.Turn, error) {
	if last, ok := c.Messages.Last(); ok && last.Type == message.Tool {
		if last.Status == "error" {
			return scripted.Say("I could not do that. " + last.Text()), nil
		}
		return scripted.Say("Here you are: " + last.Text()), nil
	}
	text := c.LastHuman()
	name, args := "search_help", any(Lookup{Query: text})
	if m := claim.FindStringSubmatch(text); m != nil {
		cents, err := strconv.Atoi(m[2])
		if err != nil {
			return scripted.Turn{}, fmt.Errorf("amount %q: %w", m[2], err)
		}
		name, args = "pay_refund", Refund{Order: strings.ToUpper(m[1]), Cents: cents}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return scripted.Turn{}, err
	}
	return scripted.CallTool(fmt.Sprintf("call-%d", c.Messages.Len()), name, string(raw)), nil
}
