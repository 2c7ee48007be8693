package agent

import (
	"maps"
	"time"
)

// ReviewRule says how a tool's calls are reviewed, for those who look at an agent from outside: the audit log keeps
// each change of it. What is asked of whom is decided where the tool runs (package hitl), never by this.
type ReviewRule struct {
	// Decisions are those that a reviewer may choose from.
	Decisions []string `json:"decisions"`
	// Conditional says that a condition picks the calls; the others run unasked.
	Conditional bool `json:"conditional,omitempty"`
	// Deadline and the rest are those of Expiry, times as Go writes them; "" for none.
	Deadline string `json:"deadline,omitempty"`
	Warn     string `json:"warn,omitempty"`
	OnExpiry string `json:"on_expiry,omitempty"`
	Message  string `json:"message,omitempty"`
	Role     string `json:"role,omitempty"`
	Then     string `json:"then,omitempty"`
}

// Expiring is the rule with a deadline; nil is none.
func (r ReviewRule) Expiring(e *Expiry) ReviewRule {
	if e == nil {
		return r
	}
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	r.Deadline, r.Warn, r.OnExpiry, r.Message, r.Role = span(e.After), span(e.Warn), e.Action, e.Message, e.Role
	if r.OnExpiry == "" {
		r.OnExpiry = ExpireReject
	}
	if r.OnExpiry == ExpireEscalate {
		r.Then = e.End()
	}
	return r
}

// ReviewRules tells of the rules of a graph's tools, by the tools' names.
func ReviewRules(rules map[string]ReviewRule) GraphOption {
	return func(g *Graph) {
		if g.reviewRules == nil {
			g.reviewRules = map[string]ReviewRule{}
		}
		maps.Copy(g.reviewRules, rules)
	}
}

// ReviewRules are the rules of the graph's tools, and of the graphs nested in it: "node/tool".
func (g *Graph) ReviewRules() map[string]ReviewRule {
	all := map[string]ReviewRule{}
	g.addReviewRules(all, "", map[*Graph]bool{})
	return all
}

func (g *Graph) addReviewRules(all map[string]ReviewRule, prefix string, within map[*Graph]bool) {
	if within[g] { // a graph that invokes itself
		return
	}
	within[g] = true
	defer delete(within, g)
	for name, rule := range g.reviewRules {
		all[prefix+name] = rule
	}
	for _, n := range g.nodes {
		if n.child != nil {
			n.child.addReviewRules(all, prefix+n.name+"/", within)
		}
	}
}
