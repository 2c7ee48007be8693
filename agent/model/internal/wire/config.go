package wire

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// CheckURL reports what is wrong with a base URL, without repeating it: it may
// have a password.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return fmt.Errorf("the base URL is malformed")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("the base URL needs http:// or https:// and a host")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("the base URL can't have a query or a fragment")
	case u.User != nil:
		return fmt.Errorf("the base URL can't have a user; use a key or a header")
	}
	return nil
}

// Metadata is what the stream tells of a call's parameters.
func Metadata(temperature *float64, maxTokens int) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	if temperature != nil {
		if raw, err := json.Marshal(*temperature); err == nil { // not of NaN
			all["ls_temperature"] = raw
		}
	}
	if maxTokens > 0 {
		all["ls_max_tokens"] = json.RawMessage(strconv.Itoa(maxTokens))
	}
	return all
}
