package captures_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// The graphs of the set "react" that only these tests need
// (spec/conformance-frontends.md 4.5, 5.1).
func reactGraphs() []agent.Agent {
	return []agent.Agent{
		customChannelGraph(), embeddedSubgraphGraph(), errorGraph(), headlessToolGraph(), interruptCardGraph(), multiInterruptGraph(),
		nestedInterruptGraph(), parallelSubgraph(), slowGraph(), statefulValuesGraph(), subgraphGraph(),
	}
}

type conversation struct {
	Messages message.List `json:"messages"`
}

// says is an update with messages of the model's kind.
func says(messages ...message.Message) agent.Values { return agent.Set("messages", messages) }

func ai(text string) message.Message { return message.NewAI(text) }

// single is a graph of one node.
func single(name string, node func(agent.Context, conversation) (agent.Update, error)) *agent.Graph {
	return agent.NewGraph[conversation](name).Node("agent", node).Edge(agent.Start, "agent").MustCompile()
}

func customChannelGraph() agent.Agent {
	return single("custom_channel_graph", func(ctx agent.Context, _ conversation) (agent.Update, error) {
		ctx.Write(map[string]any{"stage": "thinking"})
		ctx.Write(map[string]any{"name": "status", "payload": map[string]any{"label": "answering"}})
		ctx.Write(map[string]any{"stage": "done"})
		return says(ai("Custom channel reply")), nil
	})
}

func errorGraph() agent.Agent {
	return single("error_graph", func(agent.Context, conversation) (agent.Update, error) {
		return nil, errors.New("Intentional error for testing") //nolint:staticcheck // the recorded text
	})
}

func slowGraph() agent.Agent {
	return single("slow_graph", func(ctx agent.Context, _ conversation) (agent.Update, error) {
		return says(ai("Done.")), ctx.Sleep(400 * time.Millisecond)
	})
}

type statusState struct {
	Messages message.List `json:"messages"`
	Status   string       `json:"status" agent:"any,default=\"idle\""`
}

func statefulValuesGraph() agent.Agent {
	return agent.NewGraph[statusState]("stateful_values_graph").
		Node("agent", func(ctx agent.Context, _ statusState) (agent.Update, error) {
			return agent.Values{"messages": []message.Message{ai("Done.")}, "status": "final"}, ctx.Sleep(400 * time.Millisecond)
		}).
		Edge(agent.Start, "agent").MustCompile()
}

// reporting is a graph that streams an answer between two custom events. Its
// answers are counted over all threads.
func reporting(name, answer, before, after string) *agent.Graph {
	list := scripted.StableList(scripted.NewCursors(), "all", answer)
	return agent.NewGraph[conversation](name).
		Node("inner", func(ctx agent.Context, s conversation) (agent.Update, error) {
			ctx.Write(map[string]any{"type": "progress", "label": before})
			out, err := model.Generate(ctx, list, model.Request{Messages: s.Messages})
			if after != "" {
				ctx.Write(map[string]any{"type": "progress", "label": after})
			}
			return says(out), err
		}).
		Edge(agent.Start, "inner").MustCompile()
}

func subgraphGraph() agent.Agent {
	return agent.NewGraph[conversation]("subgraph_graph").
		Subgraph("child", reporting("child", "Reply from child", "child-started", "child-finished")).
		Edge(agent.Start, "child").MustCompile()
}

func parallelSubgraph() agent.Agent {
	return agent.NewGraph[conversation]("parallel_subgraph").
		Subgraph("worker", reporting("worker", "Subgraph reply", "worker-started", "")).
		BranchTo(agent.Start, func(agent.Context, conversation) ([]agent.Target, error) {
			var sends []agent.Target
			for i := range 6 {
				subtask := message.NewHuman(fmt.Sprintf("Subtask %d", i+1))
				sends = append(sends, agent.Send("worker", map[string]any{"messages": []message.Message{subtask}}))
			}
			return sends, nil
		}, "worker").
		Edge("worker", agent.End).MustCompile()
}

