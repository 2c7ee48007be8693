package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// template is an address with arguments in its path and query.
type template struct {
	// path includes scheme and host; query is what stands behind the ?.
	path, query string
	names       []string
}

func newTemplate(text string) (*template, error) {
	t := &template{}
	t.path, t.query, _ = strings.Cut(text, "?")
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		t.names = append(t.names, m[1])
	}
	u, err := url.Parse(variable.ReplaceAllString(text, "x"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the url must begin with http:// or https://") // without the text: it may hold a key
	}
	_, rest, _ := strings.Cut(t.path, "://")
	host, _, _ := strings.Cut(rest, "/")
	if variable.MatchString(host) {
		return nil, errors.New("an argument can't choose the host: the model would decide whom the request goes to")
	}
	if u.Fragment != "" {
		return nil, errors.New("the url has a fragment (#), which isn't sent")
	}
	return t, nil
}

// takes reports whether an argument is part of the address.
func (t *template) takes(name string) bool { return slices.Contains(t.names, name) }

// fill returns the address with the arguments in it.
func (t *template) fill(args map[string]json.RawMessage) (string, error) {
	path, err := replace(t.path, args, segment)
	if err != nil {
		return "", err
	}
	for _, part := range strings.Split(path, "/") { // two arguments side by side can make one
		if part == "." || part == ".." {
			return "", errors.New("the arguments would leave the address")
		}
	}
	query, err := replace(t.query, args, func(v string) (string, error) { return url.QueryEscape(v), nil })
	if err != nil || query == "" {
		return path, err
	}
	return path + "?" + query, nil
}

// segment escapes an argument for a path. It can't leave its place: a slash is
// escaped, and the segments that mean "here" and "up" are refused.
func segment(v string) (string, error) {
	if v == "" || v == "." || v == ".." {
		return "", fmt.Errorf("%q can't be part of an address", v)
	}
	return url.PathEscape(v), nil
}

func replace(text string, args map[string]json.RawMessage, escape func(string) (string, error)) (string, error) {
	var failure error
	full := variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := strings.Trim(ref, "{}")
		v, err := scalar(args[name])
		if err == nil {
			v, err = escape(v)
		}
		if err != nil && failure == nil {
			failure = fmt.Errorf("argument %s: %w", name, err)
		}
		return v
	})
	return full, failure
}

// scalar is a value as text: texts as they are, numbers and booleans as JSON writes them.
func scalar(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", errors.New("is missing")
	}
	var text string
	switch raw[0] {
	case '"':
		err := json.Unmarshal(raw, &text)
		return text, err
	case '{', '[':
		return "", errors.New("must be a text, a number or a boolean")
	}
	return string(raw), nil
}

// addQuery adds arguments to an address; those of a list once for each element.
func addQuery(address string, args map[string]json.RawMessage) (string, error) {
	if len(args) == 0 {
		return address, nil
	}
	values := url.Values{}
	for name, raw := range args {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || list == nil {
			list = []json.RawMessage{raw}
		}
		for _, item := range list {
			if string(item) == "null" {
				continue
			}
			v, err := scalar(item)
			if err != nil {
				return "", fmt.Errorf("argument %s: %w", name, err)
			}
			values.Add(name, v)
		}
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	if len(values) == 0 {
		return address, nil
	}
	return address + separator + values.Encode(), nil
}
