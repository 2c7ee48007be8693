package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/parley-dev/parley/stream/protocol"
)

// Close codes beyond those of the WebSocket protocol: clients read them as an HTTP
// status + 4000 (spec/streaming-protocol.md 1.5).
const (
	CloseUnauthorized = websocket.StatusCode(4401)
	CloseForbidden    = websocket.StatusCode(4403)
	CloseNotFound     = websocket.StatusCode(4404)
	CloseInvalid      = websocket.StatusCode(4422)
)

// Defaults of a socket.
const (
	DefaultPing      = 15 * time.Second
	DefaultReadLimit = 32 << 20
)

// socketQueue is how many replies may wait until the client has read those before;
// then no more commands are read.
const socketQueue = 16

// SocketOptions configure one WebSocket of the thread protocol.
type SocketOptions struct {
	ThreadID string
	// Events holds Admit and NoFailureText; filters come with subscriptions.
	Events EventOptions
	// Commands carries out what isn't about subscriptions.
	Commands protocol.Commander
	// Stop closes the socket when it is closed (shutdown).
	Stop <-chan struct{}
	// Expired tells from the context's cause whether the client's credentials ended.
	Expired func(cause error) bool
	// Ping is the time between two pings. Default: DefaultPing.
	Ping time.Duration
	// WriteTimeout bounds each write, and the wait for a pong. Default: DefaultWriteTimeout.
	WriteTimeout time.Duration
	// ReadLimit is the largest message of a client in bytes. Default: DefaultReadLimit.
	ReadLimit int64
	// Logger default: slog.Default().
	Logger *slog.Logger
}

// ServeSocket upgrades the request and serves events and commands of a thread
// until the client goes, or the server stops. The caller has checked the origin;
// errors are those of the upgrade, which has answered the request then.
// Each event is sent once per connection, whatever the number of subscriptions
// that it matches.
func ServeSocket(w http.ResponseWriter, r *http.Request, hub *Hub, o SocketOptions) error {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	s := newSocket(conn, hub, o)
	if err := s.serve(r.Context()); err != nil {
		s.log.Debug("socket ended", "thread", o.ThreadID, "error", err)
	}
	return nil
}

// RefuseSocket upgrades the request only to close the connection with a code:
// browsers show their page nothing of a refused upgrade.
func RefuseSocket(w http.ResponseWriter, r *http.Request, code websocket.StatusCode, reason string) error {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	_ = conn.Close(code, reason) // the peer may be gone
	return nil
}

// socket is one connection: a goroutine that reads commands, and the one that
// serves, which alone writes events and replies.
type socket struct {
	conn *websocket.Conn
	hub  *Hub
	o    SocketOptions
	log  *slog.Logger

	live  *eventReader // what comes now, for all subscriptions
	subs  subscriptions
	items chan item
	owned sync.WaitGroup // goroutines
	pause time.Duration
	// pinging is set while a pong is awaited.
	pinging atomic.Bool
}

// item is what the reading goroutine hands to the serving one.
type item struct {
	reply       []byte // ready to be sent
	subscribe   *protocol.Command
	unsubscribe *protocol.Command
}

