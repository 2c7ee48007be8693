package transfer

import (
	"context"
	"errors"
	"fmt"
)

// Errors of a transfer.
var (
	// ErrNotEmpty: the target has content of its own.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrInUse: somebody works on the store.
	ErrInUse = errors.New("the store is in use")
	// ErrUnfinished: an earlier load of the store wasn't finished. Loading it anew starts from the beginning.
	ErrUnfinished = errors.New("the store was being loaded, and that was not finished: repeat it")
	// ErrDiffers: what was read back isn't what was written.
	ErrDiffers = errors.New("what was read back differs")
)

// Source is what can be dumped.
type Source interface {
	// Dump hands everything to emit, as Record says. It refuses a store that somebody
	// works on (ErrInUse) before and after.
	Dump(ctx context.Context, emit func(*Record) error) error
}

// Target is what can be loaded.
type Target interface {
	Source
	// BeginLoad begins a load: what an unfinished one left is removed. ErrNotEmpty for
	// content of another origin; system assistants don't count. From then on nobody
	// else can open the store (ErrUnfinished) until EndLoad.
	BeginLoad(ctx context.Context) error
	// Load stores the next record; what was stored may be visible with the End of its thread only.
	Load(ctx context.Context, r *Record) error
	// EndLoad makes the store one like any other.
	EndLoad(ctx context.Context) error
}

// checked is a source that can be damaged.
type checked interface {
	// Check reads all of it, and returns ErrFile if something is wrong.
	Check(ctx context.Context) error
}

// Copy copies everything from one store to another that is empty, and reads it back.
// It returns what was copied. Copying again after a failure starts anew.
func Copy(ctx context.Context, from Source, to Target) (*Tally, error) {
	if c, ok := from.(checked); ok { // before the target is touched
		if err := c.Check(ctx); err != nil {
			return nil, err
		}
	}
	if err := to.BeginLoad(ctx); err != nil {
		return nil, err
	}
	written, stored := &Tally{}, &Tally{}
	err := from.Dump(ctx, func(r *Record) error {
		if err := written.Add(r); err != nil {
			return err
		}
		return to.Load(ctx, r)
	})
	if err != nil {
		return nil, err
	}
	if err := to.Dump(ctx, stored.Add); err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	if diff := written.Differences(stored); diff != "" {
		return nil, fmt.Errorf("%w: %s", ErrDiffers, diff)
	}
	return written, to.EndLoad(ctx)
}
