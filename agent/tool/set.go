package tool

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model"
)

// Set is the tools that an agent has, by name. It is immutable and safe for concurrent use.
type Set struct {
	tools   []Tool
	entries map[string]entry
}

// entry is a tool with the checker of its arguments.
type entry struct {
	tool Tool
	args *agent.Checker // nil without a schema
}

// NewSet makes a set. Errors: a tool without a name, two of one name, a schema that isn't one.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: tools, entries: map[string]entry{}}
	for _, t := range tools {
		d := t.Definition()
		if d.Name == "" {
			return nil, errors.New("tool: a tool needs a name")
		}
		if _, ok := s.entries[d.Name]; ok {
			return nil, fmt.Errorf("tool: two tools are named %q", d.Name)
		}
		e := entry{tool: t}
		if len(d.Schema) > 0 {
			var err error
			if e.args, err = agent.NewChecker(d.Schema); err != nil {
				return nil, fmt.Errorf("tool: schema of %q: %w", d.Name, err)
			}
		}
		s.entries[d.Name] = e
	}
	return s, nil
}

// Tool is the tool of that name; false when there is none.
func (s *Set) Tool(name string) (Tool, bool) {
	e, ok := s.entries[name]
	return e.tool, ok
}

// Issues says what is wrong with arguments for a tool of the set; nothing for one that
// takes anything, and for one that isn't in it.
func (s *Set) Issues(name string, args json.RawMessage) []agent.Issue {
	e := s.entries[name]
	if e.args == nil {
		return nil
	}
	return e.args.Issues(args)
}

// Definitions describes the tools to a model, in their order.
func (s *Set) Definitions() []model.Tool {
	all := make([]model.Tool, len(s.tools))
	for i, t := range s.tools {
		all[i] = t.Definition()
	}
	return all
}

// names lists the tools for a model that asked for one that doesn't exist.
func (s *Set) names() []string {
	all := make([]string, len(s.tools))
	for i, t := range s.tools {
		all[i] = t.Definition().Name
	}
	return all
}
