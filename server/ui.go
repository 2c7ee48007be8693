package server

import (
	"fmt"
	"html"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// bundles builds user interface bundles on first use and keeps them.
type bundles struct {
	mu    sync.Mutex
	built map[string]bundle
}

type bundle struct {
	files map[string][]byte
	err   error
}

// files returns the files of a bundle; ok is false when there is none of that name.
func (s *Server) uiFiles(name string) (files map[string][]byte, ok bool, err error) {
	ui, ok := s.opts.UI[name]
	if !ok {
		return nil, false, nil
	}
	s.bundles.mu.Lock()
	defer s.bundles.mu.Unlock()
	b, done := s.bundles.built[name]
	if !done {
		b.files, b.err = ui.Build(name, ui)
		if b.err != nil {
			b.err = fmt.Errorf("user interface %s: %w", name, b.err)
		}
		if s.bundles.built == nil {
			s.bundles.built = map[string]bundle{}
		}
		s.bundles.built[name] = b
	}
	return b.files, true, b.err
}

var notAlphanumeric = regexp.MustCompile(`[^a-zA-Z0-9]`)

// UIGlobal is the global variable that a bundle's script defines: an object
// with the function render(component, shadowRootID).
func UIGlobal(name string) string { return "__LGUI_" + notAlphanumeric.ReplaceAllString(name, "_") }

// uiEntry is POST /ui/{agent}: the HTML that loads a component (spec/rest-api.md 2.8).
func (s *Server) uiEntry(c echo.Context) error {
	name := param(c, "agent")
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("name")
	component := f.str("name")
	if err := f.err(); err != nil {
		return err
	}
	files, ok, err := s.uiFiles(name)
	switch {
	case err != nil:
		return err
	case !ok:
		return &textError{http.StatusNotFound, fmt.Sprintf("UI not found for agent %q", name)}
	}
	base := requestBase(c.Request()) + "/ui/" + name
	var out strings.Builder
	if _, ok := files["entrypoint.css"]; ok {
		fmt.Fprintf(&out, `<link rel="stylesheet" href="%s/entrypoint.css" />`+"\n", html.EscapeString(base))
	}
	// The JSON text stands in an attribute in single quotes.
	quoted := strings.NewReplacer("&", "&amp;", "'", "&#39;", "<", "&lt;", ">", "&gt;").Replace(string(encode(component)))
	fmt.Fprintf(&out, `<script src="%s/entrypoint.js" onload='%s.render(%s, "{{shadowRootId}}")'></script>`,
		html.EscapeString(base), UIGlobal(name), quoted)
	return c.HTML(http.StatusOK, out.String())
}

// requestBase is the URL under which the client reached the server.
func requestBase(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// uiFile is GET /ui/{agent}/{file}.
func (s *Server) uiFile(c echo.Context) error {
	files, _, err := s.uiFiles(param(c, "agent"))
	if err != nil {
		return err
	}
	name := param(c, "*")
	data, ok := files[name]
	if !ok {
		return errRoute
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = echo.MIMEOctetStream
	}
	return c.Blob(http.StatusOK, kind, data)
}
