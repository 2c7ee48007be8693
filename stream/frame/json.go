package frame

import (
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends text as a JSON string. Unlike encoding/json it leaves
// <, > and & alone, as other servers of this API do; U+2028 and U+2029 are escaped.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	plain := 0 // text[plain:i] needs no escape
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, text[plain:i]...)
			dst = appendEscaped(dst, c)
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, text[plain:i]...), `\ufffd`...)
			plain = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, text[plain:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xF])
			plain = i + size
		}
		i += size
	}
	return append(append(dst, text[plain:]...), '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// AppendStrings appends a JSON array of strings; none is [].
func AppendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, text)
	}
	return append(dst, ']')
}

// Absent reports whether there is no value: an event read from the log has null
// where the live one has nothing.
func Absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// AppendRaw appends raw, or otherwise when there is none.
func AppendRaw(dst []byte, raw json.RawMessage, otherwise string) []byte {
	if Absent(raw) {
		return append(dst, otherwise...)
	}
	return append(dst, raw...)
}
