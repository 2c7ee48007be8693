package server

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// syncBuffer is a log that a server writes to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// What fails behind an upgrade, an error or a panic, closes the connection if
// nobody did, and is no misuse of the reply, which net/http would complain of.
func TestNothingIsWrittenBehindAnUpgrade(t *testing.T) {
	t.Parallel()
	var noise, logged syncBuffer
	s := &Server{log: slog.New(slog.NewTextHandler(&logged, nil))}
	srv := httptest.NewUnstartedServer(s.recover(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: test\r\n\r\n")
		if r.URL.Path == "/panics" {
			panic("behind it")
		}
		http.Error(w, "failed", http.StatusInternalServerError)
		if _, err := w.Write(nil); err != http.ErrHijacked { //nolint:errorlint // the sentinel itself
			t.Errorf("write: %v", err)
		}
		if w.(*statusWriter).status != http.StatusSwitchingProtocols {
			t.Errorf("status %d", w.(*statusWriter).status)
		}
		_ = conn.Close()
	})))
	srv.Config.ErrorLog = log.New(&noise, "", 0)
	srv.Start()
	defer srv.Close()
	for _, path := range []string{"/fails", "/panics"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, strings.NewReader(""))
		require.NoError(t, err)
		req.Header.Set("Connection", "upgrade")
		req.Header.Set("Upgrade", "test")
		res, err := srv.Client().Do(req)
		require.NoError(t, err)
		require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
		rest, err := io.ReadAll(res.Body)
		require.NoError(t, err, path)
		require.Empty(t, rest)
		require.NoError(t, res.Body.Close())
	}
	require.Empty(t, noise.String())
	require.Contains(t, logged.String(), "behind it")
}
