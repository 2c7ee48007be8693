package deploytest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client speaks with Parley through a proxy, and takes compressed replies.
type client struct {
	t   testing.TB
	url string
}

// send sends a request and returns the reply, or why there was none.
func (c client) send(method, path, body string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, b)
	}
	reply := map[string]any{}
	_ = json.Unmarshal(b, &reply) // lists aren't looked at
	return reply, nil
}

func (c client) ok(method, path, body string) map[string]any {
	c.t.Helper()
	reply, err := c.send(method, path, body)
	require.NoError(c.t, err)
	return reply
}

// text is what a page says.
func (c client) text(path string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	require.NoError(c.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	b, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return string(b)
}

func (c client) thread() string {
	c.t.Helper()
	return c.ok(http.MethodPost, "/threads", "{}")["thread_id"].(string)
}

// event is one of the thread protocol.
type event struct {
	Seq    int64  `json:"seq"`
	Method string `json:"method"`
	Params struct {
		Namespace []string        `json:"namespace"`
		Data      json.RawMessage `json:"data"`
	} `json:"params"`
	at time.Time
}

// follower reads all events of a thread, and comes again from where it was whenever
// its stream ends, as the published clients do.
type follower struct {
	client
	thread string

	mu     sync.Mutex
	events []event
	broken int // streams that ended
	clean  int // those of them that ended as if they were complete
	reply  http.Header
}

// follow starts to read; the test's end ends it.
func (c client) follow(thread string) *follower {
	f := &follower{client: c, thread: thread}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f.stream(ctx)
			f.mu.Lock()
			f.broken++
			f.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	c.t.Cleanup(func() { cancel(); <-done })
	return f
}

// stream reads one stream to its end.
func (f *follower) stream(ctx context.Context) {
	body := `{"channels":["values","updates","checkpoints","messages","tools","lifecycle","input","custom","tasks"]`
	if last := f.last(); last > 0 {
		body += fmt.Sprintf(`,"since":%d`, last)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/threads/"+f.thread+"/stream/events", bytes.NewBufferString(body+"}"))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Encoding", "gzip, zstd") // set by hand, it isn't undone by the client
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	if res.StatusCode != http.StatusOK {
		return
	}
	f.mu.Lock()
	f.reply = res.Header
	f.mu.Unlock()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		e.at = time.Now()
		f.mu.Lock()
		f.events = append(f.events, e)
		f.mu.Unlock()
	}
	if lines.Err() == nil && ctx.Err() == nil {
		f.mu.Lock()
		f.clean++
		f.mu.Unlock()
	}
}

func (f *follower) last() (seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		seq = max(seq, e.Seq)
	}
	return seq
}

func (f *follower) all() []event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]event(nil), f.events...)
}

func (f *follower) breaks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// is tells whether an event is of a method and holds the text; of lifecycles only the run's own count.
func (e event) is(method, text string) bool {
	return e.Method == method && strings.Contains(string(e.Params.Data), text) && (method != "lifecycle" || len(e.Params.Namespace) == 0)
}

// until waits for an event behind the first n, and returns it.
func (f *follower) until(n int, method, text string) (found event) {
	f.t.Helper()
	eventually(f.t, method+" "+text, func() bool {
		for _, e := range f.all()[n:] {
			if e.is(method, text) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// whole checks that nothing is missing and nothing came twice. A hole stands where a
// gap was announced, or where the next owner of a run, whose numbers begin behind those
// that the dead one had reserved, says how things are: checkpoint and values (decisions 2, 7).
func (f *follower) whole() {
	f.t.Helper()
	events := f.all()
	var last int64
	gap := false
	for i, e := range events {
		gap = gap || e.is("custom", "parley.gap")
		if e.Seq == 0 {
			continue
		}
		if e.Seq != last+1 {
			again := e.Method == "checkpoints" && i+1 < len(events) && events[i+1].Method == "values"
			require.True(f.t, e.Seq > last && (gap || again), "%d %s behind %d: %v", e.Seq, e.Method, last, list(events))
		}
		last, gap = e.Seq, false
	}
	require.Positive(f.t, last)
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Zero(f.t, f.clean, "these streams have no end: a client that sees one waits for ever")
}

// list is what a failure shows of events.
func list(events []event) (all []string) {
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d %s %.200s", e.Seq, e.Method, e.Params.Data))
	}
	return all
}
