package query

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// ItemMatches compares an item's value with the filter of a search, and value,
// namespace and key with an auth filter.
func ItemMatches(it agent.Item, filter map[string]json.RawMessage, auth thread.Filter) bool {
	if len(filter) == 0 && len(auth) == 0 {
		return true
	}
	value := thread.Metadata{}
	if json.Unmarshal(it.Value, &value) != nil {
		return false
	}
	for k, want := range filter {
		have, ok := value[k]
		if !compareItem(have, ok, want) {
			return false
		}
	}
	if len(auth) == 0 {
		return true
	}
	ns, err := json.Marshal(it.Namespace)
	if err != nil {
		return false
	}
	key, err := json.Marshal(it.Key)
	if err != nil {
		return false
	}
	value["namespace"], value["key"] = ns, key
	return auth.Matches(value)
}

// compareItem applies one key of a filter: a value to be equal to, or an object of operators.
func compareItem(have json.RawMessage, ok bool, want json.RawMessage) bool {
	var ops map[string]json.RawMessage
	if json.Unmarshal(want, &ops) != nil || !isOperators(ops) {
		return ok && sameJSON(have, want)
	}
	for op, v := range ops {
		if !compareOp(op, have, ok, v) {
			return false
		}
	}
	return true
}

func isOperators(ops map[string]json.RawMessage) bool {
	for op := range ops {
		if !strings.HasPrefix(op, "$") {
			return false
		}
	}
	return len(ops) > 0
}

func compareOp(op string, have json.RawMessage, ok bool, v json.RawMessage) bool {
	switch op {
	case "$eq":
		return ok && sameJSON(have, v)
	case "$ne":
		return !ok || !sameJSON(have, v)
	case "$in", "$nin":
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil {
			return false
		}
		in := ok && slices.ContainsFunc(list, func(e json.RawMessage) bool { return sameJSON(have, e) })
		return in == (op == "$in")
	}
	var a, b float64
	if !ok || json.Unmarshal(have, &a) != nil || json.Unmarshal(v, &b) != nil {
		return false
	}
	switch op {
	case "$gt":
		return a > b
	case "$gte":
		return a >= b
	case "$lt":
		return a < b
	case "$lte":
		return a <= b
	}
	return false
}

// sameJSON tells whether two JSON texts are the same value.
func sameJSON(a, b json.RawMessage) bool {
	eq := json.RawMessage(`{"$eq":` + string(b) + `}`)
	return thread.Filter{"v": eq}.Matches(thread.Metadata{"v": a})
}

// NamespaceMatches reports whether a namespace begins with a prefix and ends with a
// suffix; "*" in them stands for any label.
func NamespaceMatches(labels, prefix, suffix []string) bool {
	return len(labels) >= len(prefix) && labelsMatch(labels[:len(prefix)], prefix) &&
		len(labels) >= len(suffix) && labelsMatch(labels[len(labels)-len(suffix):], suffix)
}

// labelsMatch compares labels; "*" stands for any.
func labelsMatch(labels, pattern []string) bool {
	for i, p := range pattern {
		if p != "*" && p != labels[i] {
			return false
		}
	}
	return true
}
