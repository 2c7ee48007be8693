package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// ErrTooLarge says that a server sent a message larger than ServerConfig.MaxMessage.
var ErrTooLarge = errors.New("mcp: message too large")

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
		if err != nil {
			l.fail(err)
			return 0, err
		}
		if start := bytes.TrimLeft(line, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
			l.rest = line
			break
		}
		if len(bytes.TrimSpace(line)) > 0 && !l.noted {
			l.noted = true // once: it may be chatty
			l.log.Warn("server prints to standard output what is no message; such lines are left out")
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
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
	select {
	case <-l.ended:
		return
	default:
		close(l.ended)
	}
	if errors.Is(err, ErrTooLarge) {
		l.fault = err
	}
}

// broken is the fault of the server that ended reading; nil for the stream's end.
func (l *lineReader) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
