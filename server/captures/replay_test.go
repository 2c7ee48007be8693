package captures_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream/classic/capturetest"
)

// player sends the requests of a capture and compares the replies with the
// recorded ones. Both sides are numbered alike, so that the ids in a later
// request can be those that this server gave in the same places.
type player struct {
	t            *testing.T
	url          string
	theirs, ours *capturetest.Numbering
	unordered    bool
	// used are the masks that were needed; differences are what none covers.
	used        map[string]bool
	differences []string
}

func play(t *testing.T, url string, recorded capture, unordered bool) *player {
	t.Helper()
	p := &player{t: t, url: url, unordered: unordered, used: map[string]bool{}}
	p.theirs = capturetest.NewNumbering(recorded.threadID, recorded.assistantID())
	p.ours = capturetest.NewNumbering(uuid.NewString(), recorded.assistantID())
	for i := 0; i < len(recorded.exchanges); i++ {
		x := recorded.exchanges[i]
		res := p.send(x.Method, p.translate(x.Path), p.translate(string(x.Body)))
		if x.frames == nil {
			p.compareReply(i, x, res)
			continue
		}
		head := exchange{Status: res.StatusCode, Headers: someHeaders(res.Header.Get)}
		p.compare(place(i, x), x.value(t), head.value(t))
		run := res.Header.Get("Content-Location")
		stream := newStream(t, res)
		at := i
		for i+1 < len(recorded.exchanges) && recorded.exchanges[i+1].After > 0 {
			i++
			during := recorded.exchanges[i]
			stream.until(during.After)
			p.compareReply(i, during, p.send(during.Method, run+"/"+lastOf(during.Path), string(during.Body)))
		}
		body := stream.rest()
		require.Equal(t, body, newStream(t, p.send(http.MethodGet, run+"/stream", "")).rest(), "read again, it is the same")
		p.compareFrames(at, x, body)
	}
	return p
}

func (p *player) translate(text string) string { return p.theirs.Translate(text, p.ours) }

// lastOf is the last part of a path, with its query.
func lastOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// place names a request in the list of differences.
func place(i int, x exchange) string {
	last := lastOf(x.Path)
	if uuid.Validate(last) == nil {
		last = "thread"
	}
	return fmt.Sprintf("%d %s %s", i, x.Method, last)
}

func (p *player) compareReply(i int, recorded exchange, res *http.Response) {
	p.t.Helper()
	got := exchange{Status: res.StatusCode, Headers: someHeaders(res.Header.Get), Reply: readReply(p.t, res)}
	kind := lastOf(recorded.Path)
	p.compare(place(i, recorded),
		masked(document{kind, true, recorded.value(p.t)}, p.used), masked(document{kind, false, got.value(p.t)}, p.used))
}

func (p *player) compareFrames(at int, recorded exchange, body string) {
	p.t.Helper()
	frames, err := capturetest.Parse([]byte(body))
	require.NoError(p.t, err)
	value := func(frames []capturetest.Frame, i int, recorded bool) any {
		if i >= len(frames) {
			return nil
		}
		f := frames[i]
		require.True(p.t, f.HasEvent && f.HasID && f.HasData)
		kind, _, _ := strings.Cut(f.Event, "|")
		v := map[string]any{
			"event": eventName(f.Event, recorded), "id": f.ID,
			"data": masked(document{kind, recorded, f.Data}, p.used),
		}
		if kind == "updates" || kind == "values" { // clients look at the first key
			v["keys"] = keysOf(p.t, f.Raw)
		}
		return v
	}
	theirs, ours := inTaskOrder(p.t, recorded.frames), inTaskOrder(p.t, frames)
	if p.unordered {
		p.compareSets(len(theirs), len(ours), func(i int) any { return value(theirs, i, true) }, func(i int) any { return value(ours, i, false) })
		return
	}
	for i := range max(len(theirs), len(ours)) {
		p.compare(fmt.Sprintf("%s frame %d", place(at, recorded), i), value(theirs, i, true), value(ours, i, false))
	}
}

// compareSets compares frames without regard to their order and numbers; ids
// are only compared within a frame.
func (p *player) compareSets(nTheirs, nOurs int, theirs, ours func(i int) any) {
	p.t.Helper()
	count := map[string]int{}
	add := func(n int, value func(i int) any, numbering *capturetest.Numbering, sign int) {
		for i := range n {
			v := value(i).(map[string]any)
			delete(v, "id")
			line, err := numbering.Clone().Value(v)
			require.NoError(p.t, err)
			count[line] += sign
		}
	}
	add(nTheirs, theirs, p.theirs, -1)
	add(nOurs, ours, p.ours, 1)
	for line, n := range count {
		if n != 0 {
			p.differences = append(p.differences, fmt.Sprintf("%+d × %s", n, line))
		}
	}
}

// compare numbers both sides and notes how they differ.
func (p *player) compare(where string, theirs, ours any) {
	p.t.Helper()
	want, err := p.theirs.Value(theirs)
	require.NoError(p.t, err)
	got, err := p.ours.Value(ours)
	require.NoError(p.t, err)
	if want == got {
		return
	}
	for _, d := range diff("", decode(p.t, []byte(want)), decode(p.t, []byte(got))) {
		p.differences = append(p.differences, where+": "+d)
	}
}

func (p *player) send(method, path, body string) *http.Response {
	p.t.Helper()
	t := p.t
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("User-Agent", "") // the recorder sent none, and it is kept with a run
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	return res
}
