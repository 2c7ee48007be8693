package main

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/bench"
	graphs "github.com/parley-dev/parley/agent/conformance"
	"github.com/parley-dev/parley/agent/demo"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/conformance"
)

// sets are the agents that --agents can choose; the first is the default, the hidden ones are for tests. Only
// the conformance sets allow the store to be emptied. The demo agents speak by m, or by
// their script if that is nil.
func sets(m model.Model) []server.Set {
	return []server.Set{
		{Name: "demo", Options: agents(func() []agent.Agent { return demo.AgentsOn(m) })},
		{Hidden: true, Name: "bench", Options: agents(bench.Agents)},
		{Hidden: true, Name: "conformance", Options: func() server.Options {
			return server.Options{
				Agents: graphs.MainSet(), Routes: conformance.Routes(), Truncate: true,
				UI: map[string]server.UI{"agent-alias": conformance.UI()},
			}
		}},
		{Hidden: true, Name: "conformance-auth", Options: func() server.Options {
			return server.Options{
				Agents: graphs.AuthSet(), Auth: conformance.Auth(), Truncate: true,
				UI: map[string]server.UI{"agent": conformance.UI()},
			}
		}},
		{Hidden: true, Name: "conformance-embed", Options: func() server.Options {
			return server.Options{Agents: graphs.EmbedSet(), NoEventIDs: true, Truncate: true}
		}},
		{Hidden: true, Name: "conformance-react", Options: agents(graphs.ReactSet)},
		{Hidden: true, Name: "conformance-vue", Options: agents(graphs.VueSet)},
		{Hidden: true, Name: "conformance-svelte", Options: agents(graphs.SvelteSet)},
		{Hidden: true, Name: "conformance-angular", Options: func() server.Options {
			return server.Options{Agents: graphs.AngularSet(), NoFailureText: true}
		}},
	}
}

// agents makes a set of plain agents.
func agents(list func() []agent.Agent) func() server.Options {
	return func() server.Options { return server.Options{Agents: list()} }
}
