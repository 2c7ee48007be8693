package server

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// defaultsFromEnv reads LANGGRAPH_CONFIG: the config and context of system
// assistants, {graph id: {…config, "context": …}}.
func defaultsFromEnv(o *Options) error {
	text := os.Getenv("LANGGRAPH_CONFIG")
	if text == "" {
		return nil
	}
	var graphs map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &graphs); err != nil {
		return fmt.Errorf("LANGGRAPH_CONFIG: %w", err)
	}
	merged := map[string]thread.GraphDefault{}
	for id, d := range o.GraphDefaults {
		merged[id] = d
	}
	for id, config := range graphs {
		d := thread.GraphDefault{Context: config["context"]}
		delete(config, "context")
		if len(config) > 0 {
			d.Config = encode(config)
		}
		merged[id] = d
	}
	o.GraphDefaults = merged
	return nil
}

// setNames lists the names of sets that aren't hidden.
func setNames(sets []Set) (names []string) {
	for _, s := range sets {
		if !s.Hidden {
			names = append(names, s.Name)
		}
	}
	return names
}

// chooseSets adds the chosen sets to the options; the first one when none is chosen
// and there has to be one.
func chooseSets(o Options, chosen []string, needed bool) (Options, error) {
	if needed && len(chosen) == 0 && len(o.Sets) > 0 && len(o.Agents) == 0 {
		chosen = []string{o.Sets[0].Name}
	}
	owner := map[string]string{}
	for _, a := range o.Agents {
		owner[a.Name()] = "the program"
	}
	for _, name := range chosen {
		i := slices.IndexFunc(o.Sets, func(s Set) bool { return s.Name == name })
		if i < 0 {
			known := strings.Join(setNames(o.Sets), ", ")
			if known == "" {
				known = "none"
			}
			return o, fmt.Errorf("unknown set of agents %q; known: %s", name, known)
		}
		add := o.Sets[i].Options()
		for _, a := range add.Agents {
			if other, ok := owner[a.Name()]; ok {
				return o, fmt.Errorf("agent %q is in both %s and %s", a.Name(), other, name)
			}
			owner[a.Name()] = name
		}
		if err := merge(&o, add, name); err != nil {
			return o, err
		}
	}
	return o, nil
}

// merge adds what a set brings.
func merge(o *Options, add Options, name string) error {
	o.Agents = append(slices.Clone[[]agent.Agent](o.Agents), add.Agents...)
	if add.Auth != nil {
		if o.Auth != nil {
			return fmt.Errorf("set %s brings auth hooks of its own and can't be combined with others that do", name)
		}
		o.Auth = add.Auth
	}
	if add.Routes != nil {
		if o.Routes != nil {
			return fmt.Errorf("set %s brings routes of its own and can't be combined with others that do", name)
		}
		o.Routes = add.Routes
	}
	o.Middleware = append(o.Middleware, add.Middleware...)
	for id, ui := range add.UI {
		if o.UI == nil {
			o.UI = map[string]UI{}
		}
		o.UI[id] = ui
	}
	for id, d := range add.GraphDefaults {
		if o.GraphDefaults == nil {
			o.GraphDefaults = map[string]thread.GraphDefault{}
		}
		o.GraphDefaults[id] = d
	}
	o.PublicRoutes = o.PublicRoutes || add.PublicRoutes
	o.NoEventIDs = o.NoEventIDs || add.NoEventIDs
	o.NoFailureText = o.NoFailureText || add.NoFailureText
	o.Truncate = o.Truncate || add.Truncate
	return nil
}
