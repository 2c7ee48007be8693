package server

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
)

// described is what the page shows of an OpenAPI document.
type described struct {
	Info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas    map[string]jsonSchema `json:"schemas"`
		Parameters map[string]parameter  `json:"parameters"`
		Responses  map[string]response   `json:"responses"`
	} `json:"components"`
}

type operation struct {
	Tags        []string    `json:"tags"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	RequestBody struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type parameter struct {
	Ref         string     `json:"$ref"`
	Name        string     `json:"name"`
	In          string     `json:"in"`
	Required    bool       `json:"required"`
	Description string     `json:"description"`
	Schema      jsonSchema `json:"schema"`
}

type response struct {
	Ref         string           `json:"$ref"`
	Description string           `json:"description"`
	Content     map[string]media `json:"content"`
}

type media struct {
	Schema jsonSchema `json:"schema"`
}

// row is a line of a table: a parameter, a field or a reply.
type row struct{ name, where, words, description string }

const docsHead = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<title>%[1]s</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
details{border:1px solid #d0d7de;border-radius:6px;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}b{display:inline-block;min-width:4.2rem}
table{border-collapse:collapse;width:100%%;margin:.5rem 0}td,th{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;border-top:1px solid #d0d7de}
td:first-child{width:14rem}h2{margin-top:2rem}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}a{color:#58a6ff}details,td,th{border-color:#30363d}}
</style><h1>%[1]s</h1><p>%[2]s</p><p>The document itself: <a href="openapi.json">openapi.json</a></p>
`

// docsPage renders an OpenAPI document.
func docsPage(document []byte) (string, error) {
	var doc described
	if err := json.Unmarshal(document, &doc); err != nil {
		return "", err
	}
	esc := html.EscapeString
	var b strings.Builder
	fmt.Fprintf(&b, docsHead, esc(doc.Info.Title), esc(doc.Info.Description))
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "<h2>%s</h2><p>%s</p>\n", esc(tag.Name), esc(tag.Description))
		for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				op, ok := doc.Paths[path][method]
				if !ok || slices.Index(op.Tags, tag.Name) != 0 {
					continue
				}
				fmt.Fprintf(&b, "<details><summary><b>%s</b> <code>%s</code> %s</summary>", strings.ToUpper(method), esc(path), esc(op.Summary))
				doc.writeOperation(&b, op)
				b.WriteString("</details>\n")
			}
		}
	}
	b.WriteString("<h2>Schemas</h2><p>What the endpoints above call by name.</p>\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		fmt.Fprintf(&b, "<details><summary><code>%s</code> %s</summary>", esc(name), esc(s.Description))
		if rows := fieldsOf(s, ""); len(rows) > 0 {
			writeTable(&b, "", rows)
		} else {
			fmt.Fprintf(&b, "<p><code>%s</code></p>", esc(s.words()))
		}
		b.WriteString("</details>\n")
	}
	return b.String(), nil
}

func (doc *described) writeOperation(b *strings.Builder, op operation) {
	if op.Description != "" {
		fmt.Fprintf(b, "<p>%s</p>", html.EscapeString(op.Description))
	}
	if rows := doc.fields(op); len(rows) > 0 {
		writeTable(b, "", rows)
	}
	var replies []row
	for _, code := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[code]
		if r.Ref != "" {
			r = doc.Components.Responses[jsonSchema{Ref: r.Ref}.name()]
		}
		reply := row{name: code, description: r.Description}
		if m, ok := r.Content["application/json"]; ok {
			reply.words = m.Schema.words()
		}
		replies = append(replies, reply)
	}
	writeTable(b, "Replies", replies)
}

// fields are what a request of the operation may carry.
func (doc *described) fields(op operation) []row {
	var rows []row
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = doc.Components.Parameters[jsonSchema{Ref: p.Ref}.name()]
		}
		rows = append(rows, rowOf(p.Name, p.In, p.Schema, p.Required && p.In != "path", p.Description))
	}
	for _, m := range op.RequestBody.Content {
		body := m.Schema
		if body.Ref != "" {
			body = doc.Components.Schemas[body.name()]
		}
		fields := fieldsOf(body, "body")
		if len(fields) == 0 {
			fields = []row{rowOf("", "body", body, false, body.Description)}
		}
		rows = append(rows, fields...)
	}
	return rows
}

func writeTable(b *strings.Builder, head string, rows []row) {
	esc := html.EscapeString
	b.WriteString("<table>")
	if head != "" {
		fmt.Fprintf(b, `<tr><th colspan="2">%s</th></tr>`, esc(head))
	}
	for _, r := range rows {
		b.WriteString("<tr><td>")
		if r.name != "" {
			fmt.Fprintf(b, "<code>%s</code> ", esc(r.name))
		}
		fmt.Fprintf(b, "%s</td><td>", esc(r.where))
		if r.words != "" {
			fmt.Fprintf(b, "<code>%s</code> ", esc(r.words))
		}
		fmt.Fprintf(b, "%s</td></tr>", esc(r.description))
	}
	b.WriteString("</table>")
}

// fieldsOf lists the fields of an object.
func fieldsOf(s jsonSchema, where string) []row {
	var rows []row
	for _, key := range s.keys() {
		field := s.Properties[key]
		rows = append(rows, rowOf(key, where, field, slices.Contains(s.Required, key), field.Description))
	}
	return rows
}

func rowOf(name, where string, s jsonSchema, required bool, description string) row {
	r := row{name: name, where: where, words: s.words(), description: description}
	if required {
		r.words += ", required"
	}
	if s.Default != nil {
		r.words += ", default " + string(s.Default)
	}
	return r
}
