package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/tool"
)

// errand is what one of the research agents says and does.
type errand struct{ description, argument, found string }

// research is the script of a team of two.
type research struct {
	search, query errand
	final         string
}

// DeepAgent delegates two tasks to agents of their own, which run in parallel
// under its tools tasks (spec/conformance-agents.md 6.4).
func DeepAgent() agent.Agent {
	return researchTeam("deep_agent", scriptStyle, research{
		search: errand{"Search the web for protocol risks", "protocol risks", "Research completed: reconnect and lifecycle handling need coverage."},
		query:  errand{"Inspect the sample dataset", "sample_data", "Analysis completed: found 2 sample records."},
		final:  "Both subagents completed their tasks successfully.",
	})
}

// echoDeepAgent is DeepAgent with the script of the other suites (spec/conformance-frontends.md 6.1).
func echoDeepAgent(s style) agent.Agent {
	return researchTeam("deepAgent", s, research{
		search: errand{"Search the web for test research query", "test research query", "Research completed: found relevant results."},
		query:  errand{"Query the database for test data", "test_data", "Analysis completed: found 2 records."},
		final:  "Both agents completed their tasks successfully.",
	})
}

func researchTeam(name string, s style, r research) agent.Agent {
	worker := func(name, description, prompt, callID, key string, work errand, available tool.Tool) deepAgent {
		call := toolCall(callID, available.Definition().Name, arguments(key, work.argument))
		return deepAgent{
			name: name, description: description, prompt: prompt, options: s.options(), tools: []tool.Tool{available},
			model: s.model(
				withID(callID+"-message", message.NewAI("", call)), withID(callID+"-final", message.NewAI(work.found))),
		}
	}
	return deepAgent{
		name: name, prompt: "You are an AI coordinator that delegates tasks.", options: s.options(),
		model: s.model(
			withID("deep-orchestrator-tool-call", message.NewAI("",
				toolCall("task-1", "task", arguments("description", r.search.description, "subagent_type", "researcher")),
				toolCall("task-2", "task", arguments("description", r.query.description, "subagent_type", "data-analyst")))),
			withID("deep-orchestrator-final", message.NewAI(r.final))),
		subagents: []deepAgent{
			worker("researcher", "Research specialist that searches the web for information.", "You are a research specialist.",
				"search-1", "query", r.search, webSearch(s.toolDelay)),
			worker("data-analyst", "Data analysis expert that queries databases for insights.", "You are a data analysis expert.",
				"query-1", "table", r.query, databaseQuery(s.toolDelay)),
		},
	}.graph("")
}

// arguments are those of a tool call, in the given order.
func arguments(pairs ...string) string {
	text := "{"
	for i := 0; i < len(pairs); i += 2 {
		value, err := json.Marshal(pairs[i+1])
		if err != nil { // a string
			panic(err)
		}
		if i > 0 {
			text += ","
		}
		text += `"` + pairs[i] + `":` + string(value)
	}
	return text + "}"
}

// deepAgentInterrupt delegates to an agent whose tool asks a person (spec/conformance-frontends.md 4.5).
func deepAgentInterrupt() agent.Agent {
	s := scriptStyle
	return deepAgent{
		name: "deep_agent_interrupt", prompt: "Delegate approval work to the approver subagent.", options: s.options(),
		model: s.model(
			withID("deep-interrupt-orchestrator", message.NewAI("", toolCall("task-approve-1", "task",
				arguments("description", "Request approval for the pending change", "subagent_type", "approver")))),
			withID("deep-interrupt-final", message.NewAI("Subagent approval completed."))),
		subagents: []deepAgent{{
			name: "approver", description: "Requests human approval before acting.",
			prompt: "You must request approval before proceeding.", options: s.options(), tools: []tool.Tool{approvalRequest()},
			model: s.model(
				withID("approver-call", message.NewAI("", toolCall("approval-1", "request_approval", `{}`))),
				withID("approver-done", message.NewAI("Approval recorded."))),
		}},
	}.graph("")
}

// parallelFanout delegates six tasks at once (spec/conformance-frontends.md 5.1).
func parallelFanout(s style) agent.Agent {
	var calls []message.ToolCall
	for i := 1; i <= 6; i++ {
		calls = append(calls, toolCall(fmt.Sprintf("task-%d", i), "task",
			arguments("description", fmt.Sprintf("Worker worker-00%d covering topic %d", i, i), "subagent_type", "worker")))
	}
	var worker model.Model = exchange{calls: message.NewAI("Worker done."), final: message.NewAI("Worker done."), echo: true}
	if !s.echo { // one delta per character
		worker = scripted.List{Answers: []string{"Worker 1 done."}, Cursors: scripted.NewCursors()}
	}
	// No id of the suites is configured here but React's.
	return deepAgent{
		name: "parallel_fanout", prompt: "You are a coordinator that fans out work to many workers.", options: s.options(),
		model: s.model(withID("fanout-orchestrator", message.NewAI("", calls...)), withID("fanout-final", message.NewAI("All workers completed."))),
		subagents: []deepAgent{{
			name: "worker", description: "A worker that completes a single delegated subtask.",
			prompt: "You are a worker. Complete the task and report back.", model: worker,
		}},
	}.graph("")
}
