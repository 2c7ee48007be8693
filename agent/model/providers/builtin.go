package providers

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/anthropic"
	"github.com/parley-dev/parley/agent/model/openai"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// googleURL is Gemini's endpoint in OpenAI's wire format.
const googleURL = "https://generativelanguage.googleapis.com/v1beta/openai"

// ollamaURL is where a local Ollama listens.
const ollamaURL = "http://127.0.0.1:11434/v1"

// openAI is OpenAI, or a server of its wire format. The address in the
// environment and the key in the environment belong together.
func openAI(name string, env Env) (model.Model, error) {
	o := env.openAI("openai", name)
	o.Key = env.key(openai.DefaultKeyEnv)
	o.Organization = ""
	switch {
	case env.BaseURL != "":
		o.BaseURL = env.BaseURL
	case env.Getenv("OPENAI_BASE_URL") != "":
		o.BaseURL = env.Getenv("OPENAI_BASE_URL")
		if env.KeyEnv == "" && env.KeyFile == "" && env.Getenv(openai.DefaultKeyEnv) == "" {
			o.Key = model.Key{} // a server of one's own may want none
		}
	default:
		o.Organization = env.Getenv("OPENAI_ORG_ID")
	}
	o.LegacyMaxTokens = o.BaseURL != "" && !strings.HasPrefix(o.BaseURL, openai.DefaultBaseURL) && !reasons(name)
	return openai.New(o)
}

// reasons reports OpenAI's models that know max_completion_tokens only.
func reasons(name string) bool {
	name = name[strings.LastIndex(name, "/")+1:]
	for _, family := range []string{"gpt-5", "gpt-6", "o1", "o3", "o4"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

func gemini(name string, env Env) (model.Model, error) {
	o := env.openAI("google", name)
	o.BaseURL, o.Key = googleURL, env.key("GEMINI_API_KEY", "GOOGLE_API_KEY")
	if env.BaseURL != "" {
		o.BaseURL = env.BaseURL
	}
	return openai.New(o)
}

func ollama(name string, env Env) (model.Model, error) {
	o := env.openAI("ollama", name)
	o.Key, o.LegacyMaxTokens = env.key(), true
	switch host := env.Getenv("OLLAMA_HOST"); {
	case env.BaseURL != "":
		o.BaseURL = env.BaseURL
	case host != "":
		var err error
		if o.BaseURL, err = ollamaHost(host); err != nil {
			return nil, err
		}
	default:
		o.BaseURL = ollamaURL
	}
	return openai.New(o)
}

// ollamaHost reads OLLAMA_HOST as Ollama does: scheme and port may be missing,
// and the address to listen on may stand for that to call.
func ollamaHost(host string) (string, error) {
	standard := "11434"
	switch {
	case strings.HasPrefix(host, "http://"):
		standard = "80"
	case strings.HasPrefix(host, "https://"):
		standard = "443"
	default:
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.User != nil {
		return "", fmt.Errorf("ollama: OLLAMA_HOST is malformed")
	}
	name, port := u.Hostname(), u.Port()
	if port == "" {
		port = standard
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	u.Host, u.Path = net.JoinHostPort(name, port), strings.TrimRight(u.Path, "/")+"/v1"
	return u.String(), nil
}

func claude(name string, env Env) (model.Model, error) {
	o := anthropic.Options{
		Model: name, BaseURL: env.BaseURL, Key: env.key(anthropic.DefaultKeyEnv), Headers: env.Headers,
		MaxTokens: env.MaxTokens, Temperature: env.Temperature, Effort: env.Effort,
		Retry: env.retry(), Timeouts: env.timeouts(), HTTPClient: env.HTTPClient,
	}
	if o.BaseURL == "" {
		o.BaseURL = env.Getenv("ANTHROPIC_BASE_URL")
	}
	return anthropic.New(o)
}

// openAI are the options that all servers of OpenAI's wire format share.
func (e Env) openAI(provider, name string) openai.Options {
	return openai.Options{
		Provider: provider, Model: name, Headers: e.Headers, Temperature: e.Temperature, MaxTokens: e.MaxTokens,
		ReasoningEffort: e.Effort, Retry: e.retry(), Timeouts: e.timeouts(), HTTPClient: e.HTTPClient,
	}
}

// script is a model that needs no network.
func script(name string, _ Env) (model.Model, error) {
	if name != "echo" {
		return nil, fmt.Errorf("providers: there is no script %q; known is scripted:echo", name)
	}
	return scripted.Script{Name: name, Choose: func(c scripted.Call) (scripted.Turn, error) {
		return scripted.Say(c.LastHuman()), nil
	}}, nil
}
