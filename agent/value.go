package agent

import "encoding/json"

// AppendJSON appends the value's JSON to dst.
func (v Value) AppendJSON(dst []byte) []byte {
	switch {
	case v.List != nil:
		return v.List.AppendJSON(dst)
	case v.JSON != nil:
		return append(dst, v.JSON...)
	}
	return append(dst, "null"...)
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(dst, b...)
}
