// Package demo holds agents for a first look, which need no key and no network: echo
// streams, approval asks a person before it acts, human_in_the_loop runs errands and
// asks before those that change something, hitl_interrupt_forms asks by forms.
package demo

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model"
)

// Agents returns the demo agents, all on a scripted model.
func Agents() []agent.Agent { return AgentsOn(nil) }

// AgentsOn has the agents that use tools speak by a real model; nil stands for the
// scripted one, which does what it is asked for in the words of its help.
func AgentsOn(m model.Model) []agent.Agent {
	return []agent.Agent{Echo(), Approval(), Errands(m), ErrandsPerCall(m), Forms(m)}
}

// orScript is the model, or the script where there is none.
func orScript(m model.Model, script player) model.Model {
	if m == nil {
		return script
	}
	return m
}
