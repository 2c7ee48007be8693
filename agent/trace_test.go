package agent_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
)

func TestTraceParent(t *testing.T) {
	t.Parallel()
	const id = "0af7651916cd43dd8448eb211c80319c"
	const right = "00-" + id + "-b7ad6b7169203331-01"
	for text, want := range map[string]string{
		right:                               right,
		"cc" + right[2:]:                    right, // what is known of a later version
		right[:54] + "0":                    right[:54] + "0",
		"01" + right[2:] + "-x":             right,
		"":                                  "",
		"ff" + right[2:]:                    "",
		right + "-x":                        "",
		"01" + right[2:] + "x":              "",
		right[:54]:                          "",
		"00-" + id + "-0000000000000000-01": "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01": "",
		"00-" + id + "_b7ad6b7169203331-01":                       "",
		"00-" + id[:31] + "\n-b7ad6b7169203331-01":                "",
	} {
		require.Equal(t, want, agent.ParseTraceParent(text), text)
		require.Equal(t, want, agent.TraceParent(agent.WithTraceParent(t.Context(), text)))
		if want != "" {
			require.Equal(t, id, agent.TraceID(text))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9a-f-]{50,60}`).Draw(t, "text")
		if got := agent.ParseTraceParent(text); got != "" {
			require.Equal(t, got, agent.ParseTraceParent(got))
		}
	})
}

func TestLogsOfATraceSayWhich(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := agent.TracedLogs(agent.TracedLogs(slog.NewTextHandler(&out, nil)))
	log := slog.New(h).With("a", 1)
	ctx := agent.WithTraceParent(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	log.InfoContext(ctx, "one")
	log.Info("two")
	require.Regexp(t, `(?m)^.*msg=one a=1 trace_id=0af7651916cd43dd8448eb211c80319c$`, out.String())
	require.Regexp(t, `(?m)^.*msg=two a=1$`, out.String())
}
