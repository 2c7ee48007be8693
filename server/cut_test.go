package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/stream"
)

// seq is the number of an event of the thread protocol.
func (f frame) seq(t *testing.T) int64 { return int64(f.json(t)["seq"].(float64)) }

// lost reads a gap signal.
func (f frame) lost(t *testing.T) (from, to int64, ok bool) {
	data, isMap := f.json(t)["params"].(map[string]any)["data"].(map[string]any)
	if f.event != "custom" || !isMap || data["name"] != stream.GapName {
		return 0, 0, false
	}
	payload := data["payload"].(map[string]any)
	return int64(payload["from"].(float64)), int64(payload["to"].(float64)), true
}

// account checks that a client which had the events up to seq got each one since,
// once and in order, or was told that it is lost; it returns the events without
// the signals. Behind a gap come the state and numbers that were lost. Events that
// may be missing without a word are told by silent.
func account(t *testing.T, since int64, frames []frame, silent func(seq int64) bool) (events []frame) {
	t.Helper()
	last, ids := since, map[string]bool{}
	snapshot := int64(0) // up to which numbers come again
	for _, f := range frames {
		require.False(t, ids[f.id], "twice: %s", f.id)
		ids[f.id] = true
		from, to, gap := f.lost(t)
		next := f.seq(t)
		switch {
		case gap:
			require.True(t, strings.HasPrefix(f.id, "synth:"))
			require.GreaterOrEqual(t, to, from)
			next = from
		case next <= snapshot:
			require.True(t, strings.HasPrefix(f.id, "synth:"), "%s stands for what is lost", f.id)
			events = append(events, f)
			continue
		default:
			events = append(events, f)
		}
		require.Greater(t, next, last)
		for seq := last + 1; seq < next; seq++ {
			require.True(t, silent != nil && silent(seq), "%d is missing before %s", seq, f.id)
		}
		if last = next; gap {
			last, snapshot = to, to
		}
	}
	return events
}

// shown is the newest root state that the events show.
func shown(t *testing.T, events []frame) (data map[string]any) {
	t.Helper()
	for _, f := range events {
		params := f.json(t)["params"].(map[string]any)
		if f.event == "values" && len(params["namespace"].([]any)) == 0 {
			data = params["data"].(map[string]any)
		}
	}
	return data
}

// D-03, D-06, M-50: a log that was cut says so to whoever misses something, and to
// nobody else, wherever in it they left off, and shows the same state to all.
func TestACutLogIsToldToEveryCursor(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	live := c.read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":`+allChannels+`}`)
	classic := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	runs := make([]string, 3)
	for i := range runs {
		runs[i] = c.start(id, fmt.Sprintf(`{"assistant_id":"echo","input":{"note":"%d"}}`, i))
		c.wait(id, runs[i])
	}
	var all []frame
	for len(roots(t, all)) < 2*len(runs) {
		all = append(all, live.frames(1)...)
	}
	account(t, 0, all, nil)
	end := all[len(all)-1].seq(t)
	c.post("/threads/prune", `{"thread_ids":["`+id+`"],"strategy":"keep_latest"}`).ok()
	c.post("/threads/"+id+"/state", `{"values":{"note":"edited"},"as_node":"say"}`).ok()
	edit := live.frames(2)
	require.Equal(t, []string{"checkpoints", "values"}, names(t, edit))
	want := c.values(id)["note"]
	before := classic.frames(2 * len(runs))
	require.NoError(t, live.res.Body.Close())
	require.NoError(t, classic.res.Body.Close())
	c.until("nothing is left in memory for others", func() bool {
		r := c.read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":`+allChannels+`}`)
		defer func() { _ = r.res.Body.Close() }()
		_, _, gap := r.frames(1)[0].lost(t)
		return gap
	})

	var snapshot []frame
	for since := range end + 1 {
		r := c.read(http.MethodPost, "/threads/"+id+"/stream/events", fmt.Sprintf(`{"channels":%s,"since":%d}`, allChannels, since))
		if since == end { // has it all
			require.Equal(t, edit, r.frames(2))
			require.NoError(t, r.res.Body.Close())
			continue
		}
		got := r.frames(7)
		require.NoError(t, r.res.Body.Close())
		require.Equal(t, []string{"custom", "checkpoints", "values", "running", "completed", "checkpoints", "values"}, names(t, got), "since %d", since)
		from, to, _ := got[0].lost(t)
		require.Equal(t, []int64{since + 1, end}, []int64{from, to})
		require.Equal(t, edit, got[5:])
		events := account(t, since, got, nil)
		require.Equal(t, "2", shown(t, events[:4])["note"], "as it was at the cut")
		require.Equal(t, want, shown(t, events)["note"])
		if since == 0 {
			snapshot = got[1:5]
			require.Equal(t, []string{runs[2] + " running", runs[2] + " completed"}, roots(t, got))
		}
		require.Equal(t, snapshot, got[1:5], "to everyone the same")
		require.Equal(t, end, got[4].seq(t), "on the highest numbers")
	}
	narrow := c.read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":["custom"]}`)
	_, to, ok := narrow.frames(1)[0].lost(t)
	require.True(t, ok)
	require.Equal(t, end, to)
	socket := c.socket(id)
	socket.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":` + allChannels + `}}`)
	require.EqualValues(t, 7, socket.next()["result"].(map[string]any)["replayed_events"])
	whole := c.read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":`+allChannels+`}`).frames(7)
	for _, f := range whole {
		require.Equal(t, f.json(t), socket.next(), "a socket gets the same")
	}

	for i, f := range before {
		res := c.after(f.id).open(t.Context(), http.MethodGet, "/threads/"+id+"/stream?stream_mode=run_modes&stream_mode=state_update", "")
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "truncated", res.Header.Get(stream.GapHeader), "frame %d", i)
		r := newReading(t, res)
		require.Equal(t, "state_update", r.frames(1)[0].event, "the snapshot is no edit")
		require.NoError(t, res.Body.Close())
	}
	res := c.after(fmt.Sprintf("1-%d", end)).open(t.Context(), http.MethodGet, "/threads/"+id+"/stream", "")
	require.Empty(t, res.Header.Get(stream.GapHeader), "has it all")
	require.NoError(t, res.Body.Close())
	for _, run := range runs {
		require.Empty(t, c.get("/threads/"+id+"/runs/"+run+"/stream").frames())
	}
}

