package capturetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream/classic/capturetest"
)

// The rules reproduce the published normalised twins byte for byte, with one
// numbering for a run and the runs that resume it.
func TestLinesReproduceThePublishedTwins(t *testing.T) {
	t.Parallel()
	for name, capture := range map[string]struct {
		thread, assistant string
		streams           []string
	}{
		"resume": {
			thread:    "e636cc91-8a84-4a33-8148-b56288bea15f",
			assistant: "fe096781-5601-53d2-b2f6-0d3403f7e9ca",
			streams:   []string{"agent.interrupt.classic", "agent.interrupt.classic-resume"},
		},
		"nested": {
			thread:    "d8568194-1709-4bfa-aa37-bcc7197333c8",
			assistant: "0813419b-f0e6-579e-bdee-18d9fdf48632",
			streams:   []string{"nested.classic"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := capturetest.NewNumbering(capture.thread, capture.assistant)
			for _, stream := range capture.streams {
				body, err := os.ReadFile(filepath.Join("..", "testdata", stream+".sse"))
				require.NoError(t, err)
				want, err := os.ReadFile(filepath.Join("..", "testdata", stream+".norm.jsonl"))
				require.NoError(t, err)
				frames, err := capturetest.Parse(body)
				require.NoError(t, err)
				lines, err := n.Lines(frames)
				require.NoError(t, err)
				require.Equal(t, strings.Split(strings.TrimSpace(string(want)), "\n"), lines)
			}
		})
	}
}
