// Package web serves the browser app: a chat with approvals, the reviewers' inbox,
// executions, the audit log and keys. Its sources are in src; dist is what Vite built of
// them, committed so that a build of the server needs no Node.js (web/check compares them).
package web

import (
	"bytes"
	"crypto/rand"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var files embed.FS

// Base is the path under which the app's files and most of its pages are.
const Base = "/app/"

// nonceMark stands in the page where the nonce of its policy goes.
const nonceMark = "__CSP_NONCE__"

// The policy lets the page load, call and embed nothing but its own server, so that no text in
// a conversation can send anything elsewhere. Styles with the page's nonce are those of
// open dialogs, which keep the page behind them from scrolling.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; media-src 'self' blob:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Page answers with the app's page, whatever its address: the app finds out itself what to show.
func Page(w http.ResponseWriter, r *http.Request) {
	page, err := files.ReadFile("dist/index.html")
	if err != nil {
		http.Error(w, "the app is not part of this build", http.StatusNotFound)
		return
	}
	nonce := rand.Text()
	h := w.Header()
	secure(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, nonce))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(bytes.ReplaceAll(page, []byte(nonceMark), []byte(nonce)))
}

// Files serves what is below Base: the app's files, and its page for every address
// without an extension. Files with a hash in their name never change and are kept for good.
func Files(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), Base)
	body, err := fs.ReadFile(files, "dist/"+name)
	switch {
	case name == "index.html", err != nil && path.Ext(name) == "":
		Page(w, r)
		return
	case err != nil:
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	secure(h)
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if strings.HasPrefix(name, "assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "public, max-age=3600")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}
