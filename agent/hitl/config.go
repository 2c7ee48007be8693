package hitl

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// NodeName is the name of the node that asks the batch question, as frontends know it.
const NodeName = "HumanInTheLoopMiddleware.after_model"

// Mode says how a person is asked.
type Mode string

// The modes.
const (
	// Batch asks once for all calls of a message, before any of them runs. The default.
	Batch Mode = "batch"
	// PerCall asks for each call where it runs, so that each is answered alone.
	PerCall Mode = "per_call"
)

// Casing is how the keys of the batch question are written; answers may use either.
type Casing string

// The casings. The per-call question is in snake_case in both (spec/runtime.md 6.8).
const (
	// Camel is what the JavaScript libraries expect: actionRequests. The default.
	Camel Casing = "camel"
	// Snake is what the Python libraries expect: action_requests.
	Snake Casing = "snake"
)

// DefaultDescriptionPrefix begins the descriptions of calls.
const DefaultDescriptionPrefix = "Tool execution requires approval"

// Config configures a Gate.
type Config struct {
	// Policy says which tools are reviewed.
	Policy Policy
	// Mode defaults to Batch, Casing to Camel.
	Mode   Mode
	Casing Casing
	// DescriptionPrefix begins descriptions that no rule makes. Default: DefaultDescriptionPrefix.
	DescriptionPrefix string
	// EditNotice is put before the result of a call that the reviewer edited, so that the
	// model knows what was carried out instead of its own call, which stays as it is in the
	// history. Default: a sentence that names both. A pointer to "" leaves it out.
	EditNotice *string
	// EditNoticeFunc makes the notice of each edit, instead of EditNotice.
	EditNoticeFunc func(proposed, executed Action) string
}

// Gate reviews the tool calls of one agent. It is immutable and safe for concurrent use.
// Nothing that a run's caller sends changes what it lets through.
type Gate struct {
	config Config
	tools  *tool.Set
	// answers makes the response schemas.
	answers *schemas
}

// New returns the Gate of an agent with the given tools. Errors: a rule without
// decisions or with an unknown one, a rule for a tool that isn't in the set, an unknown mode or casing.
func New(c Config, tools *tool.Set) (*Gate, error) {
	if tools == nil {
		return nil, errors.New("hitl: a gate needs the agent's tools")
	}
	if c.Mode == "" {
		c.Mode = Batch
	}
	if c.Casing == "" {
		c.Casing = Camel
	}
	if c.DescriptionPrefix == "" {
		c.DescriptionPrefix = DefaultDescriptionPrefix
	}
	if c.Mode != Batch && c.Mode != PerCall {
		return nil, fmt.Errorf("hitl: unknown mode %q; there are %q and %q", c.Mode, Batch, PerCall)
	}
	if c.Casing != Camel && c.Casing != Snake {
		return nil, fmt.Errorf("hitl: unknown casing %q; there are %q and %q", c.Casing, Camel, Snake)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Policy)) {
		if _, ok := tools.Tool(name); !ok {
			errs = append(errs, fmt.Errorf("hitl: review of %q: the agent has no such tool", name))
		}
		if err := c.Policy[name].check(); err != nil {
			errs = append(errs, fmt.Errorf("hitl: review of %q: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &Gate{config: c, tools: tools}
	g.config.Policy = maps.Clone(c.Policy)
	g.answers = newSchemas(g)
	return g, nil
}

// Batch tells whether the agent needs a node NodeName behind its model that runs AfterModel.
func (g *Gate) Batch() bool { return g.config.Mode == Batch }

// Gates tells whether calls of a tool are reviewed, all or some.
func (g *Gate) Gates(name string) bool {
	_, ok := g.config.Policy[name]
	return ok
}

// Options are what the agent's graph needs.
func (g *Gate) Options() []agent.GraphOption {
	return []agent.GraphOption{agent.Sealed(channel), agent.ReviewRules(g.Rules())}
}

// Rules are the policy as the audit log keeps it.
func (g *Gate) Rules() map[string]agent.ReviewRule {
	all := map[string]agent.ReviewRule{}
	for name, r := range g.config.Policy {
		rule := agent.ReviewRule{Conditional: r.When != nil}.Expiring(r.Expiry())
		for _, d := range r.Decisions {
			rule.Decisions = append(rule.Decisions, string(d))
		}
		all[name] = rule
	}
	return all
}

// channel is the sealed channel of what was decided.
const channel = "hitl"
