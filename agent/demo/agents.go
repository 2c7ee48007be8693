// Package demo holds agents for a first look, which need no key and no network: echo
// streams, approval asks a person before it acts, hitl_interrupt_forms asks by forms.
package demo

import "github.com/parley-dev/parley/agent"

// Agents returns the demo agents: echo, approval and hitl_interrupt_forms.
func Agents() []agent.Agent { return []agent.Agent{Echo(), Approval(), Forms()} }
