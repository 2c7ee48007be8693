package captures_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream/classic/capturetest"
)

// capture is one recorded thread: its requests in order with their replies.
type capture struct {
	threadID  string
	exchanges []exchange
}

// exchange is one request and its reply: frames of a stream, or a JSON value or text.
type exchange struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Status int             `json:"status"`
	// Headers are some of the reply's.
	Headers map[string]string `json:"headers,omitempty"`
	Reply   json.RawMessage   `json:"reply,omitempty"`
	// Same says that the reply is that of the exchange before.
	Same bool `json:"same,omitempty"`
	// After is the number of frames that the open stream had sent before this request; 0: it had ended.
	After int `json:"after_frames,omitempty"`

	frames []capturetest.Frame
}

// record is a line of a capture's file: the thread, a request, or a frame of the request before.
type record struct {
	ThreadID string `json:"thread_id,omitempty"`
	exchange
	recordedFrame
}

type recordedFrame struct {
	Event string          `json:"event,omitempty"`
	ID    string          `json:"id,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// load reads a capture of testdata.
func load(t *testing.T, name string) capture {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	require.NoError(t, err)
	var c capture
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		switch {
		case r.ThreadID != "":
			c.threadID = r.ThreadID
		case r.Event != "":
			last := &c.exchanges[len(c.exchanges)-1]
			last.frames = append(last.frames, capturetest.Frame{
				Event: r.Event, ID: r.ID, Data: decode(t, r.Data), Raw: string(r.Data), HasEvent: true, HasID: true, HasData: true,
			})
		case r.Same:
			r.Reply = c.exchanges[len(c.exchanges)-1].Reply
			fallthrough
		default:
			c.exchanges = append(c.exchanges, r.exchange)
		}
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, c.exchanges)
	return c
}

// decode reads JSON with its numbers as they are written.
func decode(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), string(raw))
	return v
}

// assistantID is the system assistant's of the graph that the capture runs.
func (c capture) assistantID() string {
	for _, x := range c.exchanges {
		var run struct {
			AssistantID string `json:"assistant_id"`
		}
		if json.Unmarshal(x.Body, &run) == nil && run.AssistantID != "" {
			return uuid.NewSHA1(assistants, []byte(run.AssistantID)).String()
		}
	}
	return ""
}

// assistants is the namespace of system assistants' ids (spec/rest-api.md 1.5).
var assistants = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// value is the reply as a JSON value.
func (x exchange) value(t *testing.T) map[string]any {
	t.Helper()
	v := map[string]any{"status": json.Number(strconv.Itoa(x.Status)), "headers": orEmpty(x.Headers)}
	if len(x.Reply) > 0 {
		v["reply"] = decode(t, x.Reply)
	}
	return v
}

// comparedHeaders are the headers of replies that are compared.
var comparedHeaders = []string{"content-type", "content-location", "x-js-middleware"}

// someHeaders picks the headers to be compared.
func someHeaders(get func(name string) string) map[string]string {
	some := map[string]string{}
	for _, name := range comparedHeaders {
		if value := get(name); value != "" {
			some[name] = value
		}
	}
	return some
}

func orEmpty(headers map[string]string) map[string]string {
	if headers == nil {
		return map[string]string{}
	}
	return headers
}

// keysOf are the keys of an object in the order in which they are written.
func keysOf(t *testing.T, raw string) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	first, err := d.Token()
	require.NoError(t, err)
	require.Equal(t, json.Delim('{'), first, raw)
	var keys []string
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		keys = append(keys, key.(string))
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
	}
	return keys
}
