package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type deepState struct {
	Messages message.List               `json:"messages"`
	Todos    []json.RawMessage          `json:"todos" agent:"default=[]"`
	Files    map[string]json.RawMessage `json:"files" agent:"default={}"`
}

const (
	researcherDescription = "researcher: Research specialist that searches the web for information."
	analystDescription    = "data-analyst: Data analysis expert that queries databases for insights."
)

// DeepAgent delegates two tasks to agents of their own, which run in parallel
// under its tools tasks (spec/conformance-agents.md 6.4).
func DeepAgent() agent.Agent {
	search := tools{{
		name: "search_web", description: "Search the web for information on a topic", args: []string{"query"}, call: searchWeb,
	}}
	query := tools{{
		name: "query_database", description: "Query a database table with optional filters", args: []string{"table"},
		command: true, call: queryDatabase,
	}}
	task := tools{{
		name: "task", description: "Delegate a task to a subagent: " + researcherDescription + " " + analystDescription,
		args: []string{"description", "subagent_type"}, command: true,
		call: delegate(map[string]*agent.Graph{
			"researcher": deepGraph(react{
				name: "researcher", speaks: "researcher", tools: search,
				model: toolCallingModel("You are a research specialist.", search,
					withID("search-1-message", message.NewAI("", toolCall("search-1", "search_web", `{"query":"protocol risks"}`))),
					withID("search-1-final", message.NewAI("Research completed: reconnect and lifecycle handling need coverage.")),
				),
			}),
			"data-analyst": deepGraph(react{
				name: "data-analyst", speaks: "data-analyst", tools: query,
				model: toolCallingModel("You are a data analysis expert.", query,
					withID("query-1-message", message.NewAI("", toolCall("query-1", "query_database", `{"table":"sample_data"}`))),
					withID("query-1-final", message.NewAI("Analysis completed: found 2 sample records.")),
				),
			}),
		}),
	}}
	return deepGraph(react{
		name: "deep_agent", speaks: "model", tools: task,
		model: toolCallingModel("You are an AI coordinator that delegates tasks.", task,
			withID("deep-orchestrator-tool-call", message.NewAI("",
				toolCall("task-1", "task", `{"description":"Search the web for protocol risks","subagent_type":"researcher"}`),
				toolCall("task-2", "task", `{"description":"Inspect the sample dataset","subagent_type":"data-analyst"}`))),
			withID("deep-orchestrator-final", message.NewAI("Both subagents completed their tasks successfully.")),
		),
	})
}

func deepGraph(r react) *agent.Graph {
	return reactGraph(r,
		func(s deepState) message.List { return s.Messages },
		func(s deepState) map[string]any { return map[string]any{"messages": s.Messages, "files": s.Files} },
		[]string{"FilesystemMiddleware.before_agent", "patchToolCallsMiddleware.before_agent"},
		[]string{"todoListMiddleware.after_model"})
}

// delegate is the task tool: it runs the named agent and answers with its last words.
func delegate(subagents map[string]*agent.Graph) func(agent.Context, message.ToolCall) (string, error) {
	return func(ctx agent.Context, call message.ToolCall) (string, error) {
		var args struct {
			Description  string `json:"description"`
			SubagentType string `json:"subagent_type"`
		}
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return "", fmt.Errorf("arguments of task: %w", err)
		}
		g, ok := subagents[args.SubagentType]
		if !ok {
			return "", fmt.Errorf("no subagent %q", args.SubagentType)
		}
		state, err := agent.Invoke(ctx, g, map[string]any{"messages": []string{args.Description}})
		if err != nil {
			return "", err
		}
		last, _ := state.Messages()["messages"].Last()
		return last.Text(), nil
	}
}

func searchWeb(_ agent.Context, call message.ToolCall) (string, error) {
	query, err := argument(call, "query")
	if err != nil {
		return "", err
	}
	type result struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	text, err := json.Marshal(struct {
		Status  string   `json:"status"`
		Query   string   `json:"query"`
		Results []result `json:"results"`
	}{"success", query, []result{
		{"Result for: " + query, "https://example.com/1"},
		{"More on: " + query, "https://example.com/2"},
	}})
	return string(text), err
}

func queryDatabase(_ agent.Context, call message.ToolCall) (string, error) {
	table, err := argument(call, "table")
	if err != nil {
		return "", err
	}
	type record struct {
		ID    int    `json:"id"`
		Name  string `json:"name"`
		Value int    `json:"value"`
	}
	text, err := json.Marshal(struct {
		Status  string   `json:"status"`
		Table   string   `json:"table"`
		Records []record `json:"records"`
		Count   int      `json:"count"`
	}{"success", table, []record{{1, "Record A", 42}, {2, "Record B", 87}}, 2})
	return string(text), err
}
