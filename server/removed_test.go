package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// A run may be removed while it is followed. Its readers get what it said
// before, and a clean end: there is nothing to come again for.
func TestStreamOfARunThatIsRemovedEndsCleanly(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	const running, pending = `{"assistant_id":"slow","input":{"wait":60},"stream_mode":"custom"}`,
		`{"assistant_id":"slow","input":{"wait":60},"stream_mode":"custom","after_seconds":60}`
	rollback := func(th, run string) answer {
		return c.post("/threads/"+th+"/runs/"+run+"/cancel?action=rollback", "").is(http.StatusAccepted)
	}
	replace := func(th, _ string) answer {
		return c.post("/threads/"+th+"/runs", `{"assistant_id":"echo","input":{},"multitask_strategy":"rollback"}`).ok()
	}
	deleteRun := func(th, run string) answer {
		return c.do(http.MethodDelete, "/threads/"+th+"/runs/"+run, "").is(http.StatusNoContent)
	}
	deleteThread := func(th, _ string) answer {
		return c.do(http.MethodDelete, "/threads/"+th, "").is(http.StatusNoContent)
	}
	for name, tt := range map[string]struct {
		run    string
		remove func(th, run string) answer
		last   string
	}{
		"running, rolled back":    {running, rollback, "error"},
		"running, replaced":       {running, replace, "error"},
		"running, deleted":        {running, deleteRun, ""},
		"running, thread deleted": {running, deleteThread, ""},
		"pending, rolled back":    {pending, rollback, ""},
		"pending, replaced":       {pending, replace, ""},
		"pending, deleted":        {pending, deleteRun, ""},
		"pending, thread deleted": {pending, deleteThread, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			th := c.thread()
			res := c.open(ctx, http.MethodPost, "/threads/"+th+"/runs/stream", tt.run)
			defer res.Body.Close() //nolint:errcheck // read to its end
			if tt.run == running {
				begin := parseFrames(t, res.Body, 2)
				require.Equal(t, "custom", begin[1].event)
			}
			tt.remove(th, c.get("/threads/" + th + "/runs").ok().list()[0]["run_id"].(string))
			b, err := io.ReadAll(res.Body)
			require.NoError(t, err, "cut")
			rest := parseFrames(t, bytes.NewReader(b), 0)
			if tt.last == "" {
				return
			}
			require.NotEmpty(t, rest)
			require.Equal(t, tt.last, rest[len(rest)-1].event)
			require.Equal(t, "rollback", rest[len(rest)-1].json(t)["message"])
		})
	}
}
