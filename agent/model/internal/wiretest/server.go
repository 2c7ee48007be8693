// Package wiretest has a server that plays a provider in tests of the adapters.
package wiretest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// Reply is what the server does with a request.
type Reply struct {
	// Status is 200 when 0. Header overrides the Content-Type, an event stream.
	Status int
	Header map[string]string
	// Body is sent at once, line by line.
	Body string
	// Cut resets the connection behind Body; Hang keeps it open until the client goes.
	Cut, Hang bool
	// Silent sends nothing at all, not even a status, before Cut or Hang.
	Silent bool
}

// Request is what the server got.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
}

// Server plays replies in their order, the last one over and over.
type Server struct {
	URL string
	// Gone gets a value for each Hang whose client went.
	Gone chan struct{}

	mu       sync.Mutex
	replies  []Reply
	requests []Request
}

// New starts a server that is closed with the test.
func New(t *testing.T, replies ...Reply) *Server {
	t.Helper()
	s := &Server{replies: replies, Gone: make(chan struct{}, 10)}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	got := Request{Path: r.URL.Path, Header: r.Header}
	if err := json.Unmarshal(raw, &got.Body); err != nil {
		http.Error(w, "not JSON", http.StatusTeapot)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, got)
	reply := s.replies[0]
	if len(s.replies) > 1 {
		s.replies = s.replies[1:]
	}
	s.mu.Unlock()
	s.play(w, r, reply)
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, reply Reply) {
	out := http.NewResponseController(w)
	if !reply.Silent {
		w.Header().Set("Content-Type", "text/event-stream")
		for k, v := range reply.Header {
			w.Header().Set(k, v)
		}
		if reply.Status != 0 {
			w.WriteHeader(reply.Status)
		}
		for line := range strings.SplitAfterSeq(reply.Body, "\n") {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
			_ = out.Flush()
		}
		_ = out.Flush()
	}
	if reply.Hang {
		<-r.Context().Done()
		s.Gone <- struct{}{}
		return
	}
	if reply.Cut {
		conn, _, err := out.Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an end
		}
		_ = conn.Close()
	}
}

// Requests returns what came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Last is the newest request.
func (s *Server) Last(t *testing.T) Request {
	t.Helper()
	all := s.Requests()
	require.NotEmpty(t, all)
	return all[len(all)-1]
}

// SSE makes an event stream's text of payloads.
func SSE(payloads ...string) string {
	var b strings.Builder
	for _, p := range payloads {
		b.WriteString("data: " + p + "\n\n")
	}
	return b.String()
}

// Events makes an event stream's text of payloads that name their type.
func Events(t *testing.T, payloads ...string) string {
	t.Helper()
	var b strings.Builder
	for _, p := range payloads {
		var named struct {
			Type string `json:"type"`
		}
		require.NoError(t, json.Unmarshal([]byte(p), &named), p)
		b.WriteString("event: " + named.Type + "\ndata: " + p + "\n\n")
	}
	return b.String()
}

// Answer is what a call yielded.
type Answer struct {
	message.Message
	Reason string
	Usage  *message.Usage
	Chunks []message.Chunk
	Err    error
}

// Call makes one call, without retries.
func Call(ctx context.Context, m model.Model, req model.Request) Answer {
	var all message.Accumulator
	var out Answer
	for c, err := range m.Stream(ctx, req) {
		if err != nil {
			out.Err = err
			break
		}
		all.Add(c)
		out.Chunks = append(out.Chunks, c)
	}
	out.Message, out.Reason, out.Usage = all.Finish(), all.FinishReason(), all.Usage()
	return out
}

// Ask is a request with one question.
func Ask(text string) model.Request {
	return model.Request{Messages: message.New(message.NewHuman(text))}
}
