package mcp

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// tailLines and lineBytes bound what is kept of a child's standard error.
const (
	tailLines = 8
	lineBytes = 4 << 10
)

// stderrLog logs what a child writes to its standard error at debug level and
// keeps the last lines, for the error that says why it ended.
type stderrLog struct {
	log  *slog.Logger
	hide redactor

	mu   sync.Mutex
	tail []string
}

func newStderrLog(log *slog.Logger, hide redactor) *stderrLog {
	return &stderrLog{log: log, hide: hide}
}

// readFrom reads to the end.
func (l *stderrLog) readFrom(r io.Reader) {
	lines := bufio.NewReaderSize(r, lineBytes)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return // the process has ended, or we ended it
		}
		l.add(string(line))
		for more && err == nil { // the rest of an overlong line
			_, more, err = lines.ReadLine()
		}
	}
}

func (l *stderrLog) add(line string) {
	line = strings.TrimSpace(l.hide.text(line))
	if line == "" {
		return
	}
	l.log.Debug("standard error", "line", line)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, line)
	if len(l.tail) > tailLines {
		l.tail = l.tail[1:]
	}
}

// last are the last lines, joined; "" for none.
func (l *stderrLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.tail, "\n")
}
