package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/openai"
)

// A local server of OpenAI's wire format, as vLLM or a gateway is one.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Good "}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"day."},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`+"\n\n"+
			"data: [DONE]\n\n")
	}))
	defer server.Close()

	m, err := openai.New(openai.Options{Model: "qwen3-8b", BaseURL: server.URL + "/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	question := model.Request{System: "Be polite.", Messages: message.New(message.NewHuman("Hi!"))}
	for chunk, err := range m.Stream(context.Background(), question) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if chunk.Text != "" {
			fmt.Printf("%q\n", chunk.Text)
		}
		if chunk.Usage != nil {
			fmt.Println(chunk.FinishReason, chunk.Usage.TotalTokens)
		}
	}
	// Output:
	// "Good "
	// "day."
	// stop 12
}
