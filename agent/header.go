package agent

import (
	"context"
	"strings"
)

type headersKey struct{}

// WithHeaders returns a context whose run sees the custom headers of the request that started or resumed it.
func WithHeaders(ctx context.Context, headers map[string]string) context.Context {
	if len(headers) == 0 {
		return ctx
	}
	own := make(map[string]string, len(headers))
	for name, value := range headers {
		own[strings.ToLower(name)] = value
	}
	return context.WithValue(ctx, headersKey{}, own)
}

// Header is a custom header of the request that started or resumed this run, without its prefix
// and whatever its case, or else the value of that name in the invocation's sealed context; "" when
// there is neither. ctx is that of a node, a step or a tool.
//
// Headers are handed on in memory only: they are never stored or logged and don't outlive a suspension, so that a
// resume which doesn't send them again gives none. A run that goes on in another process than the one which
// took the request, as after a crash, has none. The sealed context is stored, encrypted, and is there in every run of
// the execution (docs/executions.md).
func Header(ctx context.Context, name string) string {
	headers, _ := ctx.Value(headersKey{}).(map[string]string)
	return headers[strings.ToLower(name)]
}
