package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/web"
)

func get(t *testing.T, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	web.Files(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Result()
}

func body(t *testing.T, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	web.Files(w, httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(t, http.StatusOK, w.Code, path)
	return w.Body.String()
}

func TestThePageHasANonceOfItsOwnEachTime(t *testing.T) {
	t.Parallel()
	nonces := map[string]bool{}
	for range 2 {
		w := httptest.NewRecorder()
		web.Page(w, httptest.NewRequest(http.MethodGet, "/app/chat/1", nil))
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
		csp := w.Header().Get("Content-Security-Policy")
		require.NotContains(t, csp, "unsafe")
		nonce := regexp.MustCompile(`style-src 'self' 'nonce-([A-Za-z0-9+/=_-]+)'`).FindStringSubmatch(csp)
		require.Len(t, nonce, 2)
		require.Contains(t, w.Body.String(), `nonce="`+nonce[1]+`"`)
		require.NotContains(t, w.Body.String(), "__CSP_NONCE__")
		nonces[nonce[1]] = true
	}
	require.Len(t, nonces, 2)
}

func TestEveryFileOfThePageIsServedAndKeptForGood(t *testing.T) {
	t.Parallel()
	page := body(t, "/app/chat")
	links := regexp.MustCompile(`(?:src|href)="(/app/[^"]+)"`).FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		r := get(t, link[1])
		require.Equal(t, http.StatusOK, r.StatusCode, link[1])
		if strings.Contains(link[1], "/assets/") {
			require.Equal(t, "public, max-age=31536000, immutable", r.Header.Get("Cache-Control"))
		}
		if strings.HasSuffix(link[1], ".js") {
			require.Contains(t, r.Header.Get("Content-Type"), "javascript")
		}
	}
}

func TestAnUnknownFileIsNoPage(t *testing.T) {
	t.Parallel()
	require.Equal(t, http.StatusNotFound, get(t, "/app/assets/gone.js").StatusCode)
	require.Equal(t, http.StatusNotFound, get(t, "/app/../web.go").StatusCode)
	require.Contains(t, body(t, "/app/executions/01a2"), "<div id=\"root\">")
}

func TestNothingInlineAndNoOtherHostIsInTheBuild(t *testing.T) {
	t.Parallel()
	page := body(t, "/app/")
	require.NotRegexp(t, `<script(?:\s[^>]*)?>[^<]`, page)
	require.NotContains(t, page, "<style")
	require.NotRegexp(t, `(?:src|href)="(?:https?:)?//`, page)
	require.NoError(t, fs.WalkDir(os.DirFS("dist"), ".", func(path string, _ fs.DirEntry, err error) error {
		require.NotContains(t, path, ".map")
		return err
	}))
}

// The first page is what its address names, and what the chat names in the builder's list of what it needs.
func TestTheFirstPageWeighsLessThan250KBCompressed(t *testing.T) {
	t.Parallel()
	page := body(t, "/app/")
	var files []string
	for _, link := range regexp.MustCompile(`(?:src|href)="/app/(assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		files = append(files, link[1])
	}
	require.NotEmpty(t, files)
	entry := body(t, "/app/"+files[0])
	list := regexp.MustCompile(`\.f=(\["assets/[^]]+\])`).FindStringSubmatch(entry)
	require.NotNil(t, list)
	var named []string
	require.NoError(t, json.Unmarshal([]byte(list[1]), &named))
	chat := regexp.MustCompile(`__vite__mapDeps\((\[[\d,]+\])\)\),.ChatPage.`).FindStringSubmatch(entry)
	require.NotNil(t, chat)
	var needed []int
	require.NoError(t, json.Unmarshal([]byte(chat[1]), &needed))
	for _, i := range needed {
		files = append(files, named[i])
	}
	slices.Sort(files)
	sum := compressed(t, page)
	for _, name := range slices.Compact(files) {
		sum += compressed(t, body(t, "/app/"+name))
	}
	t.Logf("%d files, %d bytes", len(files)+1, sum)
	require.Less(t, sum, 250_000)
}

func compressed(t *testing.T, text string) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Len()
}
