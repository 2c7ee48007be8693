package hitl_test

import (
	"context"

	"github.com/stretchr/testify/require"
)

// ctxOf is the context of a test, or of a property's draw, which has one, too.
func ctxOf(t require.TestingT) context.Context {
	if c, ok := t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}
