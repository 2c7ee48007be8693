package curl_test

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/demo"
	"github.com/parley-dev/parley/server"
)

// The transcript is run against the server that its readers start.
func TestTheTranscriptRuns(t *testing.T) { // D-41, D-42
	t.Parallel()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("install %s to check the transcript", tool)
		}
	}
	s, err := server.New(server.Options{Agents: demo.Agents(), Ephemeral: true})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		require.NoError(t, s.Shutdown(context.WithoutCancel(t.Context())))
	})
	for decision, want := range map[string]string{
		"approve": `Done: Refund order 4711\nReceipt: `,
		"reject":  `I did not do it: Refund order 4711\nThe reviewer rejected it.`,
	} {
		out, err := exec.CommandContext(t.Context(), "sh", "hitl.sh", web.URL, decision).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), want, decision)
		require.Contains(t, string(out), "Finished; the note is in the conversation exactly once", decision)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "hitl.sh").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "usage:")
}
