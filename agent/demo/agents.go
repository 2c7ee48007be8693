// Package demo holds two agents for a first look, which need no key and no
// network: echo streams, approval asks a person before it acts.
package demo

import "github.com/parley-dev/parley/agent"

// Agents returns the demo agents: echo and approval.
func Agents() []agent.Agent { return []agent.Agent{Echo(), Approval()} }
