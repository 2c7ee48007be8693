package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type (
	weatherState struct {
		Messages message.List `json:"messages"`
		Route    string       `json:"route"`
	}
	forecastState struct {
		Messages message.List `json:"messages"`
		City     string       `json:"city"`
	}
)

// Weather routes into a subgraph that stops before its last node (spec/conformance-agents.md 3.5).
func Weather() agent.Agent {
	forecast := agent.NewGraph[forecastState]("weather_graph", agent.InterruptBefore("weather_node")).
		Node("model_node", func(agent.Context, forecastState) (agent.Update, error) {
			return agent.Set("city", "San Francisco"), nil
		}).
		Node("weather_node", func(_ agent.Context, s forecastState) (agent.Update, error) {
			return say("It's sunny in " + s.City + "!"), nil
		}).
		Edge(agent.Start, "model_node").
		Edge("model_node", "weather_node").
		Edge("weather_node", agent.End).
		MustCompile()
	return agent.NewGraph[weatherState]("weather").
		Node("router_node", func(agent.Context, weatherState) (agent.Update, error) {
			return agent.Set("route", "weather"), nil
		}).
		Node("normal_llm_node", func(agent.Context, weatherState) (agent.Update, error) {
			return say("Hello"), nil
		}).
		Subgraph("weather_graph", forecast).
		Edge(agent.Start, "router_node").
		Branch("router_node", func(s weatherState) string {
			if s.Route == "weather" {
				return "weather_graph"
			}
			return "normal_llm_node"
		}, "weather_graph", "normal_llm_node").
		Edge("weather_graph", agent.End).
		Edge("normal_llm_node", agent.End).
		MustCompile()
}