func embeddedSubgraphGraph() agent.Agent {
	research := reporting("research_graph", "Subgraph reply", "research-started", "research-finished")
	return agent.NewGraph[conversation]("embedded_subgraph_graph").
		Node("research", func(ctx agent.Context, s conversation) (agent.Update, error) {
			state, err := agent.Invoke(ctx, research, map[string]any{"messages": s.Messages})
			if err != nil {
				return nil, err
			}
			last, _ := state.Messages()["messages"].Last()
			return says(ai(last.Text())), nil
		}).
		Node("summarize", func(agent.Context, conversation) (agent.Update, error) { return says(ai("Summary line")), nil }).
		Edge(agent.Start, "research").Edge("research", "summarize").MustCompile()
}

type reviewState struct {
	Request   string          `json:"request"`
	Decision  json.RawMessage `json:"decision" agent:"any,default=null"`
	Completed bool            `json:"completed" agent:"any,default=false"`
}

func nestedInterruptGraph() agent.Agent {
	inner := agent.NewGraph[reviewState]("inner").
		Node("review", func(ctx agent.Context, s reviewState) (agent.Update, error) {
			answer, err := agent.Interrupt[json.RawMessage](ctx, map[string]any{
				"prompt": "Approve nested subgraph action?", "request": s.Request,
			})
			return agent.Values{"decision": answer, "completed": true}, err
		}).
		Edge(agent.Start, "review").Edge("review", agent.End).MustCompile()
	child := agent.NewGraph[reviewState]("child").Subgraph("inner", inner).
		Edge(agent.Start, "inner").Edge("inner", agent.End).MustCompile()
	return agent.NewGraph[reviewState]("nested_interrupt_graph").Subgraph("child", child).
		Edge(agent.Start, "child").Edge("child", agent.End).MustCompile()
}

type promptsState struct {
	Prompts   []string                   `json:"prompts" agent:"any,default=[]"`
	Decisions map[string]json.RawMessage `json:"decisions"`
	Completed bool                       `json:"completed" agent:"any,default=false"`
}

func multiInterruptGraph() agent.Agent {
	type prompt struct {
		Prompt string `json:"prompt"`
	}
	b := agent.NewGraph[promptsState]("multi_interrupt_graph",
		agent.Reducer("decisions", func() map[string]json.RawMessage { return map[string]json.RawMessage{} },
			func(old, update map[string]json.RawMessage) (map[string]json.RawMessage, error) {
				all := map[string]json.RawMessage{}
				for _, decisions := range []map[string]json.RawMessage{old, update} {
					for k, v := range decisions {
						all[k] = v
					}
				}
				return all, nil
			}))
	agent.NodeOf(b, "review", func(ctx agent.Context, p prompt) (agent.Update, error) {
		answer, err := agent.Interrupt[json.RawMessage](ctx, map[string]any{
			"prompt": "Approve action " + p.Prompt + "?", "action": p.Prompt,
		})
		return agent.Set("decisions", map[string]json.RawMessage{p.Prompt: answer}), err
	})
	return b.
		Node("aggregate", func(_ agent.Context, s promptsState) (agent.Update, error) {
			return agent.Set("completed", len(s.Decisions) == len(s.Prompts)), nil
		}).
		BranchTo(agent.Start, func(_ agent.Context, s promptsState) ([]agent.Target, error) {
			var sends []agent.Target
			for _, p := range s.Prompts {
				sends = append(sends, agent.Send("review", prompt{p}))
			}
			return sends, nil
		}, "review").
		Edge("review", "aggregate").Edge("aggregate", agent.End).
		MustCompile()
}

