package manifest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/manifest"
)

func TestTheSummaryTellsDeadlines(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	agents, err := build(t, n.read(t, "", `  a:
    model: scripted:echo
    tools: [now, calculator, ask_user]
    review:
      now: {deadline: 48h}
      calculator: {decisions: [approve], deadline: 4h, on_expiry: {action: escalate, role: team:finance}}
`), manifest.BuildOptions{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, agents.Summarize(&b))
	require.Contains(t, b.String(), "now: approve, edit, reject, respond (within 48h, then reject)\n")
	require.Contains(t, b.String(), "calculator: approve (within 4h, then escalate to team:finance)\n")
}
