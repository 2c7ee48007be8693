package cli

import (
	"context"
	"io"
)

// input reads what a person types, and lets go of that when the context of the line ends: a signal ends a prompt.
type input struct {
	from  io.Reader
	until context.Context //nolint:containedctx // an io.Reader has no other place for it
	// coming is the read under way; nil for none. A read of a terminal can't be taken back, so that one which is
	// given up goes on until the program ends; what it reads is the next line's.
	coming chan typed
	got    typed
}

// typed is what one read brought.
type typed struct {
	text []byte
	err  error
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	if len(in.got.text) == 0 && in.got.err == nil {
		if in.coming == nil {
			in.coming = make(chan typed, 1)
			go func(from io.Reader, to chan<- typed) {
				b := make([]byte, 4096)
				n, err := from.Read(b)
				to <- typed{b[:n], err}
			}(in.from, in.coming)
		}
		select {
		case in.got = <-in.coming:
			in.coming = nil
		case <-in.until.Done():
			return 0, context.Cause(in.until)
		}
	}
	if n := copy(p, in.got.text); n > 0 {
		in.got.text = in.got.text[n:]
		return n, nil
	}
	err := in.got.err
	in.got.err = nil // a terminal goes on behind its end of input
	return 0, err
}