func newSocket(conn *websocket.Conn, hub *Hub, o SocketOptions) *socket {
	if o.Ping <= 0 {
		o.Ping = DefaultPing
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.ReadLimit <= 0 {
		o.ReadLimit = DefaultReadLimit
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	conn.SetReadLimit(o.ReadLimit)
	return &socket{conn: conn, hub: hub, o: o, log: o.Logger, items: make(chan item, socketQueue)}
}

// serve serves until the connection ends, and waits for its goroutines.
func (s *socket) serve(parent context.Context) error {
	// What ends the request must not cut the connection before its close code was sent.
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	left := make(chan struct{})
	stay := context.AfterFunc(s.hub.life, func() { //nolint:contextcheck // the server's life, not the request's
		defer close(left)
		s.leave(ctx, cancel)
	})
	events := s.o.Events
	events.Filters, events.fromEnd = nil, true
	s.live = s.hub.newEventReader(s.o.ThreadID, events)
	s.owned.Add(1)
	go func() {
		defer s.owned.Done()
		defer cancel()
		s.receive(ctx)
	}()
	code, err := s.run(ctx, parent, cancel)
	if code != 0 {
		_ = s.conn.Close(code, closeReason(code)) // the peer may be gone
	}
	_ = s.conn.CloseNow()
	cancel()
	if !stay() {
		<-left
	}
	s.owned.Wait()
	s.live.close()
	return err
}

// leave ends a write that hangs when the hub is closed, or a goodbye that nobody answers.
func (s *socket) leave(ctx context.Context, giveUp context.CancelFunc) {
	select {
	case <-ctx.Done():
	case <-time.After(leaveWithin):
		giveUp()
		_ = s.conn.CloseNow()
	}
}

func closeReason(code websocket.StatusCode) string {
	switch code {
	case websocket.StatusServiceRestart:
		return "server is shutting down"
	case CloseUnauthorized:
		return "credentials expired"
	}
	return "the stream failed"
}

// run hands out replies and events in turn. The code is 0 when the client went.
func (s *socket) run(ctx, parent context.Context, cancel context.CancelFunc) (websocket.StatusCode, error) {
	wheel := s.hub.wheelOf(s.o.Ping)
	slot := wheel.join()
	defer wheel.leave()
	beat := wheel.beat(slot)
	for {
		frames, state, err := s.live.next(ctx)
		if err == nil {
			err = s.send(ctx, frames)
		}
		if err != nil {
			return s.failed(ctx, parent, err)
		}
		wake, retry := s.until(state)
		select {
		case <-ctx.Done():
			return s.failed(ctx, parent, context.Cause(ctx))
		case <-parent.Done():
			return s.failed(ctx, parent, context.Cause(parent))
		case <-s.o.Stop:
			return websocket.StatusServiceRestart, nil
		case <-s.hub.life.Done():
			return websocket.StatusServiceRestart, nil
		case <-beat:
			beat = wheel.beat(slot)
			s.live.track.idle(ctx)
			s.ping(ctx, cancel)
		case it := <-s.items:
			err = s.handle(ctx, it)
		case <-wake:
		case <-retry:
		}
		if err != nil {
			return s.failed(ctx, parent, err)
		}
	}
}

// until returns what to wait for in a state of the reader.
func (s *socket) until(state status) (wake <-chan struct{}, retry <-chan time.Time) {
	switch state {
	case missing:
		s.pause = min(max(2*s.pause, minPause), maxPause)
		return nil, time.After(s.pause)
	case waiting:
		s.pause = 0
		return s.live.changed(), nil
	}
	s.pause = 0
	return closedChannel, nil
}

// failed decides how the connection ends after an error.
func (s *socket) failed(ctx, parent context.Context, err error) (websocket.StatusCode, error) {
	switch cause := context.Cause(parent); {
	case cause != nil && s.o.Expired != nil && s.o.Expired(cause):
		return CloseUnauthorized, cause
	case ctx.Err() != nil, errors.Is(err, errWrite):
		return 0, err
	}
	s.log.Warn("socket failed", "thread", s.o.ThreadID, "error", err)
	return websocket.StatusInternalError, err
}

var errWrite = errors.New("stream: write to socket")

// write sends one text message.
func (s *socket) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.WriteTimeout)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return nil
}

// ping asks for a sign of life and gives the connection up when none comes in
// time; events go on meanwhile.
func (s *socket) ping(ctx context.Context, giveUp context.CancelFunc) {
	if !s.pinging.CompareAndSwap(false, true) {
		return
	}
	s.owned.Add(1)
	go func() {
		defer s.owned.Done()
		defer s.pinging.Store(false)
		ctx, cancel := context.WithTimeout(ctx, s.o.WriteTimeout)
		defer cancel()
		if s.conn.Ping(ctx) != nil {
			giveUp()
		}
	}()
}

// soon waits a moment for entries that are about to be stored.
func (s *socket) soon(ctx context.Context) error {
	s.pause = min(max(2*s.pause, minPause), maxPause)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.pause):
		return nil
	}
}

// reply sends a reply.
func (s *socket) reply(ctx context.Context, r protocol.Reply) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("stream: encode reply: %w", err)
	}
	return s.write(ctx, b)
}

// handle does what a command asks of the serving goroutine.
func (s *socket) handle(ctx context.Context, it item) error {
	switch {
	case it.subscribe != nil:
		return s.gather(ctx, it.subscribe)
	case it.unsubscribe != nil:
		return s.unsubscribe(ctx, it.unsubscribe)
	}
	return s.write(ctx, it.reply)
}

// receive reads commands until the connection ends.
func (s *socket) receive(ctx context.Context) {
	for {
		_, raw, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		it := s.command(ctx, raw)
		select {
		case s.items <- it:
		case <-ctx.Done():
			return
		}
	}
}

// command carries out a command, or hands it on if it is about subscriptions.
func (s *socket) command(ctx context.Context, raw []byte) item {
	cmd, err := protocol.ParseCommand(raw)
	if err != nil {
		return refused(nil, err)
	}
	switch cmd.Method {
	case "subscription.subscribe":
		return item{subscribe: &cmd}
	case "subscription.unsubscribe":
		return item{unsubscribe: &cmd}
	case "subscription.reconnect":
		return refused(&cmd.ID, &protocol.Refusal{Code: protocol.NotSupported, Message: "Subscriptions end with their connection: subscribe again."})
	}
	reply, err := s.o.Commands.Command(ctx, raw)
	if err != nil {
		s.log.Error("command failed", "thread", s.o.ThreadID, "method", cmd.Method, "error", err)
		return refused(&cmd.ID, &protocol.Refusal{Code: protocol.UnknownError, Message: "Internal Server Error"})
	}
	return item{reply: reply}
}

// refused is the reply to a command that isn't carried out.
func refused(id *int64, err error) item {
	refusal := &protocol.Refusal{Code: protocol.UnknownError, Message: err.Error()}
	errors.As(err, &refusal)
	b, err := json.Marshal(protocol.Refuse(id, refusal))
	if err != nil { // strings always marshal
		panic(err)
	}
	return item{reply: b}
}

func newSubscriptionID() string { return uuid.NewString() }
