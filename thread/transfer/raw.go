package transfer

import (
	"encoding/json"
	"unicode/utf8"
)

// Raw are bytes that come back as they were: in a dump they are a JSON string, or
// {"base64": …} where they aren't text. Encoding them as JSON of its own would change
// spaces and escapes. nil and empty are the same.
type Raw []byte

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (r Raw) MarshalJSON() ([]byte, error) {
	if utf8.Valid(r) {
		return json.Marshal(string(r))
	}
	return json.Marshal(base64Text{Base64: r})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Raw) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var v base64Text
		err := json.Unmarshal(b, &v)
		*r = v.Base64
		return err
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*r = nil
	if s != "" {
		*r = Raw(s)
	}
	return nil
}
