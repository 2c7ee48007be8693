package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection is one session with a server, and what it stands on. It is used
// until it breaks, and then replaced.
type connection struct {
	session *sdk.ClientSession
	child   *child       // nil over HTTP
	carrier *httpCarrier // nil over standard input and output
	own     *http.Transport
	dead    chan struct{} // closed when the session is over
	end     error         // of the session, valid then
	cancel  context.CancelFunc
}

// dial connects and initialises a session. life is the Server's.
func dial(ctx, life context.Context, c ServerConfig, hide redactor, client *sdk.Client) (*connection, error) {
	connLife, cancel := context.WithCancel(life)
	conn := &connection{dead: make(chan struct{}), cancel: cancel}
	var via remembering
	if c.Command != "" {
		ch, err := startChild(c, hide)
		if err != nil {
			cancel()
			return nil, err
		}
		conn.child, via.Transport = ch, &childTransport{ch}
	} else {
		via.Transport, conn.carrier, conn.own = newHTTPTransport(connLife, c)
	}
	// The SDK's Connect may wait beyond its context (it opens subscriptions without
	// one), so that its end is brought about by what it stands on.
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn.session, err = client.Connect(ctx, &via, &sdk.ClientSessionOptions{ProtocolVersion: c.ProtocolVersion})
	}()
	select {
	case <-done:
		if err != nil {
			err = conn.explain(err)
		}
	case <-ctx.Done():
		late := conn.explain(context.Cause(ctx))
		cancel()
		if conn.child != nil {
			conn.child.stop()
		}
		<-done
		err = late
	}
	if err != nil {
		conn.close(c.Logger)
		if via.conn != nil {
			_ = via.conn.Close() // the SDK leaves it open after some failures
		}
		return nil, err
	}
	go func() {
		defer close(conn.dead)
		conn.end = conn.session.Wait()
	}()
	return conn, nil
}

// remembering is a transport that remembers the connection it made.
type remembering struct {
	sdk.Transport
	conn sdk.Connection
}

// Connect implements the SDK's Transport.
func (t *remembering) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	t.conn = conn
	return conn, err
}

// alive reports whether the session can still be used.
func (c *connection) alive() bool {
	return !isDone(c.dead) && (c.child == nil || c.child.ended() == nil)
}

// broken is what the server did wrong so that the connection ended; nil if it did nothing wrong.
func (c *connection) broken() error {
	if c.child != nil {
		return c.child.stdout.broken()
	}
	if fault := c.carrier.broken(); fault != nil {
		return fault
	}
	if isDone(c.dead) && malformed(c.end) {
		return fmt.Errorf("%w: %w", ErrMalformed, c.end)
	}
	return nil
}

// malformed reports whether the SDK gave up a stream because of what it read there.
func malformed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "malformed event") // the SDK has no value for it
}

// settle waits until what ended the connection is known, of one that is ending.
func (c *connection) settle() {
	t := time.NewTimer(closeTime)
	defer t.Stop()
	select {
	case <-c.dead:
	case <-t.C:
	}
}

// explain adds to an error what the connection knows of its cause.
func (c *connection) explain(err error) error {
	if fault := c.broken(); fault != nil {
		return fault
	}
	if c.child == nil {
		return err
	}
	if isDone(c.child.stdout.ended) { // its last words come a moment later
		c.child.goneWithin(c.child.grace)
	}
	if ended := c.child.ended(); ended != nil {
		err = ended
	}
	if last := c.child.errors.last(); last != "" {
		return fmt.Errorf("%w; its last words:\n%s", err, last)
	}
	return err
}

// close ends the session and what it stands on, and returns when all is gone.
func (c *connection) close(log *slog.Logger) {
	ended := make(chan struct{})
	if c.session != nil {
		go func() {
			defer close(ended)
			if err := c.session.Close(); err != nil {
				log.Debug("session closed", "error", err)
			}
		}()
	} else {
		close(ended)
	}
	if c.child != nil {
		c.child.stop()
	} else {
		t := time.NewTimer(closeTime)
		select { // the farewell of a session over HTTP
		case <-ended:
		case <-t.C:
		}
		t.Stop()
	}
	c.cancel()
	<-ended
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// closeTime bounds the farewell.
const closeTime = 2 * time.Second
