package server

import (
	"net/http"
	"strings"
)

// defaultCustomHeaders are the prefixes of the headers that reach agents (spec/executions.md 4).
var defaultCustomHeaders = []string{"X-Parley-Custom-", "X-Mdb-Agent-Engine-Custom-"}

// customHeaders are the headers of a request that its agent gets, without their prefix. They are in memory only.
func customHeaders(h http.Header, prefixes []string) map[string]string {
	var out map[string]string
	for name, values := range h {
		own, ok := customName(name, prefixes)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[own] = strings.Join(values, ", ")
	}
	return out
}

// customName is a custom header's name without its prefix.
func customName(name string, prefixes []string) (own string, ok bool) {
	if prefixes == nil {
		prefixes = defaultCustomHeaders
	}
	for _, p := range prefixes {
		if p != "" && len(name) > len(p) && strings.EqualFold(name[:len(p)], p) {
			return strings.ToLower(name[len(p):]), true
		}
	}
	return "", false
}
