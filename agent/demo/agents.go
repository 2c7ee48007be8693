// Package demo holds agents for a first look, which need no key and no network: echo
// streams, approval asks a person before it acts, human_in_the_loop runs errands and
// asks before those that change something, hitl_interrupt_forms asks by forms.
package demo

import "github.com/parley-dev/parley/agent"

// Agents returns the demo agents.
func Agents() []agent.Agent {
	return []agent.Agent{Echo(), Approval(), Errands(), ErrandsPerCall(), Forms()}
}
