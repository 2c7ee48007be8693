package conformance

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// deepState is the state of a deep agent, whose middleware adds two keys that nothing here writes.
type deepState struct {
	react.State
	Todos []json.RawMessage          `json:"todos" agent:"default=[]"`
	Files map[string]json.RawMessage `json:"files"`
}

// deepAgent describes an agent that delegates to others (spec/conformance-frontends.md 4.4).
type deepAgent struct {
	name, description, prompt string
	model                     model.Model
	options                   []model.Option
	tools                     []tool.Tool
	subagents                 []deepAgent
}

// graph compiles the agent; speaker is the name on its messages, "" for the root's.
func (d deepAgent) graph(speaker string) *agent.Graph {
	tools := d.tools
	if len(d.subagents) > 0 {
		tools = append(tools, delegation(d.subagents))
	}
	return react.Must(react.New(react.Options[deepState]{
		Name: d.name, Speaker: speaker, Prompt: d.prompt, Model: d.model, ModelOptions: d.options, Tools: tools,
		BeforeAgent: []react.Hook[deepState]{idle("FilesystemMiddleware.before_agent"), idle("patchToolCallsMiddleware.before_agent")},
		AfterModel:  []react.Hook[deepState]{idle("todoListMiddleware.after_model")},
		ToolInput: func(s deepState) any {
			return map[string]any{"messages": s.Messages, "files": s.Files}
		},
		GraphOptions: []agent.GraphOption{agent.Reducer("files", newRecord, mergeRecords)},
	}))
}

// idle is a hook that writes nothing.
func idle(name string) react.Hook[deepState] {
	return react.Hook[deepState]{Name: name, Run: func(agent.Context, deepState) (agent.Update, error) { return agent.Values{}, nil }}
}

// delegation is the tool "task": it runs the named agent under the call's own
// namespace and answers with its last words.
func delegation(subagents []deepAgent) tool.Tool {
	graphs := map[string]*agent.Graph{}
	var descriptions, names []string
	for _, s := range subagents {
		graphs[s.name] = s.graph(s.name)
		descriptions = append(descriptions, s.name+": "+s.description)
		names = append(names, "`"+s.name+"`")
	}
	description := "Delegate a task to a subagent.\n" + strings.Join(descriptions, "\n")
	return tool.New("task", description, func(ctx tool.Context, args struct {
		Description  string `json:"description"`
		SubagentType string `json:"subagent_type"`
	}) (any, error) {
		g, ok := graphs[args.SubagentType]
		if !ok {
			return nil, fmt.Errorf("invoked agent of type %s, the only allowed types are [%s]", args.SubagentType, strings.Join(names, ", "))
		}
		var parent struct {
			Files json.RawMessage `json:"files"`
		}
		if err := json.Unmarshal(ctx.State(), &parent); err != nil {
			return nil, err
		}
		state, err := agent.Invoke(ctx, g, map[string]any{
			"messages": []message.Message{message.NewHuman(args.Description)}, "files": parent.Files,
		})
		if err != nil {
			return nil, err
		}
		last, _ := state.Messages()["messages"].Last()
		text := last.Text()
		if text == "" {
			text = "Task completed"
		}
		files, _ := state.Value("files")
		return tool.Answer(ctx.ToolCall(), text, agent.Write{Channel: "files", Value: files.AppendJSON(nil)}), nil
	})
}
