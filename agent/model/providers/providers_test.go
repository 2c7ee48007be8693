package providers_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
	"github.com/parley-dev/parley/agent/model/providers"
)

// env reads variables of a test.
func env(pairs ...string) func(string) string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return all[name] }
}

// caught is where a request would have gone.
type caught struct{ url, authorization string }

func (c *caught) RoundTrip(r *http.Request) (*http.Response, error) {
	c.url, c.authorization = r.URL.String(), r.Header.Get("Authorization")
	return nil, http.ErrServerClosed
}

func TestNamesFindServersAndKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("from-file\n"), 0o600))
	usual := []string{"OPENAI_API_KEY", "openai-key", "ANTHROPIC_API_KEY", "anthropic-key", "GEMINI_API_KEY", "gemini-key", "MY_KEY", "my-key"}
	for name, tc := range map[string]struct {
		model   string
		env     []string
		options providers.Options
		url     string
		key     string
		info    model.Info
	}{
		"openai":                         {model: "openai:gpt-5-mini", env: usual, url: "https://api.openai.com/v1/chat/completions", key: "openai-key", info: model.Info{Provider: "openai", Name: "gpt-5-mini"}},
		"openai by the environment":      {model: "openai:m", env: append(usual, "OPENAI_BASE_URL", "http://gateway:1/v1/"), url: "http://gateway:1/v1/chat/completions", key: "openai-key"},
		"openai of one's own, no key":    {model: "openai:org/model:free", env: []string{"OPENAI_BASE_URL", "http://vllm:8000/v1"}, url: "http://vllm:8000/v1/chat/completions", info: model.Info{Provider: "openai", Name: "org/model:free"}},
		"a base URL never gets the key":  {model: "openai:m", env: usual, options: providers.Options{BaseURL: "http://elsewhere/v1"}, url: "http://elsewhere/v1/chat/completions"},
		"unless it is named":             {model: "openai:m", env: usual, options: providers.Options{BaseURL: "http://elsewhere/v1", KeyEnv: "MY_KEY"}, url: "http://elsewhere/v1/chat/completions", key: "my-key"},
		"a file goes before a variable":  {model: "openai:m", env: usual, options: providers.Options{KeyEnv: "MY_KEY", KeyFile: file}, url: "https://api.openai.com/v1/chat/completions", key: "from-file"},
		"anthropic":                      {model: "anthropic:claude-sonnet-4-5", env: usual, url: "https://api.anthropic.com/v1/messages", key: "anthropic-key", info: model.Info{Provider: "anthropic", Name: "claude-sonnet-4-5"}},
		"anthropic by the environment":   {model: "anthropic:m", env: append(usual, "ANTHROPIC_BASE_URL", "http://gateway:1"), url: "http://gateway:1/v1/messages", key: "anthropic-key"},
		"anthropic elsewhere":            {model: "anthropic:m", env: usual, options: providers.Options{BaseURL: "http://elsewhere/"}, url: "http://elsewhere/v1/messages"},
		"google":                         {model: "google:gemini-2.5-flash", env: usual, url: "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", key: "gemini-key", info: model.Info{Provider: "google", Name: "gemini-2.5-flash"}},
		"google by its other variable":   {model: "google:m", env: []string{"GOOGLE_API_KEY", "google-key"}, url: "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", key: "google-key"},
		"ollama":                         {model: "ollama:qwen3:8b", env: usual, url: "http://127.0.0.1:11434/v1/chat/completions", info: model.Info{Provider: "ollama", Name: "qwen3:8b"}},
		"ollama elsewhere":               {model: "ollama:m", env: []string{"OLLAMA_HOST", "box:1234"}, url: "http://box:1234/v1/chat/completions"},
		"ollama, only a host":            {model: "ollama:m", env: []string{"OLLAMA_HOST", "box"}, url: "http://box:11434/v1/chat/completions"},
		"ollama, the address it binds":   {model: "ollama:m", env: []string{"OLLAMA_HOST", "0.0.0.0:1234"}, url: "http://127.0.0.1:1234/v1/chat/completions"},
		"ollama, a whole URL":            {model: "ollama:m", env: []string{"OLLAMA_HOST", "https://box/sub/"}, url: "https://box:443/sub/v1/chat/completions"},
		"ollama by its option":           {model: "ollama:m", env: []string{"OLLAMA_HOST", "box"}, options: providers.Options{BaseURL: "http://other:1/v1"}, url: "http://other:1/v1/chat/completions"},
		"white space around the name":    {model: " ollama:m\n", url: "http://127.0.0.1:11434/v1/chat/completions"},
		"a key for an Ollama in a cloud": {model: "ollama:m", env: usual, options: providers.Options{BaseURL: "https://cloud/v1", KeyEnv: "MY_KEY"}, url: "https://cloud/v1/chat/completions", key: "my-key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen caught
			m, err := providers.Parse(tc.model, providers.Env{Options: tc.options, Getenv: env(tc.env...), HTTPClient: &http.Client{Transport: &seen}})
			require.NoError(t, err)
			require.Error(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")).Err)
			require.Equal(t, tc.url, seen.url)
			want := ""
			if tc.key != "" {
				want = "Bearer " + tc.key
			}
			require.Equal(t, want, seen.authorization)
			if tc.info.Name != "" {
				info := m.Info()
				require.Equal(t, tc.info, model.Info{Provider: info.Provider, Name: info.Name})
			}
		})
	}
}

