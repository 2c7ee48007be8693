package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/sashabaranov/go-openai"
)

// frame is one chunk of the stream, with what servers add to OpenAI's own keys;
// or the whole reply of a server that doesn't stream (message instead of delta).
type frame struct {
	ID                string     `json:"id"`
	Model             string     `json:"model"`
	SystemFingerprint string     `json:"system_fingerprint"`
	ServiceTier       string     `json:"service_tier"`
	Choices           []choice   `json:"choices"`
	Usage             *sdk.Usage `json:"usage"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        *delta `json:"delta"`
	Message      *delta `json:"message"`
	FinishReason string `json:"finish_reason"`
}

// delta is a piece of the answer. Reasoning comes as reasoning_content (DeepSeek,
// vLLM) or reasoning (Ollama, OpenRouter).
type delta struct {
	Content          content    `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent content    `json:"reasoning_content"`
	Reasoning        content    `json:"reasoning"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Function function        `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// content is a text, or a list of parts as Mistral's reasoning models send it.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     string  `json:"text"`
		Thinking content `json:"thinking"`
	}
	_ = json.Unmarshal(raw, &parts) // another form isn't text
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}

// arguments are a piece of JSON text; some servers send the object itself.
type arguments string

func (a *arguments) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*a = arguments(text)
		return nil
	}
	*a = arguments(strings.TrimSpace(string(raw)))
	return nil
}