// session is what one connection brought to a client that had the events up to since.
type session struct {
	since int64
	got   []frame
}

// sessions reads a thread's events over many short connections, until the state
// with that note has come.
func (c *client) sessions(ctx context.Context, random *rand.Rand, thread, note string) (all []session, err error) {
	since := int64(0)
	for finished := false; !finished; {
		s := session{since: since}
		res := c.open(ctx, http.MethodPost, "/threads/"+thread+"/stream/events", fmt.Sprintf(`{"channels":%s,"since":%d}`, allChannels, since))
		r := newReading(c.t, res)
		for range 1 + random.IntN(60) {
			if random.IntN(8) == 0 { // a slow one
				time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
			}
			f, err := r.next()
			if err != nil {
				return all, err
			}
			s.got = append(s.got, f)
			since = f.seq(c.t)
			if finished = f.event == "values" && shown(c.t, []frame{f})["note"] == note; finished {
				break
			}
		}
		_ = res.Body.Close()
		all = append(all, s)
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) // away: what is in memory goes when nobody reads
	}
	return all, nil
}

// Both dialects read one thread while its log is cut again and again: nothing is
// lost in silence, nothing comes twice, and every reader comes to the last state.
func TestReadersOfALogThatIsCutUnderThem(t *testing.T) {
	t.Parallel()
	for seed, tries := rand.Uint64(), 3; tries > 0; seed, tries = seed+1, tries-1 {
		t.Logf("seed %d", seed)
		if gaps := readCutLog(t, seed); gaps > 0 {
			t.Logf("%d gaps were told", gaps)
			return
		}
	}
	t.Fatal("no reader was ever behind: nothing was tested")
}

// readCutLog returns how many gaps its readers were told of: none where they were never away when it was cut.
func readCutLog(t *testing.T, seed uint64) (gaps int) {
	t.Helper()
	c := serveTest(t, server.Options{LogRetention: time.Nanosecond, SweepEvery: 2 * time.Millisecond})
	id := c.thread()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Second)
	defer stop()
	const readers = 3
	read := make([][]session, readers)
	var wg, others sync.WaitGroup
	for n := range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			if read[n], err = c.sessions(ctx, rand.New(rand.NewPCG(seed, uint64(n))), id, "last"); err != nil {
				t.Errorf("reader %d: %v", n, err)
			}
		}()
	}
	var rising []frame
	others.Add(1)
	go func() {
		defer others.Done()
		res := c.after("-1").open(ctx, http.MethodGet, "/threads/"+id+"/stream", "")
		defer func() { _ = res.Body.Close() }()
		rising, _ = newReading(t, res).drain() // until it is stopped
	}()
	random := rand.New(rand.NewPCG(seed, readers))
	rounds := heavy(60, 20)
	for i := range rounds {
		note := fmt.Sprint(i)
		if i == rounds-1 {
			note = "last"
		}
		body := fmt.Sprintf(`{"assistant_id":"echo","input":{"note":%q},"multitask_strategy":"enqueue"}`, note)
		for range 1 + random.IntN(3) {
			c.start(id, body)
		}
		if random.IntN(3) > 0 {
			c.until("idle", func() bool { return c.get("/threads/"+id).ok().str("status") == "idle" })
		}
		if random.IntN(2) == 0 {
			c.post("/threads/prune", `{"thread_ids":["`+id+`"],"strategy":"keep_latest"}`).ok()
		}
	}
	wg.Wait()
	stop()
	others.Wait()
	known := map[int64]string{} // by seq: what some reader has seen there
	for _, sessions := range read {
		for _, s := range sessions {
			for _, f := range s.got {
				if !strings.HasPrefix(f.id, "synth:") || f.event == "lifecycle" {
					known[f.seq(t)] = f.event
				}
			}
		}
	}
	for _, sessions := range read {
		for _, s := range sessions {
			events := account(t, s.since, s.got, func(seq int64) bool {
				// The ends of superseded runs are left out of replays, and so are states that are gone.
				return known[seq] == "lifecycle" || known[seq] == "values" || known[seq] == ""
			})
			gaps += len(s.got) - len(events)
		}
	}
	seen := map[string]bool{}
	for _, f := range rising {
		require.False(t, seen[f.id], "twice: %s", f.id)
		seen[f.id] = true
	}
	return gaps
}
