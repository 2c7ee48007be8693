package demo

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/react"
)

// Errands runs errands, and asks before those that change something: one question for
// all calls of a message.
func Errands() agent.Agent { return errands("human_in_the_loop", hitl.Batch) }

// ErrandsPerCall is Errands with a question of its own for each call.
func ErrandsPerCall() agent.Agent { return errands("human_in_the_loop_per_call", hitl.PerCall) }

func errands(name string, mode hitl.Mode) agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name:  name,
		Model: player{help: errandsHelp, plan: planErrands},
		Tools: errandTools(),
		Review: hitl.Config{Mode: mode, Policy: hitl.Policy{
			"send_email":     {Decisions: hitl.All()},
			"delete_record":  {Decisions: []hitl.Decision{hitl.Approve, hitl.Reject}},
			"transfer_money": {Decisions: []hitl.Decision{hitl.Approve, hitl.Edit, hitl.Reject}},
			"ask_user":       {Decisions: []hitl.Decision{hitl.Respond}},
		}},
	}))
}

const errandsHelp = `I can send e-mails, delete records, transfer money, ask you something and search the handbook. ` +
	`I need approval for what changes something. For example:
- Send an e-mail to ada@example.com about the order: It is on its way
- Delete record A-17 and transfer 250 EUR to Grace
- Ask me: Which colour do you want? then send an e-mail to bob@example.com about the colour
- Search for refunds`
