// Package bench holds the benchmark's agents: a fake chat model that streams as
// many tokens as the newest human message says, and a question to a person.
// They are what the peer of the benchmark runs, too.
package bench

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type state struct {
	Messages message.List    `json:"messages"`
	Note     json.RawMessage `json:"note"`
}

// Agents returns the benchmark's agents: echo_stream, long_thread and fanout
// are one graph under three names, approval asks before it acts.
func Agents() []agent.Agent {
	return []agent.Agent{echo("echo_stream"), echo("long_thread"), echo("fanout"), approval()}
}

func echo(name string) agent.Agent {
	return agent.NewGraph[state](name).
		Node("echo", speak).
		Edge(agent.Start, "echo").
		Edge("echo", agent.End).
		MustCompile()
}
