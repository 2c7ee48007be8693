package conformance

import (
	"errors"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// single is a graph of the one node "agent", from which nothing leads on.
func single(name string, run func(agent.Context, messagesState) (agent.Update, error)) *agent.Graph {
	return agent.NewGraph[messagesState](name).Node("agent", run).Edge(agent.Start, "agent").MustCompile()
}

// slowGraph answers after 400 ms (spec/conformance-frontends.md 4.5).
func slowGraph(name string) agent.Agent {
	return single(name, func(ctx agent.Context, _ messagesState) (agent.Update, error) {
		return say("Done."), ctx.Sleep(400 * time.Millisecond)
	})
}

// errorGraph fails at once (spec/conformance-frontends.md 4.5).
func errorGraph(name string) agent.Agent {
	return single(name, func(agent.Context, messagesState) (agent.Update, error) {
		return nil, errors.New("Intentional error for testing") //nolint:staticcheck // the text that the suites know
	})
}

// statefulValuesGraph has a key beside its messages (spec/conformance-frontends.md 4.5).
func statefulValuesGraph() agent.Agent {
	type state struct {
		Messages message.List `json:"messages"`
		Status   string       `json:"status" agent:"default=\"idle\""`
	}
	return agent.NewGraph[state]("stateful_values_graph").
		Node("agent", func(ctx agent.Context, _ state) (agent.Update, error) {
			return say("Done.").Set("status", "final"), ctx.Sleep(400 * time.Millisecond)
		}).
		Edge(agent.Start, "agent").
		MustCompile()
}

// answeringGraph writes to the custom stream and answers (spec/conformance-frontends.md 5.1).
func answeringGraph(name, answer string, written ...any) agent.Agent {
	return single(name, func(ctx agent.Context, _ messagesState) (agent.Update, error) {
		for _, value := range written {
			ctx.Write(value)
		}
		return say(answer), nil
	})
}

// What the graphs write to the custom stream.
type (
	customStage struct {
		Stage string `json:"stage"`
	}
	customNamed struct {
		Name    string `json:"name"`
		Payload any    `json:"payload"`
	}
	customProgress struct {
		Type  string `json:"type"`
		Label string `json:"label"`
	}
)

// answeringStatus goes to the channel custom:status.
var answeringStatus = customNamed{"status", map[string]string{"label": "answering"}}
