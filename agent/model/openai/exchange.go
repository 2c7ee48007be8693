package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/parley-dev/parley/agent/model/internal/wire"
)

// exchange stands between the SDK and the call: it adds to the request what the
// SDK has no types for, and hands it the answer's data lines only.
type exchange struct {
	call    *wire.Call
	patches []patch
	extra   map[string]json.RawMessage
	lines   *dataLines
}

// Do implements the SDK's HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if err := x.amend(req); err != nil {
		return nil, err
	}
	resp, err := x.call.Do(req)
	if err != nil {
		return nil, err
	}
	x.lines = &dataLines{body: resp.Body, in: bufio.NewReaderSize(resp.Body, 16<<10)}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	x.lines.whole = kind == "application/json"
	resp.Body = x.lines
	return resp, nil
}

// done reports that the server said it was done.
func (x *exchange) done() bool { return x.lines != nil && x.lines.done }

// amend rewrites the body with the patches and the extra keys.
func (x *exchange) amend(req *http.Request) error {
	if len(x.patches) == 0 && len(x.extra) == 0 {
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return fmt.Errorf("reading the request back: %w", err)
	}
	if len(x.patches) > 0 {
		var messages []map[string]json.RawMessage
		if err := json.Unmarshal(body["messages"], &messages); err != nil {
			return fmt.Errorf("reading the request back: %w", err)
		}
		for _, p := range x.patches {
			messages[p.message][p.key] = p.value
		}
		patched, err := json.Marshal(messages)
		if err != nil {
			return err
		}
		body["messages"] = patched
	}
	for key, value := range x.extra {
		body[key] = value
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(b))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	req.ContentLength = int64(len(b))
	return nil
}

// patch replaces a key of a message.
type patch struct {
	message int
	key     string
	value   json.RawMessage
}

// dataLines passes an SSE body's data lines on, and none of the comments, event
// names and blank lines that the SDK takes for parts of an error. A line with an
// error ends it with that error. The reply of a server that doesn't stream,
// whole, becomes one line.
type dataLines struct {
	body  io.Closer
	in    *bufio.Reader
	whole bool
	rest  []byte
	done  bool
	err   error
}

// maxLine bounds a line, in bytes: pictures may come in one.
const maxLine = 32 << 20

var dataPrefix, doneMark, errorKey = []byte("data:"), []byte("[DONE]"), []byte(`"error"`)

func (d *dataLines) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.rest, d.err = d.next()
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *dataLines) Close() error { return d.body.Close() }

// next returns the next data line; none for another line.
func (d *dataLines) next() ([]byte, error) {
	if d.done {
		return nil, io.EOF
	}
	var payload []byte
	if d.whole {
		all, err := io.ReadAll(io.LimitReader(d.in, maxLine))
		if err != nil {
			return nil, err
		}
		d.whole, d.done = false, true
		if payload = bytes.TrimSpace(all); len(payload) == 0 {
			return nil, wire.Broken("the reply is empty")
		}
		var line bytes.Buffer
		if err := json.Compact(&line, payload); err != nil {
			return nil, wire.Broken("not JSON: %v", err)
		}
		payload = line.Bytes()
	} else {
		line, err := d.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return nil, err
		}
		var ok bool
		if payload, ok = bytes.CutPrefix(bytes.TrimSpace(line), dataPrefix); !ok {
			return nil, err
		}
		payload = bytes.TrimSpace(payload)
		if bytes.Equal(payload, doneMark) {
			d.done = true
		}
	}
	if err := errorIn(payload); err != nil {
		return nil, err
	}
	if len(payload) == 0 {
		return nil, nil
	}
	out := append(make([]byte, 0, len(payload)+8), "data: "...)
	if payload[0] == '{' { // the SDK takes {"error": for one, even if it is null
		out, payload = append(out, "{ "...), payload[1:]
	}
	return append(append(out, payload...), '\n'), nil
}

// line reads up to the next newline.
func (d *dataLines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := d.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, wire.Broken("a line of more than %d MiB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// errorIn returns the error that a server sent as a part of the stream.
func errorIn(payload []byte) error {
	if !bytes.Contains(payload, errorKey) {
		return nil
	}
	var f struct {
		Error json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(payload, &f)
	if err != nil || len(f.Error) == 0 || string(f.Error) == "null" {
		return nil //nolint:nilerr // whether it is a chunk is seen elsewhere
	}
	return wire.InStream(payload)
}
