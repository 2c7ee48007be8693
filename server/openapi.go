package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"sort"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.json
var openAPIDocument []byte

// openAPI is GET /openapi.json.
func (s *Server) openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, openAPIDocument)
}

// docs is GET /docs: the OpenAPI document as a page that needs no network.
func (s *Server) docs(c echo.Context) error {
	page, err := docsPage(openAPIDocument)
	if err != nil {
		return err
	}
	return c.HTML(http.StatusOK, page)
}

// described is what the page shows of an OpenAPI document.
type described struct {
	Info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Version     string `json:"version"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths map[string]map[string]operation `json:"paths"`
}

type operation struct {
	Tags        []string `json:"tags"`
	Summary     string   `json:"summary"`
	Description string   `json:"description"`
	Parameters  []struct {
		Ref         string `json:"$ref"`
		Name        string `json:"name"`
		In          string `json:"in"`
		Description string `json:"description"`
	} `json:"parameters"`
	RequestBody json.RawMessage            `json:"requestBody"`
	Responses   map[string]json.RawMessage `json:"responses"`
}

const docsHead = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%s</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
details{border:1px solid #d0d7de;border-radius:6px;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}code{font:13px ui-monospace,monospace}b{display:inline-block;min-width:4.2rem}
pre{background:#f6f8fa;padding:.6rem;overflow:auto;border-radius:6px}h2{margin-top:2rem}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}details{border-color:#30363d}pre{background:#161b22}}
</style><h1>%s</h1><p>%s</p><p>The document itself: <a href="openapi.json">openapi.json</a></p>
`

// docsPage renders an OpenAPI document.
func docsPage(document []byte) (string, error) {
	var doc described
	if err := json.Unmarshal(document, &doc); err != nil {
		return "", err
	}
	esc := html.EscapeString
	var b strings.Builder
	fmt.Fprintf(&b, docsHead, esc(doc.Info.Title), esc(doc.Info.Title), esc(doc.Info.Description))
	paths := make([]string, 0, len(doc.Paths))
	for p := range doc.Paths {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "<h2>%s</h2><p>%s</p>\n", esc(tag.Name), esc(tag.Description))
		for _, p := range paths {
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				op, ok := doc.Paths[p][method]
				if !ok || len(op.Tags) == 0 || op.Tags[0] != tag.Name {
					continue
				}
				fmt.Fprintf(&b, "<details><summary><b>%s</b> <code>%s</code> %s</summary>", strings.ToUpper(method), esc(p), esc(op.Summary))
				writeOperation(&b, op)
				b.WriteString("</details>\n")
			}
		}
	}
	return b.String(), nil
}

func writeOperation(b *strings.Builder, op operation) {
	esc := html.EscapeString
	if op.Description != "" {
		fmt.Fprintf(b, "<p>%s</p>", esc(op.Description))
	}
	if len(op.Parameters) > 0 {
		b.WriteString("<ul>")
		for _, p := range op.Parameters {
			name := p.Name
			if name == "" {
				name = p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]
			}
			fmt.Fprintf(b, "<li><code>%s</code> %s</li>", esc(name), esc(p.Description))
		}
		b.WriteString("</ul>")
	}
	if op.RequestBody != nil {
		fmt.Fprintf(b, "<pre>%s</pre>", esc(string(op.RequestBody)))
	}
	codes := make([]string, 0, len(op.Responses))
	for code := range op.Responses {
		codes = append(codes, code)
	}
	sort.Strings(codes)
	fmt.Fprintf(b, "<p>Replies: %s</p>", esc(strings.Join(codes, ", ")))
}
