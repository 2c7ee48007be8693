package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// The audit log keeps each change of an agent's review policy: what is recorded is compared with what the agents
// have whenever a process begins to serve them. A record lies among the keys, which are stored once with an entry of the
// audit log, and opens nothing; it is never changed: a newer one of the same tool takes its place.

// recordPrefix begins the ids of keys that are records; no API key's id begins so.
const recordPrefix = "~policy/"

// IsRecord reports whether a key is none, but a record of the service's own.
func IsRecord(k Key) bool { return strings.HasPrefix(k.ID, recordPrefix) }

// policyRecord is how a tool's calls are reviewed since a time; Rule is nil when they aren't.
type policyRecord struct {
	Agent string            `json:"agent"`
	Tool  string            `json:"tool"`
	Rule  *agent.ReviewRule `json:"rule"`
	n     int               // counts the records of the tool, from 1
}

// policyDetail is the detail of a policy's audit entry: null for a tool whose calls aren't reviewed.
type policyDetail struct {
	Before *agent.ReviewRule `json:"before"`
	After  *agent.ReviewRule `json:"after"`
}

// ofTool identifies an agent's tool.
type ofTool struct{ agent, tool string }

// recordPolicies audits, in the default project, how the review policies of agents differ from those recorded last:
// once, however many processes serve them. Of agents that are gone nothing is reviewed.
func (s *Service) recordPolicies(ctx context.Context, agents *registry) error {
	ctx = WithActor(ctx, Actor{Kind: "system", Via: "serve"})
	now, err := s.policies(ctx, agents)
	if err != nil {
		return err
	}
	for range admissionTries {
		recorded, err := s.recordedPolicies(ctx)
		if err != nil {
			return err
		}
		faster := false
		for _, at := range changedPolicies(recorded, now) {
			switch err := s.recordPolicy(ctx, at, recorded[at], now[at]); {
			case errors.Is(err, ErrExists): // by another process, which may have seen other agents
				faster = true
			case err != nil:
				return fmt.Errorf("record the review policy of agent %s: %w", at.agent, err)
			}
		}
		if !faster {
			return nil
		}
	}
	return fmt.Errorf("record review policies: %w", ErrConflict)
}

// policies are the rules of the agents' tools.
func (s *Service) policies(ctx context.Context, agents *registry) (map[ofTool]*agent.ReviewRule, error) {
	all := map[ofTool]*agent.ReviewRule{}
	for _, name := range agents.graphs {
		g, err := agents.agents[name].Graph(ctx, agent.Config{})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // it needs a configuration, or can't be made now
			s.log.Warn("the review policy of an agent isn't known", "agent", name, "err", err)
			continue
		}
		for tool, rule := range g.ReviewRules() {
			all[ofTool{name, tool}] = &rule
		}
	}
	return all, nil
}

// recordedPolicies are the newest records.
func (s *Service) recordedPolicies(ctx context.Context) (map[ofTool]policyRecord, error) {
	keys, err := s.store.ListKeys(ctx, DefaultProject)
	if err != nil {
		return nil, err
	}
	newest := map[ofTool]policyRecord{}
	for _, k := range keys {
		if !IsRecord(k) {
			continue
		}
		var r policyRecord
		if err := json.Unmarshal([]byte(k.Hash), &r); err != nil {
			return nil, fmt.Errorf("record %s: %w", k.ID, err)
		}
		if r.n, err = strconv.Atoi(k.ID[strings.LastIndexByte(k.ID, '/')+1:]); err != nil {
			return nil, fmt.Errorf("record %s: %w", k.ID, err)
		}
		if at := (ofTool{r.Agent, r.Tool}); r.n > newest[at].n {
			newest[at] = r
		}
	}
	return newest, nil
}

// changedPolicies are the tools whose rules aren't those recorded, in a fixed order.
func changedPolicies(recorded map[ofTool]policyRecord, now map[ofTool]*agent.ReviewRule) []ofTool {
	var changed []ofTool
	for at, rule := range now {
		if policyDigest(recorded[at].Rule) != policyDigest(rule) {
			changed = append(changed, at)
		}
	}
	for at, r := range recorded {
		if _, there := now[at]; !there && r.Rule != nil {
			changed = append(changed, at)
		}
	}
	slices.SortFunc(changed, func(a, b ofTool) int {
		return strings.Compare(a.agent+"\x00"+a.tool, b.agent+"\x00"+b.tool)
	})
	return changed
}

// policyDigest identifies a rule; that of nil is "".
func policyDigest(r *agent.ReviewRule) string {
	if r == nil {
		return ""
	}
	return payloadDigest(encodeJSON(r))
}

// recordPolicy records a tool's rule behind the one before. Errors: ErrExists when another process was faster.
func (s *Service) recordPolicy(ctx context.Context, at ofTool, before policyRecord, rule *agent.ReviewRule) error {
	record := policyRecord{Agent: at.agent, Tool: at.tool, Rule: rule}
	k := Key{
		ID:      recordPrefix + digest(at.agent, at.tool)[:32] + "/" + strconv.Itoa(before.n+1),
		Project: DefaultProject, Name: "review policy", Hash: string(encodeJSON(record)), Roles: []string{},
	}
	return s.store.CreateKey(ctx, k, AuditBody{
		Action: AuditPolicy, Actor: ActorFrom(ctx), Agent: at.agent, Tool: at.tool, Digest: policyDigest(rule),
		Detail: encodeJSON(policyDetail{before.Rule, rule}),
	})
}
