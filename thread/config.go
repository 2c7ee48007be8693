package thread

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// What the server says of itself in the metadata of runs and checkpoints, where
// clients of the classic API look for it (spec/rest-api.md 3.6).
const (
	langgraphVersion = "1.7.3"
	langgraphPlan    = "developer"
	langgraphHost    = "self-hosted"
)

// Keys of configurable that name the authenticated user.
const (
	authUserKey        = "langgraph_auth_user"
	authUserIDKey      = "langgraph_auth_user_id"
	authPermissionsKey = "langgraph_auth_permissions"
)

// object is a JSON object by key.
type object = map[string]json.RawMessage

// effective is what a run is carried out with, merged from assistant, thread
// and request; the right one wins (spec/rest-api.md 3.6).
type effective struct {
	Config       object // without configurable
	Configurable object
	Metadata     Metadata
	Context      json.RawMessage
	// ThreadConfig is what the thread remembers.
	ThreadConfig json.RawMessage
}

// identity names a run.
type identity struct{ runID, threadID, graphID, assistantID string }

func mergeEffective(a Assistant, threadConfig json.RawMessage, threadMetadata Metadata, r StartRun, id identity) (effective, error) {
	assistant, err := parseConfig("assistant", a.Config)
	if err != nil {
		return effective{}, err
	}
	thread, err := parseConfig("thread", threadConfig)
	if err != nil {
		return effective{}, err
	}
	request, err := parseConfig("config", r.Config)
	if err != nil {
		return effective{}, err
	}
	for _, c := range []config{assistant, thread, request} {
		c.withoutUser()
	}
	// What addresses a checkpoint belongs to one run, not to the configuration.
	for _, k := range []string{"checkpoint_id", "checkpoint_ns", "checkpoint_map"} {
		delete(request.configurable, k)
	}
	remembered := config{
		top:          merged(assistant.top, thread.top, request.top),
		configurable: merged(assistant.configurable, thread.configurable, request.configurable),
	}
	e := effective{
		Config:       merged(assistant.top, request.top),
		Configurable: merged(remembered.configurable, headers(r.Headers), authUser(r.AuthUser), langsmith(r.Langsmith)),
		ThreadConfig: remembered.json(),
	}
	for k, v := range map[string]string{"run_id": id.runID, "thread_id": id.threadID, "graph_id": id.graphID, "assistant_id": id.assistantID} {
		e.Configurable[k] = quoted(v)
	}
	e.Metadata = merged(a.Metadata, threadMetadata,
		Metadata{"graph_id": quoted(id.graphID), "assistant_id": quoted(id.assistantID)}, request.metadata(), r.Metadata)
	e.Context, err = mergeContext(a.Context, r.Context)
	return e, err
}

// json is the configuration as the run's row keeps it.
func (e effective) json() json.RawMessage {
	return config{top: e.Config, configurable: e.Configurable}.json()
}

// config is a configuration taken apart.
type config struct{ top, configurable object }

func parseConfig(field string, raw json.RawMessage) (config, error) {
	c := config{top: object{}, configurable: object{}}
	if isNull(raw) {
		return c, nil
	}
	if err := json.Unmarshal(raw, &c.top); err != nil {
		return c, &InvalidInputError{Path: []string{field}, Message: fmt.Sprintf("%s must be an object", field)}
	}
	if inner := c.top["configurable"]; !isNull(inner) {
		if err := json.Unmarshal(inner, &c.configurable); err != nil {
			return c, &InvalidInputError{Path: []string{field, "configurable"}, Message: "configurable must be an object"}
		}
	}
	delete(c.top, "configurable")
	return c, nil
}

// authPrefix begins the keys of configurable that only the server sets.
const authPrefix = "langgraph_auth_"

// withoutUser takes out who the user is: configurations are the clients', whether they come with a run, an assistant or
// a cron, and an agent believes these keys.
func (c config) withoutUser() {
	maps.DeleteFunc(c.configurable, func(k string, _ json.RawMessage) bool { return strings.HasPrefix(k, authPrefix) })
}

func (c config) json() json.RawMessage {
	all := maps.Clone(c.top)
	all["configurable"] = encodeJSON(c.configurable) // also when it is empty: clients look into it
	return encodeJSON(all)
}

