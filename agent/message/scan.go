package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// errSyntax reports bytes that aren't the JSON value that was expected. The
// scanner below never panics, whatever it is given.
var errSyntax = errors.New("message: malformed JSON")

// eachField calls fn with the raw value of each key of a JSON object, in order.
// The key is unquoted and, like the value, valid only during the call's life of b.
func eachField(b []byte, fn func(key string, value json.RawMessage) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errSyntax
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return nil
	}
	for {
		end := skipString(b, i)
		if end < 0 {
			return errSyntax
		}
		key, ok := unquoteKey(b[i:end])
		if !ok {
			return errSyntax
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return errSyntax
		}
		i = skipSpace(b, i+1)
		if end = skipValue(b, i); end < 0 {
			return errSyntax
		}
		if err := fn(key, b[i:end:end]); err != nil {
			return err
		}
		i = skipSpace(b, end)
		if i >= len(b) {
			return errSyntax
		}
		if b[i] == '}' {
			return nil
		}
		if b[i] != ',' {
			return errSyntax
		}
		i = skipSpace(b, i+1)
	}
}

// eachElement calls fn with each raw element of a JSON array, in order.
func eachElement(b []byte, fn func(value json.RawMessage) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return errSyntax
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return nil
	}
	for {
		end := skipValue(b, i)
		if end < 0 {
			return errSyntax
		}
		if err := fn(b[i:end:end]); err != nil {
			return err
		}
		i = skipSpace(b, end)
		if i >= len(b) {
			return errSyntax
		}
		if b[i] == ']' {
			return nil
		}
		if b[i] != ',' {
			return errSyntax
		}
		i = skipSpace(b, i+1)
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at i, or -1.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for j := i - 1; b[j] == '\\'; j-- { // ends at the opening quote at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return -1
}

// skipValue returns the index behind the value that starts at i, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				if i = skipString(b, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] >= 'a' && b[i] <= 'z' || b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i] == 'E') {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// unquote returns the text of a JSON string; ok is false for anything else.
func unquote(b []byte) (s string, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1]), true
	}
	if json.Unmarshal(b, &s) != nil {
		return "", false
	}
	return s, true
}

// unquoteKey is unquote for keys: the usual ones cost no allocation.
func unquoteKey(b []byte) (string, bool) {
	switch string(b) {
	case `"type"`:
		return "type", true
	case `"id"`:
		return "id", true
	case `"name"`:
		return "name", true
	case `"content"`:
		return "content", true
	case `"additional_kwargs"`:
		return "additional_kwargs", true
	case `"response_metadata"`:
		return "response_metadata", true
	case `"tool_calls"`:
		return "tool_calls", true
	case `"invalid_tool_calls"`:
		return "invalid_tool_calls", true
	case `"tool_call_id"`:
		return "tool_call_id", true
	}
	return unquote(b)
}

func isNull(b []byte) bool   { return len(b) == 4 && b[0] == 'n' }
func isObject(b []byte) bool { return len(b) > 0 && b[0] == '{' }
func isArray(b []byte) bool  { return len(b) > 0 && b[0] == '[' }
func isString(b []byte) bool { return len(b) > 0 && b[0] == '"' }

// compact returns a checked copy of JSON without white space and, since readers
// decode strictly, with valid UTF-8.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	var buf bytes.Buffer
	buf.Grow(len(raw))
	if err := json.Compact(&buf, raw); err != nil {
		return nil, err
	}
	if utf8.Valid(buf.Bytes()) {
		return buf.Bytes(), nil
	}
	return bytes.ToValidUTF8(buf.Bytes(), []byte("\ufffd")), nil
}
