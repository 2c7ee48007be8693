package message

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MarshalJSON implements json.Marshaler: the flat wire form. It fails when a raw field isn't JSON.
func (m Message) MarshalJSON() ([]byte, error) {
	b := m.AppendJSON(nil)
	if !json.Valid(b) {
		return nil, fmt.Errorf("message %q: a raw field is not JSON", m.ID)
	}
	return b, nil
}

// AppendJSON appends the flat wire form (spec/rest-api.md 5.3) to dst. Raw
// fields are copied as they are.
func (m Message) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, m.Type)
	if m.ID != "" {
		dst = append(dst, `,"id":`...)
		dst = appendString(dst, m.ID)
	}
	if m.Name != "" {
		dst = append(dst, `,"name":`...)
		dst = appendString(dst, m.Name)
	}
	dst = append(dst, `,"content":`...)
	dst = appendRawOr(dst, m.Content, `[]`)
	dst = append(dst, `,"additional_kwargs":`...)
	dst = appendRawOr(dst, m.AdditionalKwargs, `{}`)
	dst = append(dst, `,"response_metadata":`...)
	dst = appendRawOr(dst, m.ResponseMetadata, `{}`)
	switch m.Type {
	case AI:
		dst = m.appendCalls(dst)
	case Tool:
		dst = append(dst, `,"tool_call_id":`...)
		dst = appendString(dst, m.ToolCallID)
		if m.Status != "" {
			dst = append(dst, `,"status":`...)
			dst = appendString(dst, m.Status)
		}
		if len(m.Artifact) > 0 {
			dst = append(dst, `,"artifact":`...)
			dst = append(dst, m.Artifact...)
		}
	}
	return append(m.appendExtra(dst), '}')
}

func (m Message) appendCalls(dst []byte) []byte {
	dst = append(dst, `,"tool_calls":[`...)
	for i, c := range m.ToolCalls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.appendJSON(dst)
	}
	dst = append(dst, `],"invalid_tool_calls":[`...)
	for i, c := range m.InvalidToolCalls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.appendJSON(dst)
	}
	dst = append(dst, ']')
	if m.UsageMetadata != nil {
		dst = append(dst, `,"usage_metadata":`...)
		dst = m.UsageMetadata.appendJSON(dst)
	}
	return dst
}

// appendExtra appends the unknown keys in sorted order, so that equal messages
// have equal bytes. Keys written already are left out.
func (m Message) appendExtra(dst []byte) []byte {
	if len(m.Extra) == 0 {
		return dst
	}
	keys := make([]string, 0, len(m.Extra))
	for k, v := range m.Extra {
		if len(v) > 0 && !m.writes(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		dst = append(dst, ',')
		dst = appendString(dst, k)
		dst = append(dst, ':')
		dst = append(dst, m.Extra[k]...)
	}
	return dst
}

// writes reports whether AppendJSON writes key from a field of its own.
func (m Message) writes(key string) bool {
	switch key {
	case "type", "content", "additional_kwargs", "response_metadata":
		return true
	case "id":
		return m.ID != ""
	case "name":
		return m.Name != ""
	case "tool_calls", "invalid_tool_calls":
		return m.Type == AI
	case "usage_metadata":
		return m.Type == AI && m.UsageMetadata != nil
	case "tool_call_id":
		return m.Type == Tool
	case "status":
		return m.Type == Tool && m.Status != ""
	case "artifact":
		return m.Type == Tool && len(m.Artifact) > 0
	}
	return false
}

func (c ToolCall) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, c.Name)
	dst = append(dst, `,"args":`...)
	dst = appendRawOr(dst, c.Args, `{}`)
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, c.ID)
	return append(dst, `,"type":"tool_call"}`...)
}

func (c InvalidToolCall) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for _, f := range [...]struct{ key, value string }{
		{`"name":`, c.Name}, {`"args":`, c.Args}, {`"id":`, c.ID}, {`"error":`, c.Error},
	} {
		if f.value != "" {
			dst = append(dst, f.key...)
			dst = appendString(dst, f.value)
			dst = append(dst, ',')
		}
	}
	return append(dst, `"type":"invalid_tool_call"}`...)
}

func (u *Usage) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.InputTokens), 10)
	dst = append(dst, `,"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.OutputTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.TotalTokens), 10)
	if len(u.InputTokenDetails) > 0 {
		dst = append(dst, `,"input_token_details":`...)
		dst = append(dst, u.InputTokenDetails...)
	}
	if len(u.OutputTokenDetails) > 0 {
		dst = append(dst, `,"output_token_details":`...)
		dst = append(dst, u.OutputTokenDetails...)
	}
	return append(dst, '}')
}

func appendRawOr(dst []byte, raw json.RawMessage, absent string) []byte {
	if len(raw) == 0 {
		return append(dst, absent...)
	}
	return append(dst, raw...)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Unlike encoding/json it leaves <, >
// and & alone, as the peers do; line separators are escaped since some readers
// of event streams split lines there.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[r&15])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}
