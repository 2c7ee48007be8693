package server

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts requests. The counters are plain; the Prometheus registry that
// shows them is made when somebody first asks, so that a server nobody scrapes
// pays nothing for it.
type metrics struct {
	mu       sync.Mutex
	requests map[requestKey]*requestStats
	streams  int
	once     sync.Once
	page     http.Handler
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
	return strings.HasPrefix(p, "/feeds/") || strings.HasSuffix(p, "/stream") || strings.HasSuffix(p, "/wait") || strings.HasSuffix(p, "/join")
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

var (
	requestsDesc = prometheus.NewDesc("parley_http_requests_total", "Requests answered, by method and status.", []string{"method", "status"}, nil)
	latencyDesc  = prometheus.NewDesc("parley_http_request_seconds", "Latency of requests that are no streams.", []string{"method"}, nil)
	streamsDesc  = prometheus.NewDesc("parley_http_streams", "Open streams, waits and joins.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- requestsDesc
	ch <- latencyDesc
	ch <- streamsDesc
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	byMethod := map[string]*requestStats{}
	for key, st := range m.requests {
		ch <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(st.count), key.method, strconv.Itoa(key.status))
		sum := byMethod[key.method]
		if sum == nil {
			sum = &requestStats{}
			byMethod[key.method] = sum
		}
		sum.timed += st.timed
		sum.seconds += st.seconds
		for i, n := range st.buckets {
			sum.buckets[i] += n
		}
	}
	for method, st := range byMethod {
		buckets := map[float64]uint64{}
		for i, b := range bounds {
			buckets[b] = st.buckets[i]
		}
		ch <- prometheus.MustNewConstHistogram(latencyDesc, st.timed, st.seconds, buckets, method)
	}
	ch <- prometheus.MustNewConstMetric(streamsDesc, prometheus.GaugeValue, float64(m.streams))
}

// metricsPage is GET /metrics.
func (s *Server) metricsPage(c echo.Context) error {
	m := &s.metrics
	m.once.Do(func() {
		registry := prometheus.NewRegistry()
		registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	})
	m.page.ServeHTTP(c.Response(), c.Request())
	return nil
}
