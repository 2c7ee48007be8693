// Package openai calls chat models over OpenAI's chat completions, which many
// servers speak: OpenAI itself, Gemini, Ollama, vLLM and gateways.
package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wire"
)

// DefaultBaseURL is where OpenAI's own models are.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultKeyEnv is the environment variable with the key to OpenAI's own models.
const DefaultKeyEnv = "OPENAI_API_KEY"

// Options configure a Model. Only Model is needed, and a Key where the server wants one.
type Options struct {
	// Model is the model's name to the server.
	Model string
	// BaseURL is the address up to "/chat/completions", with "/v1" where the
	// server has it; "" stands for DefaultBaseURL.
	BaseURL string
	// Key is sent as a bearer token; the zero Key sends none. Only for
	// DefaultBaseURL a zero Key stands for DefaultKeyEnv: a key is never sent to a
	// server that it wasn't named for.
	Key model.Key
	// Provider is the model's ls_provider and names its errors; "" stands for openai.
	Provider string
	// Organization is sent as OpenAI-Organization, if not empty.
	Organization string
	// Headers are added to each request.
	Headers model.Headers

	// Temperature and TopP; nil leaves them to the server.
	Temperature *float64
	TopP        *float64
	// MaxTokens bounds the answer, reasoning included; 0 leaves it to the server.
	MaxTokens int
	// LegacyMaxTokens sends the bound as max_tokens, which servers know that
	// don't know max_completion_tokens.
	LegacyMaxTokens bool
	// ReasoningEffort is sent as it is ("low", "high", …); "" leaves it out.
	ReasoningEffort string
	// ReturnReasoning sends the model's earlier reasoning back to it, as
	// reasoning_content. Some open models want that between tool calls, others refuse it.
	ReturnReasoning bool
	// SerialTools forbids several tool calls in one answer.
	SerialTools bool
	// NoStreamUsage leaves out stream_options, which some servers refuse.
	NoStreamUsage bool
	// Extra are further keys of the request's body, as JSON.
	Extra map[string]json.RawMessage

	// Retry is what Generate does after a failed attempt that may succeed later;
	// by default 3 attempts with growing, jittered pauses, or what Retry-After says.
	Retry agent.RetryPolicy
	// Timeouts of an attempt.
	Timeouts model.Timeouts
	// HTTPClient sends the requests; nil stands for one of the model's own.
	HTTPClient *http.Client
}

// Model is a chat model behind OpenAI's wire format.
type Model struct {
	options Options
	wire    wire.Config
}

var (
	_ model.Model    = (*Model)(nil)
	_ model.Retrying = (*Model)(nil)
)

// New returns a model. It calls nobody. Errors: a missing name, a base URL that isn't one.
func New(o Options) (*Model, error) {
	if o.Model == "" {
		return nil, fmt.Errorf("openai: a model's name is missing")
	}
	if o.Provider == "" {
		o.Provider = "openai"
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if err := wire.CheckURL(o.BaseURL); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Provider, err)
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if o.Key.IsZero() && o.BaseURL == DefaultBaseURL {
		o.Key.Env = DefaultKeyEnv
	}
	if o.HTTPClient == nil {
		o.HTTPClient = wire.NewClient()
	}
	if o.Retry.MaxAttempts == 0 && o.Retry.InitialInterval == 0 {
		o.Retry.Jitter = true
	}
	return &Model{
		options: o,
		wire:    wire.Config{Provider: o.Provider, Client: o.HTTPClient, Timeouts: o.Timeouts, Headers: o.Headers},
	}, nil
}

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{Provider: m.options.Provider, Name: m.options.Model, Metadata: wire.Metadata(m.options.Temperature, m.options.MaxTokens)}
}

// RetryPolicy implements model.Retrying.
func (m *Model) RetryPolicy() agent.RetryPolicy { return m.options.Retry }

// Key says where the key is looked for.
func (m *Model) Key() model.Key { return m.options.Key }

// String names the model; keys and headers don't show.
func (m *Model) String() string { return m.options.Provider + ":" + m.options.Model }

// GoString names the model, so that no print of it shows a header.
func (m *Model) GoString() string { return m.String() }

// Stream implements model.Model. Errors are *model.Error, or the context's.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	return func(yield func(message.Chunk, error) bool) {
		if err := m.stream(ctx, req, yield); err != nil {
			yield(message.Chunk{}, err)
		}
	}
}
