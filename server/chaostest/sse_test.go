package chaostest

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// sse is an event of a stream.
type sse struct {
	id, event, data string
	gap             bool // a comment before it said that events are lost
}

// readSSE hands on events until the stream ends: with nil if it ends cleanly.
func readSSE(body io.Reader, take func(sse)) error {
	r := bufio.NewReaderSize(body, 16<<10)
	var e sse
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			if e.data != "" || e.event != "" {
				take(e)
				e = sse{}
			}
		case line == ": gap":
			e.gap = true
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data += value
		}
	}
}
