package redis

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2" // small and kept; a state machine is all that is needed here
)

// A server that is away costs whoever asks it seconds until that is clear. After
// breakAfter such failures in a row nobody waits any more: calls fail at once, but for one
// every breakFor, which finds out whether the server is back.
const (
	breakAfter = 3
	breakFor   = 500 * time.Millisecond
	// attempts beyond the first of one call; with the timeout of a read they bound the wait before the circuit opens.
	mostRetries = 1
)

// breaker is the circuit to one server, as a hook of its client.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]
}

var _ rds.Hook = (*breaker)(nil)

// guard puts a circuit breaker before each server of a client.
func guard(client rds.UniversalClient) {
	switch c := client.(type) {
	case *rds.ClusterClient: // a master that is away must not keep callers from the others
		c.OnNewNode(func(node *rds.Client) { node.AddHook(newBreaker()) })
	case *rds.Client:
		c.AddHook(newBreaker())
	}
}

func newBreaker() *breaker {
	return &breaker{gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      breakFor,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
		IsSuccessful: func(err error) bool { return !unreachable(err) },
		IsExcluded:   func(err error) bool { return errors.As(err, new(*callersError)) },
	})}
}

// callersError is an error that the caller's context made, from which nothing follows.
type callersError struct{ error }

func (e *callersError) Unwrap() error { return e.error }

// through makes a call if the circuit is closed.
func (b *breaker) through(ctx context.Context, call func() error) error {
	_, err := b.circuit.Execute(func() (struct{}, error) {
		err := call()
		if err != nil && over(ctx) {
			err = &callersError{err}
		}
		return struct{}{}, err
	})
	var callers *callersError
	if errors.As(err, &callers) {
		return callers.error
	}
	return err
}

// over tells whether a context has ended; a connection finds out by its deadline, a little earlier than the context's own timer.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// broken tells whether an error is a circuit's.
func broken(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}

// handshake are the commands by which the client sets up a connection; the store sends none of them itself.
var handshake = []string{"hello", "auth", "client", "select", "readonly"}

func handshakes(cmds []rds.Cmder) bool {
	return len(cmds) > 0 && slices.Contains(handshake, cmds[0].Name())
}

// DialHook implements rds.Hook: attempts of one call count one by one.
func (b *breaker) DialHook(next rds.DialHook) rds.DialHook {
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		conn, err = next(ctx, network, addr)
		if err != nil && !over(ctx) {
			_ = b.through(ctx, func() error { return err })
		}
		return conn, err
	}
}

// ProcessHook implements rds.Hook.
func (b *breaker) ProcessHook(next rds.ProcessHook) rds.ProcessHook {
	return func(ctx context.Context, cmd rds.Cmder) error {
		if handshakes([]rds.Cmder{cmd}) {
			return next(ctx, cmd)
		}
		err := b.through(ctx, func() error { return next(ctx, cmd) })
		if broken(err) {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook implements rds.Hook.
func (b *breaker) ProcessPipelineHook(next rds.ProcessPipelineHook) rds.ProcessPipelineHook {
	return func(ctx context.Context, cmds []rds.Cmder) error {
		if handshakes(cmds) { // within a call that has passed already
			return next(ctx, cmds)
		}
		err := b.through(ctx, func() error { return next(ctx, cmds) })
		if broken(err) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}
