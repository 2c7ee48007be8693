package mcp

import (
	"context"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// delivery is what is known of a call's way to the server. Whoever calls puts
// one into the call's context.
type delivery struct {
	// sent: the server may have got the call.
	sent atomic.Bool
	// status is the HTTP status of the answer; 0 for none.
	status atomic.Int64
	// expired: the server said that it doesn't know the session.
	expired atomic.Bool
}

type deliveryKey struct{}

func withDelivery(ctx context.Context) (context.Context, *delivery) {
	d := &delivery{}
	return context.WithValue(ctx, deliveryKey{}, d), d
}

// deliveryOf is the delivery of the context's call; one that nobody looks at without a call.
func deliveryOf(ctx context.Context) *delivery {
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok {
		return d
	}
	return &delivery{}
}

// markingConnection notes that a message was handed on.
type markingConnection struct{ sdk.Connection }

// Write implements the SDK's Connection.
func (c *markingConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == methodCallTool {
		deliveryOf(ctx).sent.Store(true)
	}
	return c.Connection.Write(ctx, msg)
}

const methodCallTool = "tools/call"
