// Package anthropic calls Claude models over Anthropic's messages API.
package anthropic

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

const (
	// DefaultBaseURL is where Anthropic's API is.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultKeyEnv is the environment variable with the key to it.
	DefaultKeyEnv = "ANTHROPIC_API_KEY"
	// DefaultMaxTokens bounds an answer unless Options say otherwise; the API wants a bound.
	DefaultMaxTokens = 16384
)

// provider is the ls_provider, and names the errors.
const provider = "anthropic"

// Options configure a Model. Only Model is needed.
type Options struct {
	// Model is the model's name to the API.
	Model string
	// BaseURL is the address up to "/v1/messages"; "" stands for DefaultBaseURL.
	BaseURL string
	// Key is sent as a bearer token, to another base URL also as x-api-key. Only for
	// DefaultBaseURL a zero Key stands for DefaultKeyEnv: a key is never sent to a
	// server that it wasn't named for.
	Key model.Key
	// Headers are added to each request ("anthropic-beta", for instance).
	Headers model.Headers

	// MaxTokens bounds the answer, thinking included; 0 stands for DefaultMaxTokens.
	MaxTokens int
	// Temperature and TopP; nil leaves them out. The API has them up to its version
	// 2023-06-01 only, so that a call with one of them is made in that version, and
	// newer models refuse them.
	Temperature *float64
	TopP        *float64
	// AdaptiveThinking lets the model think as it sees fit, and shows a summary.
	AdaptiveThinking bool
	// ThinkingBudget is a number of tokens for thinking, at least 1024 and less than
	// MaxTokens; 0 for none. For models that know no adaptive thinking.
	ThinkingBudget int
	// Effort is sent as it is ("low", "high", …); "" leaves it out.
	Effort string
	// PromptCache marks the prompt to be cached, which makes the next call of a
	// conversation cheaper and this one a bit dearer.
	PromptCache bool
	// SerialTools forbids several tool calls in one answer.
	SerialTools bool
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

// Model is a chat model behind Anthropic's wire format.
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
		return nil, fmt.Errorf("anthropic: a model's name is missing")
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if err := wire.CheckURL(o.BaseURL); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	if o.Key.IsZero() && o.BaseURL == DefaultBaseURL {
		o.Key.Env = DefaultKeyEnv
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.HTTPClient == nil {
		o.HTTPClient = wire.NewClient()
	}
	if o.Retry.MaxAttempts == 0 && o.Retry.InitialInterval == 0 {
		o.Retry.Jitter = true
	}
	return &Model{
		options: o,
		wire:    wire.Config{Provider: provider, Client: o.HTTPClient, Timeouts: o.Timeouts, Headers: o.Headers},
	}, nil
}

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: provider, Name: m.options.Model, Metadata: wire.Metadata(m.options.Temperature, m.options.MaxTokens),
	}
}

// RetryPolicy implements model.Retrying.
func (m *Model) RetryPolicy() agent.RetryPolicy { return m.options.Retry }

// Key says where the key is looked for.
func (m *Model) Key() model.Key { return m.options.Key }

// String names the model; keys and headers don't show.
func (m *Model) String() string { return provider + ":" + m.options.Model }

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
