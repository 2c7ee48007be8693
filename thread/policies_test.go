package thread_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/thread"
)

// policies are the audited changes of review policies, verified.
func (b *bundle) policies() (list []thread.AuditBody) {
	b.t.Helper()
	all, err := b.store.ProjectAudit(b.t.Context(), thread.DefaultProject, 0, 1000)
	require.NoError(b.t, err)
	for _, e := range all {
		var body thread.AuditBody
		require.NoError(b.t, json.Unmarshal(e.Body, &body))
		if body.Action == thread.AuditPolicy {
			require.Empty(b.t, e.ThreadID, "it is of the project's chain")
			require.Equal(b.t, thread.Actor{Kind: "system", Via: "serve"}, body.Actor)
			list = append(list, body)
		}
	}
	return list
}

// change is what an entry tells of.
func change(b thread.AuditBody) [2]string { return [2]string{b.Agent + "/" + b.Tool, string(b.Detail)} }

// A review policy is audited when a process begins with one that isn't the one before: tool by tool, from what to
// what; not at each start, and not by each process. So is a tool that is reviewed no more.
func TestChangesOfReviewPoliciesAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld()
	agents := func(p hitl.Policy) []agent.Agent { return []agent.Agent{office(t, w, p, hitl.Batch, "pay")} }
	first := hitl.Policy{"pay": {Decisions: []hitl.Decision{hitl.Approve, hitl.Reject}, Deadline: 48 * time.Hour}, "mail": {Decisions: hitl.All()}}
	b := reviewers(t, agents(first), func(o *setupOptions) { o.world = w })
	const pay = `{"decisions":["approve","reject"],"deadline":"48h0m0s","on_expiry":"reject"}`
	const mail = `{"decisions":["approve","edit","reject","respond"]}`
	want := [][2]string{
		{"office/mail", `{"after":` + mail + `,"before":null}`},
		{"office/pay", `{"after":{"deadline":"48h0m0s","decisions":["approve","reject"],"on_expiry":"reject"},"before":null}`},
	}
	changes := func(b *bundle) (list [][2]string) {
		for _, p := range b.policies() {
			list = append(list, change(p))
		}
		return list
	}
	require.Equal(t, want, changes(b), "what it begins with")
	for _, p := range b.policies() {
		require.Len(t, p.Digest, 64)
	}
	b.stop()
	again := reviewers(t, agents(first), sharing(b))
	require.Len(t, changes(again), 2, "a start is no change")
	other := reviewers(t, agents(first), sharing(b))
	require.Len(t, changes(other), 2, "nor is another process")

	second := hitl.Policy{"pay": {
		Decisions: hitl.All(), When: func(hitl.Request) bool { return true }, Deadline: time.Hour, OnExpiry: hitl.OnExpiry{Action: agent.ExpireEscalate, Role: "team:boss"},
	}}
	_, err := again.svc.ReplaceAgents(t.Context(), append(agents(second), w.graphs()...))
	require.NoError(t, err)
	want = append(want,
		[2]string{"office/mail", `{"after":null,"before":` + mail + `}`},
		[2]string{"office/pay", `{"after":{"conditional":true,"deadline":"1h0m0s","decisions":["approve","edit","reject","respond"],"on_expiry":"escalate","role":"team:boss","then":"reject"},` +
			`"before":{"deadline":"48h0m0s","decisions":["approve","reject"],"on_expiry":"reject"}}`},
	)
	require.Equal(t, want, changes(b))
	require.Empty(t, b.policies()[2].Digest, "nothing is reviewed")
	_, err = other.svc.ReplaceAgents(t.Context(), append(agents(second), w.graphs()...))
	require.NoError(t, err)
	require.Equal(t, want, changes(b), "the other process has the same file")

	_, err = again.svc.ReplaceAgents(t.Context(), append(agents(first), w.graphs()...))
	require.NoError(t, err)
	require.Len(t, changes(b), 6, "back again is a change, too")
	require.JSONEq(t, pay, string(field(t, b.policies()[5].Detail, "after")))
	_, err = again.svc.ReplaceAgents(t.Context(), w.graphs())
	require.NoError(t, err)
	require.Len(t, changes(b), 8, "an agent that is gone reviews nothing")
	keys, err := b.store.ListKeys(t.Context(), thread.DefaultProject)
	require.NoError(t, err)
	for _, k := range keys {
		require.True(t, thread.IsRecord(k), "records are no API keys")
	}
}

// However many processes begin at once, a change is audited once.
func TestAPolicyIsAuditedOnceByManyProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld()
	agents := []agent.Agent{office(t, w, hitl.Policy{"pay": {Decisions: hitl.All()}, "mail": {Decisions: hitl.All()}}, hitl.Batch, "pay")}
	first := setup(t, func(o *setupOptions) { o.world = w })
	var all []*bundle
	for range 8 {
		all = append(all, reviewers(t, agents, sharing(first), notStarted()))
	}
	var wg sync.WaitGroup
	for _, b := range all {
		wg.Go(b.start)
	}
	wg.Wait()
	require.Len(t, first.policies(), 2)
}
