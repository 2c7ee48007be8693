package demo

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
)

// Errands runs errands, and asks before those that change something: one question for
// all calls of a message. It speaks by m, or by the script if that is nil.
func Errands(m model.Model) agent.Agent { return errands("human_in_the_loop", hitl.Batch, m) }

// ErrandsPerCall is Errands with a question of its own for each call.
func ErrandsPerCall(m model.Model) agent.Agent {
	return errands("human_in_the_loop_per_call", hitl.PerCall, m)
}

func errands(name string, mode hitl.Mode, m model.Model) agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name: name,
		Prompt: "You run errands with your tools, for which a person decides. Tell the user what came of each, in a sentence. " +
			"Don't repeat a call that was rejected.",
		Model: orScript(m, player{help: errandsHelp, plan: planErrands}),
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
