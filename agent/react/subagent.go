package react

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

// TaskTool is the name of the tool that an agent calls its subagents by. Clients make a card of
// each call of it (spec/streaming-protocol.md 5.6).
const TaskTool = "task"

// Subagent is another agent as a tool. All subagents among an agent's tools are one
// tool, TaskTool, whose arguments are the description of the task, which is the human
// message that the subagent begins with, and the subagent_type, its name. The
// subagent runs within the tool's task, under the namespace tools:<task>; its last words are the result. When it
// waits for a person the agent waits with it, and both go on where they were. It has the
// messages of its own task only, and its own limits; it should have a Speaker, its name.
func Subagent(name, description string, g *agent.Graph) tool.Tool {
	return &delegation{subagents: []subagent{{name, description, g}}}
}

type subagent struct {
	name, description string
	graph             *agent.Graph
}

// delegation is the tool.
type delegation struct{ subagents []subagent }

// taskArguments are those of the tool; clients know them by name.
type taskArguments struct {
	Description  string `json:"description" jsonschema_description:"The task, with all that the subagent needs to know: it sees nothing else of the conversation."`
	SubagentType string `json:"subagent_type" jsonschema_description:"Which subagent is to do it."`
}

// joinSubagents makes one tool of all subagents, at the place of the first one.
func joinSubagents(tools []tool.Tool) ([]tool.Tool, error) {
	var all []tool.Tool
	var joined *delegation
	for _, t := range tools {
		d, ok := t.(*delegation)
		switch {
		case !ok:
			all = append(all, t)
		case joined == nil:
			joined = &delegation{subagents: slices.Clone(d.subagents)}
			all = append(all, joined)
		default:
			joined.subagents = append(joined.subagents, d.subagents...)
		}
	}
	if joined == nil {
		return all, nil
	}
	return all, joined.check()
}

// rulesOfSubagents are the review rules of the tools of an agent's subagents: "subagent/tool".
func rulesOfSubagents(tools *tool.Set) map[string]agent.ReviewRule {
	t, _ := tools.Tool(TaskTool)
	d, ok := t.(*delegation)
	if !ok {
		return nil
	}
	all := map[string]agent.ReviewRule{}
	for _, s := range d.subagents {
		for name, rule := range s.graph.ReviewRules() {
			all[s.name+"/"+name] = rule
		}
	}
	return all
}

// names are those of the subagents, in order.
func (d *delegation) names() []string {
	var all []string
	for _, s := range d.subagents {
		all = append(all, s.name)
	}
	return all
}

// check finds subagents that couldn't be told apart.
func (d *delegation) check() error {
	names := d.names()
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("a subagent has no name")
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two subagents are named %q", name)
		}
	}
	return nil
}

// Definition implements tool.Tool.
func (d *delegation) Definition() model.Tool {
	lines := []string{"Delegate a task to a subagent, which does it on its own and reports the result. Subagents:"}
	for _, s := range d.subagents {
		lines = append(lines, "- "+s.name+": "+s.description)
	}
	return model.Tool{Name: TaskTool, Description: strings.Join(lines, "\n"), Schema: tool.SchemaOf[taskArguments]()}
}

// Call implements tool.Tool.
func (d *delegation) Call(ctx tool.Context) (any, error) {
	args, err := decodeState[taskArguments](ctx.ToolCall().Args)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.subagents, func(s subagent) bool { return s.name == args.SubagentType })
	if i < 0 {
		return nil, fmt.Errorf("there is no subagent %q, the subagents are [%s]", args.SubagentType, strings.Join(d.names(), ", "))
	}
	state, err := agent.Invoke(ctx, d.subagents[i].graph, map[string]any{
		messagesKey: []message.Message{message.NewHuman(args.Description)},
	})
	if err != nil {
		return nil, err
	}
	if v, ok := state.Value(StructuredKey); ok {
		return v.JSON, nil
	}
	last, _ := state.Messages()[messagesKey].Last()
	if text := last.Text(); text != "" {
		return text, nil
	}
	return "The task is done.", nil
}
