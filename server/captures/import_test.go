package captures_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream/classic/capturetest"
)

var importFrom = flag.String("import", "", "folder of recorded captures to copy into testdata")

// imported is a request as the recorder wrote it down.
type imported struct {
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Body      json.RawMessage   `json:"body"`
	Status    int               `json:"status"`
	ReplyRaw  *string           `json:"reply_raw"`
	ReplyFile string            `json:"reply_file"`
	Headers   map[string]string `json:"response_headers"`
	After     int               `json:"sent_after_stream_events"`
}

// Writes testdata anew from the recorder's files; without -import there is nothing to do.
func TestImport(t *testing.T) {
	if *importFrom == "" {
		t.Skip("no -import")
	}
	for name := range fixtures() {
		folder := filepath.Join(*importFrom, filepath.Dir(name))
		raw, err := os.ReadFile(filepath.Join(*importFrom, name+".classic.http.json"))
		require.NoError(t, err)
		var recorded struct {
			ThreadID string     `json:"thread_id"`
			Requests []imported `json:"requests"`
		}
		require.NoError(t, json.Unmarshal(raw, &recorded))
		var out bytes.Buffer
		line := func(v any) {
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(false)
			require.NoError(t, e.Encode(v))
		}
		line(map[string]string{"thread_id": recorded.ThreadID})
		for _, r := range recorded.Requests {
			x := exchange{Method: r.Method, Path: r.Path, Body: r.Body, Status: r.Status, After: r.After, Headers: someHeaders(func(name string) string { return r.Headers[name] })}
			var frames []string
			switch {
			case r.ReplyRaw != nil && *r.ReplyRaw == "":
			case r.ReplyRaw != nil:
				x.Reply = json.RawMessage(*r.ReplyRaw)
				if !json.Valid(x.Reply) {
					x.Reply, err = json.Marshal(*r.ReplyRaw)
					require.NoError(t, err)
				}
			case strings.HasSuffix(r.ReplyFile, ".sse"):
				body, err := os.ReadFile(filepath.Join(folder, r.ReplyFile))
				require.NoError(t, err)
				parsed, err := capturetest.Parse(body)
				require.NoError(t, err)
				frames = strings.Split(strings.TrimRight(string(body), "\n"), "\n\n")
				require.Len(t, frames, len(parsed))
			default:
				x.Reply, err = os.ReadFile(filepath.Join(folder, r.ReplyFile))
				if errors.Is(err, fs.ErrNotExist) { // left out where it equals the reply before
					x.Same = true
					break
				}
				require.NoError(t, err)
			}
			line(x)
			for _, f := range frames {
				var rec recordedFrame
				for _, l := range strings.Split(f, "\n") {
					key, value, _ := strings.Cut(l, ": ")
					switch key {
					case "event":
						rec.Event = value
					case "id":
						rec.ID = value
					case "data":
						rec.Data = json.RawMessage(value)
					}
				}
				line(rec)
			}
		}
		path := filepath.Join("testdata", name+".jsonl")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	}
}
