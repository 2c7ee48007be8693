package deploytest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread/redis/redistest"
)

// BenchmarkSizes measures what docs/operations.md says about sizes:
//
//	go test ./deploy/deploytest -run '^$' -bench Sizes -benchtime 1x
func BenchmarkSizes(b *testing.B) {
	for b.Loop() {
		inRedis(b)
		inFile(b)
	}
}

// measured is a server that is measured.
type measured struct {
	b   *testing.B
	r   *replica
	url string
}

func measure(b *testing.B, env ...string) measured {
	b.Helper()
	r := &replica{t: b, port: freePort(b), env: append([]string{"PARLEY_AGENTS=bench"}, env...)}
	r.start()
	r.ready()
	return measured{b: b, r: r, url: r.url()}
}

// resident is the memory of the process in bytes.
func (m measured) resident() float64 {
	m.b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(m.r.cmd.Process.Pid), "status"))
	if err != nil {
		m.b.Skip("the memory of a process is read from /proc")
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(v)[0])
			require.NoError(m.b, err)
			return float64(n << 10)
		}
	}
	return 0
}

// work does something n times, by 16 clients.
func (m measured) work(n int, f func(c client, i int)) {
	m.b.Helper()
	var all sync.WaitGroup
	next := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range next {
				f(client{t: m.b, url: m.url}, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

func turn(thread, content string, c client) {
	c.ok(http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"echo_stream","input":{"messages":[{"role":"user","content":"`+content+`"}]}}`)
}

const (
	manyThreads = 1000
	manyTurns   = 20
	manyReaders = 1000
	answer      = "tokens=50 " // 250 characters
)

func inRedis(b *testing.B) {
	server := redistest.Start(b, "--appendonly", "yes")
	redis := rds.NewClient(&rds.Options{Addr: server.Addr(), DisableIdentity: true})
	defer redis.Close() //nolint:errcheck // nothing is lost with it
	info := func(section, name string) float64 {
		text, err := redis.Info(context.Background(), section).Result()
		require.NoError(b, err)
		for line := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(line, name+":"); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				require.NoError(b, err)
				return n
			}
		}
		require.Fail(b, "Redis doesn't say "+name)
		return 0
	}
	m := measure(b, "PARLEY_REDIS="+server.URL())
	b.ReportMetric(m.resident()/(1<<20), "MiB_idle_process")
	b.ReportMetric(info("clients", "connected_clients")-1, "connections_idle")

	before := info("memory", "used_memory")
	m.work(manyThreads, func(c client, _ int) { c.thread() })
	empty := info("memory", "used_memory")
	b.ReportMetric((empty-before)/manyThreads, "B/empty_thread")

	m.work(manyThreads, func(c client, _ int) {
		c.ok(http.MethodPost, "/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"approval","input":{"messages":[{"role":"user","content":"`+answer+`"}]}}`)
	})
	suspended := info("memory", "used_memory")
	b.ReportMetric((suspended-empty)/manyThreads, "B/suspended_thread")

	aof := info("persistence", "aof_current_size")
	events := make([]int64, manyThreads/manyTurns)
	m.work(manyThreads/manyTurns, func(c client, i int) {
		thread := c.thread()
		for range manyTurns {
			turn(thread, answer, c)
		}
		events[i] = lastSeq(c, thread)
	})
	total := int64(0)
	for _, n := range events {
		total += n
	}
	turns := info("memory", "used_memory")
	b.ReportMetric((turns-suspended)/manyThreads, "B/turn")
	b.ReportMetric(float64(total)/manyThreads, "events/turn")
	b.ReportMetric((info("persistence", "aof_current_size")-aof)/manyThreads, "B_AOF/turn")

	long := client{t: b, url: m.url}
	thread := long.thread()
	turn(thread, "tokens=20000", long)
	b.ReportMetric((info("memory", "used_memory")-turns)/float64(lastSeq(long, thread)), "B/event")

	quiet := m.resident()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range manyReaders {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/threads/"+thread+"/stream", nil)
		require.NoError(b, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(b, err)
		defer res.Body.Close() //nolint:errcheck,gocritic // all at the end
	}
	b.ReportMetric((m.resident()-quiet)/manyReaders, "B/reader")
	b.ReportMetric(info("clients", "connected_clients")-1, "connections_after")
}

// lastSeq is the number of the thread's newest event.
func lastSeq(c client, thread string) int64 {
	f := &follower{client: c, thread: thread}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.stream(ctx)
	}()
	quiet := int64(-1)
	eventually(c.t, "all events are there", func() bool {
		last := f.last()
		same := last == quiet && last > 0
		quiet = last
		if !same {
			time.Sleep(200 * time.Millisecond)
		}
		return same
	})
	cancel()
	<-done
	return quiet
}

func inFile(b *testing.B) {
	dir := b.TempDir()
	m := measure(b, "PARLEY_DATA="+dir)
	size := func() float64 {
		var n int64
		for _, name := range []string{"parley.db", "parley.db-wal"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				n += info.Size()
			}
		}
		return float64(n)
	}
	before := size()
	m.work(manyThreads, func(c client, _ int) { c.thread() })
	empty := size()
	m.work(manyThreads/manyTurns, func(c client, _ int) {
		thread := c.thread()
		for range manyTurns {
			turn(thread, answer, c)
		}
	})
	b.ReportMetric((empty-before)/manyThreads, "B_local/empty_thread")
	b.ReportMetric((size()-empty)/manyThreads, "B_local/turn")
}
