package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// ErrTooLarge says that a server sent a message larger than ServerConfig.MaxMessage.
var ErrTooLarge = errors.New("mcp: message too large")

// ErrMalformed says that a server sent what was meant as a message and isn't JSON.
var ErrMalformed = errors.New("mcp: malformed message")

// lineReader reads the messages of a child, one a line. Lines that can't be a
// message are left out: many servers, and what they are started with, print a word or two to
// standard output.
type lineReader struct {
	source io.Closer
	lines  *bufio.Reader
	max    int
	log    *slog.Logger
	rest   []byte // of the current line
	noted  bool

	ended chan struct{} // closed when reading ended
	mu    sync.Mutex
	fault error
}

func newLineReader(r io.ReadCloser, maxMessage int, log *slog.Logger) *lineReader {
	return &lineReader{source: r, lines: bufio.NewReaderSize(r, 64<<10), max: maxMessage, log: log, ended: make(chan struct{})}
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if err == nil && !isMessage(line) {
			err = l.leaveOut(line)
			line = nil
		}
		if err != nil {
			l.fail(err)
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// isMessage reports whether a line can be handed to the protocol's decoder, which
// would wait for the rest of a broken one.
func isMessage(line []byte) bool {
	start := bytes.TrimLeft(line, " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') && json.Valid(line)
}

// leaveOut passes over a line, unless it is a message that came to harm: whoever waits for
// it would wait in vain.
func (l *lineReader) leaveOut(line []byte) error {
	if bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return ErrMalformed
	}
	if len(bytes.TrimSpace(line)) > 0 && !l.noted {
		l.noted = true // once: it may be chatty
		l.log.Warn("server prints to standard output what is no message; such lines are left out")
	}
	return nil
}

// next is the next line with its end.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > l.max:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, l.max)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err // half a line is no message
		}
	}
}

// Close implements io.Closer. The process closes the stream itself, once it has ended.
func (l *lineReader) Close() error { return nil }

func (l *lineReader) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isDone(l.ended) {
		return
	}
	close(l.ended)
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrMalformed) {
		l.fault = err
	}
}

// broken is the fault of the server that ended reading; nil for the stream's end.
func (l *lineReader) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
