package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupted says which signal ended a command.
type interrupted struct{ signal syscall.Signal }

func (e *interrupted) Error() string { return "interrupted (" + e.signal.String() + ")" }

// Unwrap lets it be told by context.Canceled, too.
func (e *interrupted) Unwrap() error { return context.Canceled }

// exitCode is the one that shells give a program which the signal has killed.
func (e *interrupted) exitCode() int { return 128 + int(e.signal) }

// untilSignal is a context that SIGINT and SIGTERM end, with *interrupted as its cause. A second one kills the program.
// stop frees what belongs to it.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var waits sync.WaitGroup
	waits.Go(func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			number, _ := s.(syscall.Signal) // all signals are
			cancel(&interrupted{number})
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		waits.Wait()
	}
}
