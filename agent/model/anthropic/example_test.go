package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/anthropic"
)

// A server that answers as the API does; leave BaseURL out for the API itself.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"claude-sonnet-4-5","usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good day."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`)
	}))
	defer server.Close()

	m, err := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := model.Collect(context.Background(), m, model.Request{Messages: message.New(message.NewHuman("Hi!"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Text(), answer.UsageMetadata.TotalTokens)
	// Output:
	// Good day. 12
}