// metadata is config.metadata, a lesser form of the request's metadata.
func (c config) metadata() Metadata {
	m := Metadata{}
	if raw, ok := c.top["metadata"]; ok && json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func headers(h map[string]string) object {
	o := object{}
	for name, value := range h {
		o[strings.ToLower(name)] = quoted(value)
	}
	return o
}

// authUser puts the authenticated user where graphs look for it.
func authUser(user json.RawMessage) object {
	if isNull(user) {
		return nil
	}
	o := object{authUserKey: user}
	var known struct {
		Identity    json.RawMessage `json:"identity"`
		Permissions json.RawMessage `json:"permissions"`
	}
	if json.Unmarshal(user, &known) == nil {
		if known.Identity != nil {
			o[authUserIDKey] = known.Identity
		}
		if known.Permissions != nil {
			o[authPermissionsKey] = known.Permissions
		}
	}
	return o
}

func langsmith(t LangsmithTracer) object {
	o := object{}
	if t.ProjectName != "" {
		o["langsmith_project"] = quoted(t.ProjectName)
	}
	if t.ExampleID != "" {
		o["langsmith_example_id"] = quoted(t.ExampleID)
	}
	return o
}

// mergeContext merges the request's context over the assistant's, where that is
// an object or absent; any other value of the assistant stands.
func mergeContext(assistant, request json.RawMessage) (json.RawMessage, error) {
	if isNull(request) {
		return assistant, nil
	}
	if isNull(assistant) {
		return request, nil
	}
	var below, above object
	if isObject := json.Unmarshal(assistant, &below) == nil; !isObject {
		return assistant, nil
	}
	if json.Unmarshal(request, &above) != nil {
		if len(below) == 0 {
			return request, nil
		}
		return nil, &InvalidInputError{Path: []string{"context"}, Message: "context must be an object"}
	}
	return encodeJSON(merged(below, above)), nil
}

// configOf is the configuration that a stored run is carried out with.
func configOf(run Run) agent.Config {
	c, err := parseConfig("config", run.Kwargs.Config)
	if err != nil { // it was merged by mergeEffective
		c = config{top: object{}, configurable: object{}}
	}
	cfg := agent.Config{Configurable: c.configurable, Context: run.Kwargs.Context}
	if raw, ok := c.top["tags"]; ok {
		_ = json.Unmarshal(raw, &cfg.Tags) // tags of another type are none
	}
	if raw, ok := c.top["recursion_limit"]; ok {
		_ = json.Unmarshal(raw, &cfg.RecursionLimit) // 0 is the default
	}
	if raw, ok := c.top["max_concurrency"]; ok {
		_ = json.Unmarshal(raw, &cfg.MaxConcurrency) // 0 is no bound
	}
	// The runtime adds the public part of configurable where it stores checkpoints.
	cfg.Metadata = merged(streamMetadata(run), object{"thread_id": quoted(run.ThreadID)})
	return cfg
}

// streamMetadata is the metadata of a run as streamed with its tasks and messages.
func streamMetadata(run Run) object {
	attempt := run.Attempt
	if attempt < 1 {
		attempt = 1
	}
	return merged(run.Metadata, object{
		"run_attempt":       encodeJSON(attempt),
		"langgraph_version": quoted(langgraphVersion),
		"langgraph_plan":    quoted(langgraphPlan),
		"langgraph_host":    quoted(langgraphHost),
		"run_id":            quoted(run.ID),
	})
}

// publicConfigurable leaves out what is internal (__*) and who the user is.
func publicConfigurable(all object) object {
	public := object{}
	for k, v := range all {
		if strings.HasPrefix(k, "__") || k == authUserKey || k == authUserIDKey || k == authPermissionsKey {
			continue
		}
		public[k] = v
	}
	return public
}

// merged is a new object of all keys; later objects win.
func merged[M ~map[string]json.RawMessage](layers ...M) M {
	all := M{}
	for _, l := range layers {
		maps.Copy(all, l)
	}
	return all
}

// quoted is s as a JSON string.
func quoted(s string) json.RawMessage { return encodeJSON(s) }

// encodeJSON encodes what always can be: strings, numbers, objects of valid JSON.
func encodeJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // a raw value that is no JSON; its decoder would have refused it
		return json.RawMessage("null")
	}
	return b
}