// interruptCardGraph is an agent whose tool asks before it acts.
func interruptCardGraph() agent.Agent {
	asks := message.NewAI("", message.NewToolCall("call-review-1", "review_action", json.RawMessage(`{"toolArg":"delete_db"}`)))
	asks.ID = "call-review-1-message"
	done := ai("Done.")
	done.ID = "call-review-1-final"
	cursors := scripted.NewCursors()
	return toolAgent("interrupt_card_graph",
		func(ctx agent.Context, s conversation) (message.Message, error) {
			m := scripted.Deterministic{Answers: []message.Message{asks, done}, Cursors: cursors, Key: ctx.ThreadID()}
			return model.Generate(ctx, m, model.Request{Messages: s.Messages}, model.Unstreamed(), model.MessageName("model"))
		},
		func(ctx agent.Context, call message.ToolCall) (string, error) {
			var args struct {
				ToolArg string `json:"toolArg"`
			}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return "", err
			}
			_, err := agent.Interrupt[json.RawMessage](ctx, map[string]any{
				"type": "ai", "content": "Please review the \"" + args.ToolArg + "\" action.",
				"response_metadata": map[string]any{"cards": map[string]any{
					"kind": "tool_validation", "action": args.ToolArg, "buttons": []string{"approve", "reject"},
				}},
			})
			return "Executed \"" + args.ToolArg + "\".", err
		})
}

// headlessToolGraph is an agent whose tool runs at the client.
func headlessToolGraph() agent.Agent {
	type callView struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	return toolAgent("headless_tool_graph",
		func(ctx agent.Context, s conversation) (message.Message, error) {
			return model.Generate(ctx, headlessModel{}, model.Request{Messages: s.Messages}, model.MessageName("model"))
		},
		func(ctx agent.Context, call message.ToolCall) (string, error) {
			answer, err := agent.Interrupt[json.RawMessage](ctx, map[string]any{
				"type": "tool", "toolCall": callView{call.ID, call.Name, call.Args},
			})
			return string(answer), err
		})
}

// headlessModel asks for the location, then says that it got it; one chunk each.
type headlessModel struct{}

func (headlessModel) Info() model.Info { return model.Info{Provider: "FakeHeadlessToolModel"} }

func (headlessModel) Stream(_ context.Context, r model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		if last, _ := r.Messages.Last(); last.Type == message.Tool {
			yield(message.Chunk{Text: "Location received!"}, nil)
			return
		}
		yield(message.Chunk{ToolCalls: []message.ToolCallChunk{
			{ID: "tool-call-browser-1", Name: "get_location", Args: `{"highAccuracy":false}`},
		}}, nil)
	}
}

// toolAgent is a model and its tool in turn, one task per tool call.
func toolAgent(
	name string,
	ask func(agent.Context, conversation) (message.Message, error),
	tool func(agent.Context, message.ToolCall) (string, error),
) agent.Agent {
	type call struct {
		Call message.ToolCall `json:"lg_tool_call"`
	}
	b := agent.NewGraph[conversation](name).
		Node("model_request", func(ctx agent.Context, s conversation) (agent.Update, error) {
			answer, err := ask(ctx, s)
			return says(answer), err
		})
	agent.NodeOf(b, "tools", func(ctx agent.Context, in call) (agent.Update, error) {
		text, err := tool(ctx, in.Call)
		if err != nil {
			return nil, err
		}
		done := message.NewTool(in.Call.ID, in.Call.Name, text)
		done.Status = "success"
		return says(done), nil
	})
	b.Edge(agent.Start, "model_request")
	b.BranchTo("model_request", func(_ agent.Context, s conversation) ([]agent.Target, error) {
		last, _ := s.Messages.Last()
		if len(last.ToolCalls) == 0 {
			return []agent.Target{{Node: agent.End}}, nil
		}
		return []agent.Target{agent.Send("tools", map[string]any{"messages": s.Messages, "lg_tool_call": last.ToolCalls[0]})}, nil
	}, "tools", agent.End)
	return b.Edge("tools", "model_request").MustCompile()
}
