package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// frame is what a reader was given.
type frame struct {
	n         int64 // seq, or number in the run
	name      string
	data      string
	id        string
	gap       bool // the frames before it are announced to be lost
	synthetic bool // it stands for lost ones
	stream    int  // which of the reader's streams
}

// reader is a client that follows a thread or a run and comes again, from where it
// was, whenever its stream breaks.
type reader struct {
	w       *world
	who     string
	replica int
	run     string // classic; "" follows the thread by the thread protocol
	thread  string

	mu      sync.Mutex
	frames  []frame
	last    int64 // cursor
	streams int
	clean   int  // streams that ended cleanly
	gone    bool // the run isn't there (any more)
	done    chan struct{}
	stop    context.CancelFunc
}

// follow starts a reader.
func (w *world) follow(who, thread, run string, replica int) *reader {
	r := &reader{w: w, who: who, thread: thread, run: run, replica: replica, last: -1, done: make(chan struct{})}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() {
		defer close(r.done)
		for ctx.Err() == nil && !r.once(ctx) {
			r.replica++
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return r
}

// end stops the reader and waits for it.
func (r *reader) end() {
	r.stop()
	<-r.done
}

// once reads one stream; it reports whether that was the last one.
func (r *reader) once(ctx context.Context) (over bool) {
	r.mu.Lock()
	last := r.last
	r.streams++
	r.mu.Unlock()
	q := request{who: r.who, method: http.MethodGet, path: "/threads/" + r.thread + "/runs/" + r.run + "/stream"}
	if r.run == "" {
		body := map[string]any{"channels": []string{"values", "updates", "checkpoints", "messages", "tools", "lifecycle", "input", "custom", "tasks"}}
		body["since"] = max(last, 0) // without one, readers are spared what is long over
		q.method, q.path, q.body = http.MethodPost, "/threads/"+r.thread+"/stream/events", encode(body)
	}
	replica := r.replica % len(r.w.replicas)
	req, err := http.NewRequestWithContext(ctx, q.method, "http://"+r.w.replicas[replica].front.addr()+q.path, strings.NewReader(q.body))
	if err != nil {
		return true
	}
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.run != "" && last >= 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	}
	res, err := r.w.http.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	r.w.hist.add(r.who, "stream from %d at replica %d: %d", last, replica, res.StatusCode)
	switch {
	case res.StatusCode == http.StatusServiceUnavailable:
		return false
	case res.StatusCode != http.StatusOK:
		r.w.violated("%s: stream: %s", r.who, res.Status)
		return true
	}
	return r.read(res, last)
}

// read reads the body of a stream.
func (r *reader) read(res *http.Response, from int64) (over bool) {
	first := res.Header.Get("X-Parley-Replay") == "truncated"
	var lostTo int64
	err := readSSE(res.Body, func(e sse) {
		f := frame{name: e.event, data: e.data, id: e.id, gap: e.gap || first, stream: r.streams}
		first = false
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.run != "" {
			if e.event == "error" && strings.Contains(e.data, "404: ") {
				r.gone = true
				return
			}
			n, err := strconv.ParseInt(e.id, 10, 64)
			if err != nil {
				r.w.violated("%s: id %q of %s", r.who, e.id, e.event)
				return
			}
			f.n = n
		} else {
			var v struct {
				Seq    int64  `json:"seq"`
				Method string `json:"method"`
				Params struct {
					Data json.RawMessage `json:"data"`
				} `json:"params"`
			}
			if err := json.Unmarshal([]byte(e.data), &v); err != nil {
				r.w.violated("%s: %q: %v", r.who, e.data, err)
				return
			}
			f.n, f.name = v.Seq, v.Method
			if to, ok := announced(v.Params.Data); ok {
				lostTo, f.gap = to, true
			}
			f.synthetic = f.n <= lostTo
		}
		r.frames = append(r.frames, f)
		r.last = max(r.last, f.n)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w.hist.add(r.who, "stream ended behind %d: %v", r.last, err)
	if err != nil {
		return false
	}
	r.clean++
	return r.run != ""
}

// announced reads a gap signal: up to which seq events are lost.
func announced(data json.RawMessage) (to int64, ok bool) {
	var v struct {
		Name    string `json:"name"`
		Payload struct {
			To int64 `json:"to"`
		} `json:"payload"`
	}
	if !strings.Contains(string(data), "parley.gap") || json.Unmarshal(data, &v) != nil || v.Name != "parley.gap" {
		return 0, false
	}
	return v.Payload.To, true
}

// reached tells whether the reader has come so far.
func (r *reader) reached(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last >= n
}

// over tells whether the reader has nothing more to read.
func (r *reader) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (f frame) String() string {
	data := f.data
	if _, after, ok := strings.Cut(data, `,"data":`); ok {
		data = after
	}
	gap := ""
	if f.gap {
		gap = " (gap)"
	}
	return fmt.Sprintf("%d%s %s %.70s", f.n, gap, f.name, data)
}
