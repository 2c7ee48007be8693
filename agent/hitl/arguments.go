package hitl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// RawArguments is the key under which a reviewer sees arguments that aren't a JSON
// object: {"raw_arguments": the text as the model wrote it}.
const RawArguments = "raw_arguments"

// arguments are those of a call as the reviewer sees them and, if they are valid, as the tool gets them.
type arguments struct {
	shown json.RawMessage
	valid bool
}

// readArguments reads arguments: compact, in their order, of a repeated key only the
// last value, so that what is shown is what runs.
func readArguments(raw json.RawMessage) arguments {
	if len(bytes.TrimSpace(raw)) == 0 {
		return arguments{json.RawMessage("{}"), true}
	}
	if out, err := rewrite(raw, false); err == nil && out[0] == '{' {
		return arguments{out, true}
	}
	text := string(raw)
	_ = json.Unmarshal(raw, &text) // a JSON string: its text is what the model wrote
	return unreadable(text)
}

// unreadable are arguments that aren't a JSON object.
func unreadable(text string) arguments {
	return arguments{json.RawMessage(`{"` + RawArguments + `":` + string(quoted(text)) + `}`), false}
}

// Digest identifies a tool call by what it does: the tool's registered name and its
// arguments in canonical form, whatever the order of their keys (D-101). It is the SHA-256, in hex.
func Digest(name string, args json.RawMessage) string {
	canonical, err := rewrite(args, true)
	if err != nil {
		canonical = quoted(string(args))
	}
	sum := sha256.Sum256(append(append(quoted(name), 0), canonical...))
	return hex.EncodeToString(sum[:])
}

// rewrite returns JSON in compact form without repeated keys; with sorted keys it is canonical.
func rewrite(raw json.RawMessage, sorted bool) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	out, err := rewriteValue(dec, sorted)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return out, nil
}

func rewriteValue(dec *json.Decoder, sorted bool) ([]byte, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return rewriteObject(dec, sorted)
	case json.Delim('['):
		b := []byte{'['}
		for dec.More() {
			v, err := rewriteValue(dec, sorted)
			if err != nil {
				return nil, err
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, v...)
		}
		_, err := dec.Token()
		return append(b, ']'), err
	}
	if text, ok := tok.(string); ok {
		return quoted(text), nil
	}
	return json.Marshal(tok) // a number as it was written, a boolean, null
}

func rewriteObject(dec *json.Decoder, sorted bool) ([]byte, error) {
	var keys []string
	values := map[string][]byte{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, errors.New("a key that is no string")
		}
		v, err := rewriteValue(dec, sorted)
		if err != nil {
			return nil, err
		}
		if _, ok := values[key]; !ok {
			keys = append(keys, key)
		}
		values[key] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if sorted {
		slices.Sort(keys)
	}
	b := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(key)...), ':'), values[key]...)
	}
	return append(b, '}'), nil
}

// quoted is a text as a JSON string, with <, > and & as they are.
func quoted(text string) []byte {
	raw, err := encode(text)
	if err != nil { // a string always encodes
		panic(err)
	}
	return raw
}

// encode is v as JSON that keeps the characters <, > and & of texts as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
