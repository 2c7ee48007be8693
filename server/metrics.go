package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// metrics counts requests.
type metrics struct {
	mu       sync.Mutex
	requests map[requestKey]*requestStats
	streams  int
}

type requestKey struct {
	method string
	status int
}

type requestStats struct {
	count   uint64 // all requests
	timed   uint64 // those that are no streams
	seconds float64
	buckets [len(bounds)]uint64
}

// bounds are the upper bounds of the latency histogram, in seconds.
var bounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}

// measure counts requests. Streams are counted while they are open, and left
// out of the latencies: they last as long as a run (spec/libraries.md 7, 23).
func (s *Server) measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, start := &s.metrics, time.Now()
		stream := isStream(r)
		if stream {
			m.mu.Lock()
			m.streams++
			m.mu.Unlock()
		}
		defer func() {
			status := http.StatusOK
			if sw, ok := w.(*statusWriter); ok && sw.status != 0 {
				status = sw.status
			}
			m.observe(requestKey{methodLabel(r.Method), status}, time.Since(start).Seconds(), stream)
		}()
		next.ServeHTTP(w, r)
	})
}

// methodLabel bounds what clients can make of the label.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// isStream reports whether a request's reply lasts as long as a run, or longer.
func isStream(r *http.Request) bool {
	p := r.URL.Path
	return strings.HasPrefix(p, "/feeds/") || strings.HasSuffix(p, "/stream") || strings.HasSuffix(p, "/stream/events") || strings.HasSuffix(p, "/wait") || strings.HasSuffix(p, "/join")
}

func (m *metrics) observe(key requestKey, seconds float64, stream bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.requests[key]
	if st == nil {
		if m.requests == nil {
			m.requests = map[requestKey]*requestStats{}
		}
		st = &requestStats{}
		m.requests[key] = st
	}
	st.count++
	if stream {
		m.streams--
		return
	}
	st.timed++
	st.seconds += seconds
	for i, b := range bounds {
		if seconds <= b {
			st.buckets[i]++
		}
	}
}

// metricsPage is GET /metrics, in Prometheus' text format. It is written by
// hand: the client library would cost a server that nobody scrapes a tenth of
// its memory.
func (s *Server) metricsPage(c echo.Context) error {
	var p exposition
	s.metrics.write(&p)
	s.writeState(c.Request().Context(), &p)
	writeRuntime(&p)
	return c.Blob(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", p.b)
}

// write adds the requests.
func (m *metrics) write(p *exposition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(m.requests), func(a, b requestKey) int {
		return cmp.Or(cmp.Compare(a.method, b.method), cmp.Compare(a.status, b.status))
	})
	p.family("parley_http_requests_total", "counter", "Requests answered, by method and status.")
	byMethod, methods := map[string]*requestStats{}, []string{}
	for _, key := range keys {
		st := m.requests[key]
		p.sample("parley_http_requests_total", float64(st.count), "method", key.method, "status", strconv.Itoa(key.status))
		sum := byMethod[key.method]
		if sum == nil {
			sum = &requestStats{}
			byMethod[key.method], methods = sum, append(methods, key.method)
		}
		sum.timed += st.timed
		sum.seconds += st.seconds
		for i, n := range st.buckets {
			sum.buckets[i] += n
		}
	}
	const latency = "parley_http_request_seconds"
	p.family(latency, "histogram", "Latency of requests that are no streams.")
	for _, method := range methods {
		st := byMethod[method]
		for i, b := range bounds {
			p.sample(latency+"_bucket", float64(st.buckets[i]), "method", method, "le", strconv.FormatFloat(b, 'g', -1, 64))
		}
		p.sample(latency+"_bucket", float64(st.timed), "method", method, "le", "+Inf")
		p.sample(latency+"_sum", st.seconds, "method", method)
		p.sample(latency+"_count", float64(st.timed), "method", method)
	}
	p.family("parley_http_streams", "gauge", "Open streams, waits and joins.")
	p.sample("parley_http_streams", float64(m.streams))
}

// writeState adds whether the server is ready, and how busy it is.
func (s *Server) writeState(ctx context.Context, p *exposition) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	ready := 0.
	if s.Ready(ctx) == nil {
		ready = 1
	}
	load := s.svc.Load()
	p.family("parley_ready", "gauge", "1 while the server is ready: it isn't shutting down, and its store answers.")
	p.sample("parley_ready", ready)
	p.family("parley_runs_active", "gauge", "Runs that execute in this process.")
	p.sample("parley_runs_active", float64(load.Active))
	p.family("parley_workers", "gauge", "Runs that may execute in this process at once.")
	p.sample("parley_workers", float64(load.Workers))
}

// writeRuntime adds what the Go runtime and the process say of themselves, under the names of the usual collectors.
func writeRuntime(p *exposition) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	gauges := []struct {
		name, help string
		value      float64
	}{
		{"go_goroutines", "Number of goroutines.", float64(runtime.NumGoroutine())},
		{"go_memstats_heap_alloc_bytes", "Bytes of heap objects.", float64(mem.HeapAlloc)},
		{"go_memstats_sys_bytes", "Bytes of memory obtained from the system.", float64(mem.Sys)},
		{"process_start_time_seconds", "Start of the process, in seconds since the epoch.", float64(started.UnixMilli()) / 1e3},
	}
	for _, g := range gauges {
		p.family(g.name, "gauge", g.help)
		p.sample(g.name, g.value)
	}
	p.family("go_gc_cycles_total", "counter", "Garbage collections.")
	p.sample("go_gc_cycles_total", float64(mem.NumGC))
}

// started is when the process began, as near as we can tell.
var started = time.Now()

// exposition builds a page in Prometheus' text format. Label values here need no escapes.
type exposition struct{ b []byte }

func (p *exposition) family(name, kind, help string) {
	p.b = fmt.Appendf(p.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *exposition) sample(name string, value float64, labels ...string) {
	p.b = append(p.b, name...)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		p.b = fmt.Appendf(append(p.b, sep), "%s=%q", labels[i], labels[i+1])
	}
	if len(labels) > 0 {
		p.b = append(p.b, '}')
	}
	p.b = append(strconv.AppendFloat(append(p.b, ' '), value, 'g', -1, 64), '\n')
}
