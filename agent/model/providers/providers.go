// Package providers makes models of names like "openai:gpt-5-mini".
//
// Known providers:
//
//	openai:NAME     OpenAI, or any server of its wire format by Options.BaseURL or OPENAI_BASE_URL
//	anthropic:NAME  Anthropic
//	google:NAME     Gemini, over its OpenAI-compatible endpoint
//	ollama:NAME     a local Ollama; NAME may have a tag, as "qwen3:8b"
//	scripted:echo   repeats what the user said; no network, for demos and tests
//
// A Registry takes further ones.
package providers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model"
)

// ErrUnknownProvider is the error for a provider that nobody registered.
var ErrUnknownProvider = errors.New("providers: unknown provider")

// ErrMalformedName is the error for a name that isn't of the form provider:name.
var ErrMalformedName = errors.New("providers: a model is named provider:name, as openai:gpt-5-mini")

// Env is what models are made with. The zero Env is the process's environment
// and the providers' defaults.
type Env struct {
	Options
	// Getenv reads the environment; nil stands for os.Getenv.
	Getenv func(string) string
	// HTTPClient sends the requests of all models; nil gives each its own.
	HTTPClient *http.Client
	// LateKeys leaves a missing key to the first call. Else it is an error of Parse.
	LateKeys bool
}

// Options are what can be said of a model beside its name.
type Options struct {
	// BaseURL is where the provider's API is; "" for its usual place. To
	// OpenAI-compatible servers it includes "/v1" where they have it.
	BaseURL string
	// KeyEnv names the environment variable with the key, KeyFile a file with it,
	// which wins. By default the provider's usual variable, but never with a BaseURL
	// of these Options: a key is sent only to the server that it was named for.
	KeyEnv  string
	KeyFile string
	// Temperature; nil leaves it to the provider.
	Temperature *float64
	// MaxTokens bounds an answer; 0 leaves it to the provider.
	MaxTokens int
	// Effort is how much to reason ("low", "medium", "high"), in the provider's words; "" leaves it out.
	Effort string
	// Timeout bounds one attempt, from the request to the last token; 0 for the
	// default of Timeouts.Total, which it goes before.
	Timeout time.Duration
	// Timeouts are the finer ones.
	Timeouts model.Timeouts
	// Retries is how often a failed call is tried again; nil stands for 2.
	Retries *int
	// Headers are added to each request.
	Headers model.Headers
}

// Factory makes a model of a provider; name is what stands behind the colon.
type Factory func(name string, env Env) (model.Model, error)

// Registry knows providers by name. It is to be filled before it is shared.
type Registry struct{ factories map[string]Factory }

// New returns a Registry of the providers that Parley knows.
func New() *Registry {
	return &Registry{factories: map[string]Factory{
		"openai": openAI, "anthropic": claude, "google": gemini, "ollama": ollama, "scripted": script,
	}}
}

// Register adds a provider, or replaces one.
func (r *Registry) Register(provider string, f Factory) { r.factories[provider] = f }

// Names are the names of the providers, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.factories)) }

// Parse makes the model of a name. It calls nobody. Errors: ErrMalformedName,
// ErrUnknownProvider, model.ErrNoKey, what is wrong with the options.
func (r *Registry) Parse(name string, env Env) (model.Model, error) {
	provider, rest, ok := strings.Cut(strings.TrimSpace(name), ":")
	if !ok || provider == "" || rest == "" {
		return nil, fmt.Errorf("%w: %q", ErrMalformedName, name)
	}
	f, ok := r.factories[provider]
	if !ok {
		return nil, fmt.Errorf("%w %q; known are %s", ErrUnknownProvider, provider, strings.Join(r.Names(), ", "))
	}
	if env.Getenv == nil {
		env.Getenv = os.Getenv
	}
	m, err := f(rest, env)
	if err != nil {
		return nil, err
	}
	if keyed, ok := m.(interface{ Key() model.Key }); ok && !env.LateKeys {
		if _, err := keyed.Key().Read(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return m, nil
}

// Parse makes a model of one of the providers that Parley knows; see Registry.Parse.
func Parse(name string, env Env) (model.Model, error) { return New().Parse(name, env) }

// MustParse is Parse with the process's environment, for variables of a program.
// A missing key is an error of the first call; it panics on any other one.
func MustParse(name string) model.Model {
	m, err := Parse(name, Env{LateKeys: true})
	if err != nil {
		panic(err)
	}
	return m
}

// retry is the policy for that many retries.
func (o Options) retry() agent.RetryPolicy {
	p := agent.RetryPolicy{MaxAttempts: 3, Jitter: true}
	if o.Retries != nil {
		p.MaxAttempts = 1 + max(*o.Retries, 0)
	}
	return p
}

// timeouts with the short form filled in.
func (o Options) timeouts() model.Timeouts {
	t := o.Timeouts
	if o.Timeout != 0 {
		t.Total = o.Timeout
	}
	return t
}

// key is where the key is: as the options say, else in one of the usual
// variables. Those are for the usual server only.
func (e Env) key(usual ...string) model.Key {
	k := model.Key{Env: e.KeyEnv, File: e.KeyFile, Getenv: e.Getenv}
	if !k.IsZero() || e.BaseURL != "" || len(usual) == 0 {
		return k
	}
	k.Env = usual[0]
	for _, name := range usual {
		if e.Getenv(name) != "" {
			k.Env = name
			break
		}
	}
	return k
}
