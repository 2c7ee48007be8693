package replicatest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// viewer is an open event stream of a thread that nobody runs.
type viewer struct {
	thread string
	conn   net.Conn
	lines  *bufio.Reader
}

// view opens the event stream of a thread; it has been accepted when it returns.
func view(b *testing.B, r *replica, threadID string) *viewer {
	b.Helper()
	addr := strings.TrimPrefix(r.url, "http://")
	conn, err := net.Dial("tcp", addr)
	require.NoError(b, err)
	body := `{"channels":["lifecycle"]}`
	_, err = fmt.Fprintf(conn, "POST /threads/%s/stream/events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		threadID, addr, len(body), body)
	require.NoError(b, err)
	v := &viewer{thread: threadID, conn: conn, lines: bufio.NewReaderSize(conn, 512)}
	v.until(b, "200 OK", "")
	v.until(b, "", "")
	return v
}

// until reads to a line that has the text and isn't the other; "" is the end of the headers.
func (v *viewer) until(b *testing.B, text, end string) {
	b.Helper()
	require.NoError(b, v.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	for {
		line, err := v.lines.ReadString('\n')
		require.NoError(b, err, "thread %s, before %q", v.thread, text)
		line = strings.TrimRight(line, "\r\n")
		if text == "" && line == end || text != "" && strings.Contains(line, text) {
			return
		}
	}
}

// process is what a process uses.
type process struct {
	rss int64 // bytes
	cpu time.Duration
}

func processOf(b *testing.B, pid int) (p process) {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("needs /proc to read another process's memory")
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			require.NoError(b, err)
			p.rss = kb << 10
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, i := range []int{11, 12} { // user and system time
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		require.NoError(b, err)
		p.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	return p
}

// BenchmarkIdleViewers: ten thousand people each look at a thread of their own on one
// replica, and runs that the other one starts reach those whom they concern. All of
// them share one subscription connection to Redis.
//
//	go test -run "^$" -bench IdleViewers -benchtime 1x ./server/replicatest
func BenchmarkIdleViewers(b *testing.B) {
	const n, runs, rest = 10_000, 200, 10 * time.Second
	var files syscall.Rlimit
	require.NoError(b, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	if files.Cur < n+500 {
		b.Skipf("needs %d open files (ulimit -n), may have %d", n+500, files.Cur)
	}
	prefix := newPrefix()
	viewed, cmd := child(b, prefix)
	other := start(b, options(prefix))
	admin := redis.NewClient(&redis.Options{Addr: shared.Addr(), DisableIdentity: true})
	defer admin.Close()
	subscriptions := func() int {
		list, err := admin.Do(b.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		require.NoError(b, err)
		return strings.Count(list, "\n")
	}
	connections := subscriptions()
	for b.Loop() {
		threads := make([]string, n)
		for i := range threads {
			threads[i] = other.thread()
		}
		view(b, viewed, threads[0]).conn.Close() // whatever is made for the first one
		before := processOf(b, cmd.Process.Pid)
		viewers := make([]*viewer, n)
		for i, id := range threads {
			viewers[i] = view(b, viewed, id)
		}
		opened := processOf(b, cmd.Process.Pid)
		b.ReportMetric(float64(opened.rss-before.rss)/1024/n, "KiB/viewer")
		require.Equal(b, connections, subscriptions(), "connections with subscriptions")

		<-time.After(rest) // what is measured is how much they cost meanwhile
		rested := processOf(b, cmd.Process.Pid)
		b.ReportMetric(100*(rested.cpu-opened.cpu).Seconds()/rest.Seconds(), "%cpu-idle")

		var took []time.Duration
		for i := range runs {
			v := viewers[i*(n/runs)]
			begin := time.Now()
			other.ok(http.MethodPost, "/threads/"+v.thread+"/runs", `{"assistant_id":"ticks","input":{"count":1}}`)
			v.until(b, `"completed"`, "")
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[runs/2].Microseconds())/1000, "ms-to-end-p50")
		b.ReportMetric(float64(took[runs*99/100].Microseconds())/1000, "ms-to-end-p99")
		for _, v := range viewers {
			_ = v.conn.Close()
		}
	}
}