func TestWhatIsWrongWithAName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options providers.Options
		env     []string
		is      error
		text    string
	}{
		"gpt-5-mini":  {is: providers.ErrMalformedName, text: `"gpt-5-mini"`},
		"openai:":     {is: providers.ErrMalformedName},
		":m":          {is: providers.ErrMalformedName},
		"opnai:m":     {is: providers.ErrUnknownProvider, text: "known are anthropic, google, ollama, openai, scripted"},
		"openai:m":    {is: model.ErrNoKey, text: "openai:m: model: no API key: environment variable OPENAI_API_KEY is empty"},
		"google:m":    {is: model.ErrNoKey, text: "GEMINI_API_KEY"},
		"anthropic:m": {options: providers.Options{KeyFile: "/nowhere/key"}, is: model.ErrNoKey, text: "/nowhere/key"},
		"ollama:m":    {options: providers.Options{BaseURL: "localhost:11434"}, text: "base URL"},
		"ollama:n":    {env: []string{"OLLAMA_HOST", "http://u:secret@x"}, text: "OLLAMA_HOST is malformed"},
		"scripted:x":  {text: "scripted:echo"},
	} {
		_, err := providers.Parse(name, providers.Env{Options: tc.options, Getenv: env(tc.env...)})
		require.Error(t, err, name)
		if tc.is != nil {
			require.ErrorIs(t, err, tc.is, name)
		}
		require.ErrorContains(t, err, tc.text)
		require.NotContains(t, err.Error(), "secret")
	}
	m, err := providers.Parse("openai:m", providers.Env{Getenv: env(), LateKeys: true})
	require.NoError(t, err)
	require.ErrorIs(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")).Err, model.ErrNoKey)
}

func TestOptionsReachTheModel(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Silent: true, Hang: true})
	zero, none := 0.0, 0
	for _, name := range []string{"openai:m", "openai:gpt-5", "google:m", "ollama:m", "anthropic:m"} {
		m, err := providers.Parse(name, providers.Env{Options: providers.Options{
			BaseURL: s.URL, MaxTokens: 77, Effort: "low", Timeout: 50 * time.Millisecond, Retries: &none,
			Headers: model.Headers{"X-Team": "blue"},
		}})
		require.NoError(t, err)
		before := len(s.Requests())
		for len(s.Requests()) == before { // a loaded machine may not get there in time
			require.ErrorIs(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")).Err, model.ErrTimeout, name)
		}
		got := s.Last(t)
		require.Equal(t, "blue", got.Header.Get("X-Team"))
		limit := map[string]string{"openai:gpt-5": "max_completion_tokens", "google:m": "max_completion_tokens"}[name]
		if limit == "" {
			limit = "max_tokens"
		}
		require.InDelta(t, 77, got.Body[limit], 0, name)
		retrying, ok := m.(model.Retrying)
		require.True(t, ok)
		require.Equal(t, 1, retrying.RetryPolicy().MaxAttempts)
	}
	m, err := providers.Parse("ollama:m", providers.Env{Options: providers.Options{BaseURL: s.URL, Temperature: &zero}})
	require.NoError(t, err)
	require.JSONEq(t, `0`, string(m.Info().Metadata["ls_temperature"]))
	retrying, ok := m.(model.Retrying)
	require.True(t, ok)
	require.Equal(t, 3, retrying.RetryPolicy().MaxAttempts)
}

func TestARegistryTakesFurtherProviders(t *testing.T) {
	t.Parallel()
	r := providers.New()
	r.Register("mine", func(name string, env providers.Env) (model.Model, error) {
		require.NotNil(t, env.Getenv)
		return r.Parse("scripted:"+name, env)
	})
	require.Equal(t, []string{"anthropic", "google", "mine", "ollama", "openai", "scripted"}, r.Names())
	m, err := r.Parse("mine:echo", providers.Env{})
	require.NoError(t, err)
	require.Equal(t, "hello", wiretest.Call(t.Context(), m, wiretest.Ask("hello")).Text())
	require.NotContains(t, providers.New().Names(), "mine", "registries share nothing")
}

func TestMustParse(t *testing.T) {
	t.Parallel()
	require.Equal(t, "echo", providers.MustParse("scripted:echo").Info().Name)
	require.Equal(t, "m", providers.MustParse("ollama:m").Info().Name)
	require.Panics(t, func() { providers.MustParse("m") })
}
