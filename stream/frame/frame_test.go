package frame_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/r3labs/sse/v2"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream/frame"
)

func TestAppendKeepsTheOrderOfFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event sse.Event
		want  string
		err   error
	}{
		"all":                  {sse.Event{ID: []byte("7"), Event: []byte("values"), Data: []byte(`{}`)}, "event: values\ndata: {}\nid: 7\n\n", nil},
		"no empty id":          {sse.Event{Event: []byte("error"), Data: []byte(`{}`)}, "event: error\ndata: {}\n\n", nil}, // D-10
		"every line end":       {sse.Event{Data: []byte("a\r\nb\rc\nd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n", nil},
		"field in data":        {sse.Event{Data: []byte("x\nid: 9")}, "data: x\ndata: id: 9\n\n", nil}, // D-17
		"line separator":       {sse.Event{Data: []byte("a\u2028b")}, "data: a\u2028b\n\n", nil},
		"LF in the id":         {sse.Event{ID: []byte("1\nid: 2"), Data: []byte("x")}, "", frame.ErrField},
		"CR in the id":         {sse.Event{ID: []byte("1\r"), Data: []byte("x")}, "", frame.ErrField},
		"NUL in the id":        {sse.Event{ID: []byte("1\x00"), Data: []byte("x")}, "", frame.ErrField},
		"LF in the event name": {sse.Event{Event: []byte("a\nb"), Data: []byte("x")}, "", frame.ErrField},
		"nothing to see":       {sse.Event{Comment: []byte("c")}, "", frame.ErrEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := frame.Append(nil, &c.event)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestFrameViews(t *testing.T) {
	t.Parallel()
	b := append([]byte("before"), []byte{}...)
	start := len(b)
	b = frame.OpenSuffixed(b, "values", "node:1|child:2")
	b = append(b, "{\n \"a\":\r\n1}"...)
	_, f := frame.Close(b, start, 12)
	f.At, f.Seq = 5, 7
	require.Equal(t, "event: values|node:1|child:2\ndata: {  \"a\":  1}\nid: 12\n\n", string(f.Wire), "one data line")
	require.Equal(t, "values|node:1|child:2", f.Name())
	require.Equal(t, "{  \"a\":  1}", string(f.Data()))
	require.Equal(t, "12", string(f.Event().ID))
	require.Equal(t, "event: values|node:1|child:2\ndata: {  \"a\":  1}\n\n", string(f.WithoutID(nil)))
	require.Equal(t, "event: values|node:1|child:2\ndata: {  \"a\":  1}\nid: 5-7\n\n", string(f.WithCursor(nil)))
	f.Sub = 2
	require.Contains(t, string(f.WithCursor(nil)), "\nid: 5-7.2\n\n")
}

// decoded is an event as the line decoder below sees it.
type decoded struct {
	event, data, id string
	hasID           bool
}

// decode reads a stream line by line as the standard says: CRLF, CR and LF end lines.
func decode(body string) []decoded {
	body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	var all []decoded
	var e decoded
	var data []string
	for _, line := range strings.Split(body, "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				e.data = strings.Join(data, "\n")
				all = append(all, e)
			}
			e, data = decoded{}, nil
		case field == "event":
			e.event = value
		case field == "data":
			data = append(data, value)
		case field == "id":
			e.id, e.hasID = value, true
		}
	}
	return all
}

// FuzzWriter checks encoded events with two parsers that know nothing of this
// package: what goes in comes out, and nothing can forge another field (D-17).
func FuzzWriter(f *testing.F) {
	f.Add("values", `{"a":"b"}`, "1")
	f.Add("", "a\r\nb\rc\nd", "")
	f.Add("x\ny", "", "\x00")
	f.Add("messages|a:b", ": not a comment\n\nid: 3", "ms-1")
	f.Fuzz(func(t *testing.T, name, data, id string) {
		e := &sse.Event{Event: []byte(name), Data: []byte(data), ID: []byte(id)}
		wire, err := frame.Append(nil, e)
		if strings.ContainsAny(name+id, "\r\n\x00") {
			if !errors.Is(err, frame.ErrField) {
				t.Fatalf("accepted %q %q: %v", name, id, err)
			}
			return
		}
		if err != nil {
			if name+data+id != "" {
				t.Fatal(err)
			}
			return
		}
		wire, err = frame.Append(wire, &sse.Event{Data: []byte("next")})
		if err != nil {
			t.Fatal(err)
		}
		normal := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
		got := decode(string(wire))
		if len(got) != 2 || got[1].data != "next" {
			t.Fatalf("%d events in %q", len(got), wire)
		}
		if first := got[0]; first.event != name || first.data != normal || first.id != id || first.hasID != (id != "") {
			t.Fatalf("%q became %+v", wire, first)
		}
		reader := sse.NewEventStreamReader(bytes.NewReader(wire), 1<<20)
		for i := range 3 {
			_, err := reader.ReadEvent()
			if errors.Is(err, io.EOF) != (i == 2) {
				t.Fatalf("event %d of %q: %v", i, wire, err)
			}
		}
	})
}
