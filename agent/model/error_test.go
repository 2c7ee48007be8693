package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestErrorsSayWhetherAnotherTryIsWorthwhile(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, tc := range map[string]struct {
		err  Error
		want bool
	}{
		"400":              {Error{Status: 400}, false},
		"401":              {Error{Status: 401}, false},
		"403":              {Error{Status: 403}, false},
		"404":              {Error{Status: 404}, false},
		"408":              {Error{Status: 408}, true},
		"422":              {Error{Status: 422}, false},
		"429":              {Error{Status: 429}, true},
		"500":              {Error{Status: 500}, true},
		"502":              {Error{Status: 502}, true},
		"503":              {Error{Status: 503}, true},
		"529":              {Error{Status: 529}, true},
		"a redirect":       {Error{Status: 302}, false},
		"no status":        {Error{Err: io.ErrUnexpectedEOF}, true},
		"the server's no":  {Error{Status: 500, Again: &no}, false},
		"the server's yes": {Error{Status: 400, Again: &yes}, true},
		"too long":         {Error{Status: 500, Err: ErrContextLength}, false},
		"unsupported":      {*Unsupported("p", "x"), false},
		"no key":           {Error{Err: ErrNoKey}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.err.Retryable())
		})
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	require.EqualError(t, &Error{Provider: "p", Status: 503}, "p: 503 Service Unavailable")
	require.EqualError(t, &Error{Provider: "p", Status: 429, Code: "slow_down", Message: "Wait.", RequestID: "r1"}, "p: 429: slow_down: Wait. (request r1)")
	require.EqualError(t, &Error{Provider: "p", Err: ErrTimeout}, "p: model: timeout")
	require.ErrorIs(t, fmt.Errorf("x: %w", &Error{Err: ErrContextLength}), ErrContextLength)
	require.Equal(t, 3*time.Second, (&Error{Wait: 3 * time.Second}).RetryAfter())
	for name, err := range map[string]*Error{
		"ContextOverflowError": {Err: ErrContextLength}, "ModelTimeoutError": {Err: ErrTimeout},
		"ModelRateLimitError": {Status: 429}, "ModelError": {Status: 500},
	} {
		require.Equal(t, name, err.ErrorName())
	}
}

func TestKeysAreReadWhereTheyAreAndNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	env := func(name string) string {
		return map[string]string{"GOOD": " " + secret + " ", "BAD": secret + " " + secret, "ODD": secret + "\u2026"}[name]
	}

	for _, k := range []Key{{File: file}, {Env: "GOOD", Getenv: env}} {
		key, err := k.Read()
		require.NoError(t, err)
		require.Equal(t, secret, key)
		shown := fmt.Sprintf("%v %+v %#v %s", k, k, k, k)
		require.NotContains(t, shown, secret)
	}
	for _, k := range []Key{{Env: "BAD", Getenv: env}, {Env: "ODD", Getenv: env}, {Env: "NONE", Getenv: env}, {File: file + "x"}} {
		_, err := k.Read()
		require.ErrorIs(t, err, ErrNoKey)
		require.NotContains(t, err.Error(), secret)
	}
	key, err := Key{}.Read()
	require.NoError(t, err)
	require.Empty(t, key)

	require.NoError(t, os.WriteFile(file, []byte("another"), 0o600))
	key, err = FileKey(file).Read()
	require.NoError(t, err)
	require.Equal(t, "another", key, "a rotated key is taken up")
}

func TestHeadersAreNamedButNotShown(t *testing.T) {
	t.Parallel()
	h := Headers{"X-Token": "secret", "A": "secret"}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "h", h)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "h", struct{ H Headers }{h})
	asJSON, err := json.Marshal(h)
	require.NoError(t, err)
	shown := fmt.Sprintf("%v %+v %#v %s", h, struct{ H Headers }{h}, h, asJSON) + logged.String()
	require.NotContains(t, shown, "secret")
	require.Contains(t, shown, "X-Token")
}

func TestTimeoutsHaveDefaults(t *testing.T) {
	t.Parallel()
	require.Equal(t, Timeouts{Connect: 10 * time.Second, FirstToken: 5 * time.Minute, Idle: 2 * time.Minute, Total: 30 * time.Minute}, Timeouts{}.WithDefaults())
	require.Equal(t, Timeouts{Connect: time.Second, FirstToken: 5 * time.Minute, Idle: 0, Total: 1}, Timeouts{Connect: time.Second, Idle: -1, Total: 1}.WithDefaults())
	require.False(t, errors.Is(ErrTimeout, ErrBrokenStream))
}
