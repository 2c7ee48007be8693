package frame

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/r3labs/sse/v2"
)

// ErrField is returned for an id or event name that would forge other fields:
// one with a line end or NUL in it (D-17).
var ErrField = errors.New("frame: line end or NUL in a field")

// ErrEmpty is returned for an event without name, data and id, which no reader would see.
var ErrEmpty = errors.New("frame: event without content")

// CheckField refuses text that must not stand in an id or event name.
func CheckField(text string) error {
	for i := range len(text) {
		switch text[i] {
		case '\n', '\r', 0:
			return fmt.Errorf("%w: %q", ErrField, text)
		}
	}
	return nil
}

// Append appends any event in the order event, data, id. Data is split at every
// line end (CRLF, CR and LF), since it may be text; an empty id is left out, as
// it would clear the reader's cursor (D-10). Comments and retry times aren't sent.
func Append(dst []byte, e *sse.Event) ([]byte, error) {
	if len(e.Event) == 0 && len(e.Data) == 0 && len(e.ID) == 0 {
		return dst, ErrEmpty
	}
	if err := CheckField(string(e.Event)); err != nil {
		return dst, err
	}
	if err := CheckField(string(e.ID)); err != nil {
		return dst, err
	}
	if len(e.Event) > 0 {
		dst = append(append(append(dst, eventField...), e.Event...), '\n')
	}
	data := e.Data
	for {
		i := bytes.IndexAny(data, "\r\n")
		line := data
		if i >= 0 {
			line = data[:i]
		}
		dst = append(append(append(dst, dataField[1:]...), line...), '\n')
		if i < 0 {
			break
		}
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
	if len(e.ID) > 0 {
		dst = append(append(append(dst, idField[1:]...), e.ID...), '\n')
	}
	return append(dst, '\n'), nil
}

// OneLine turns the line ends of a JSON text into spaces, in place. Strings of
// valid JSON have none, so the value stays what it is.
func OneLine(json []byte) {
	for _, end := range []byte{'\n', '\r'} {
		for rest := json; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}

// dataStart is where the data of an encoded frame starts.
func dataStart(wire []byte) int {
	return len(eventField) + bytes.IndexByte(wire[len(eventField):], '\n') + len(dataField)
}
