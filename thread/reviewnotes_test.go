package thread_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/thread"
)

// An approved call's answer has no place for notes: they are kept with the review, and in the audit log, nevertheless.
// Of several calls they stand there once, and the log names every tool.
func TestNotesOfAFlatDecisionAreKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		calls    []string
		decision string
		tools    []string
	}{
		"an approved call":      {[]string{"pay"}, "approve", nil},
		"several approved ones": {[]string{"pay", "mail"}, "approve", []string{"pay", "mail"}},
		"several refused ones":  {[]string{"pay", "mail"}, "reject", []string{"pay", "mail"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			policy := hitl.Policy{"pay": {Decisions: hitl.All()}, "mail": {Decisions: hitl.All()}}
			b := reviewers(t, []agent.Agent{office(t, w, policy, hitl.Batch, tc.calls...)})
			r := b.ask("office", "alice")
			b.decide(as("rita"), r.ID, tc.decision, "Ann is known")
			require.Equal(t, "Ann is known", b.review(r.ID).Decided.Notes)
			for _, e := range b.audit(r.ThreadID) {
				switch e.Action {
				case thread.AuditRequested:
					require.Equal(t, tc.tools, e.Tools)
				case thread.AuditDecided:
					require.Equal(t, tc.tools, e.Tools)
					require.Equal(t, "Ann is known", e.Notes)
				}
			}
		})
	}
}
