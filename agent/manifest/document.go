package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// document is the content of a file as JSON, in which every value knows its
// place. The parser's own Strict decoding stops at the first mistake; with places,
// the JSON Schema and all later checks can name every one.
type document struct {
	name   string
	source string
	raw    json.RawMessage
	values map[string]*located // by JSON pointer
	faults []Fault
	// bad are the pointers of values that have a fault.
	bad map[string]bool
	// unread are the pointers of values that YAML says in a way that isn't understood here.
	unread map[string]bool
	// secrets are texts that must not be shown.
	secrets []string
	// files are those that were looked at, this one first.
	files []string
}

// located is a value with its places: its own, and that of its key in a mapping.
type located struct {
	raw        json.RawMessage
	value, key *token.Position
	keys       []string // of a mapping, in the order of the file
}

// bounds of what aliases may blow a file up to.
const maxValues, maxDepth = 100_000, 200

// readDocument parses YAML. name is how the file is called in faults.
func readDocument(name string, source []byte) *document {
	d := &document{name: name, source: string(source), values: map[string]*located{}, unread: map[string]bool{}}
	file, err := parser.ParseBytes(source, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return d
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			d.fault("", placeOf(doc.Body), "a file holds one document; this is a second one")
			return d
		default:
			body = doc.Body
		}
	}
	if body == nil {
		d.fault("", nil, "the file is empty; it needs agents, for instance:\n\nagents:\n  helper: {model: openai:gpt-5-mini, prompt: You help.}")
		return d
	}
	w := &walker{d: d, anchors: map[string]ast.Node{}}
	d.raw = w.value("", body, nil, 0)
	return d
}

// syntax adds the fault of a file that isn't YAML.
func (d *document) syntax(err error) {
	var place *token.Position
	text := err.Error()
	if e, ok := err.(yaml.Error); ok { //nolint:errorlint // the parser returns it bare
		text = e.GetMessage()
		if t := e.GetToken(); t != nil {
			place = t.Position
		}
	}
	d.fault("", place, "not YAML: "+text+syntaxHint(text))
}

// syntaxHint says what usually is behind an error of the parser.
func syntaxHint(text string) string {
	switch {
	case strings.HasPrefix(text, "mapping value is not allowed"):
		return "; put a text with a colon and a space in it in quotes, or behind | in lines of its own"
	case strings.Contains(text, "'\t'"):
		return "; indent with spaces, not with tabs"
	}
	return ""
}

// walker turns nodes into JSON.
type walker struct {
	d       *document
	anchors map[string]ast.Node
	count   int
}

// value returns a node as JSON; key is the place of its key, nil where it has none.
func (w *walker) value(at string, n ast.Node, key *token.Position, depth int) json.RawMessage {
	place := placeOf(n)
	if w.count++; w.count > maxValues || depth > maxDepth {
		if w.count <= maxValues || w.count == maxValues+1 {
			w.d.fault(at, place, "the file is too large or nested too deeply")
		}
		return json.RawMessage("null")
	}
	l := &located{value: place, key: key}
	w.d.values[at] = l
	l.raw = w.encode(at, n, l, depth)
	return l.raw
}

// encode is value for a node whose place is known.
func (w *walker) encode(at string, n ast.Node, l *located, depth int) json.RawMessage {
	switch v := n.(type) {
	case *ast.AnchorNode:
		raw := w.encode(at, v.Value, l, depth+1)
		w.anchors[v.Name.GetToken().Value] = v.Value // known behind its end only: no value holds itself
		return raw
	case *ast.AliasNode:
		if target := w.resolve(at, v); target != nil {
			return w.encode(at, target, l, depth+1)
		}
		return json.RawMessage("null")
	case *ast.TagNode:
		return w.tagged(at, v, l, depth)
	case *ast.MappingNode:
		return w.mapping(at, v.Values, l, depth)
	case *ast.MappingValueNode:
		return w.mapping(at, []*ast.MappingValueNode{v}, l, depth)
	case *ast.SequenceNode:
		var b bytes.Buffer
		b.WriteByte('[')
		for i, item := range v.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(w.value(at+"/"+strconv.Itoa(i), item, nil, depth+1))
		}
		b.WriteByte(']')
		return b.Bytes()
	default:
		return w.scalar(at, n)
	}
}

// unread adds a fault of a value that stands as null then.
func (w *walker) unread(at string, n ast.Node, message string) {
	w.d.unread[at] = true
	w.d.fault(at, placeOf(n), message)
}

func (w *walker) resolve(at string, alias *ast.AliasNode) ast.Node {
	name := alias.Value.GetToken().Value
	target, ok := w.anchors[name]
	if !ok {
		w.unread(at, alias, "unknown alias *"+name+suggestion(name, keysOf(w.anchors)))
	}
	return target
}

func (w *walker) tagged(at string, v *ast.TagNode, l *located, depth int) json.RawMessage {
	switch tag := v.GetToken().Value; tag {
	case "!!str":
		if v.Value == nil {
			return json.RawMessage(`""`)
		}
		if literal, ok := v.Value.(*ast.LiteralNode); ok {
			return quote(literal.Value.Value)
		}
		return quote(v.Value.GetToken().Value)
	default:
		w.unread(at, v, "the tag "+tag+" isn't supported; leave it out")
		return w.encode(at, v.Value, l, depth+1)
	}
}

// entry is a key of a mapping with its value.
type entry struct {
	name   string
	key    *token.Position
	value  ast.Node
	merged bool
}

func (w *walker) mapping(at string, nodes []*ast.MappingValueNode, l *located, depth int) json.RawMessage {
	var entries []entry
	index := map[string]int{}
	for _, e := range w.entries(at, nodes, depth) {
		i, known := index[e.name]
		switch {
		case !known:
			index[e.name] = len(entries)
			entries = append(entries, e)
		case entries[i].merged:
			entries[i] = e // what the mapping says itself wins over what it merges
		case !e.merged:
			w.d.fault(pointer(at, e.name), e.key, fmt.Sprintf("the key is there twice, first in line %d", entries[i].key.Line))
		}
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		l.keys = append(l.keys, e.name)
		b.Write(quote(e.name))
		b.WriteByte(':')
		b.Write(w.value(pointer(at, e.name), e.value, e.key, depth+1))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// entries lists a mapping's keys, with those that << brings.
func (w *walker) entries(at string, nodes []*ast.MappingValueNode, depth int) []entry {
	var all []entry
	for _, n := range nodes {
		if !n.Key.IsMergeKey() {
			all = append(all, entry{name: keyName(n.Key), key: placeOf(n.Key), value: n.Value})
			continue
		}
		sources := []ast.Node{n.Value}
		if list, ok := n.Value.(*ast.SequenceNode); ok {
			sources = list.Values
		}
		for _, source := range sources {
			for _, e := range w.merged(at, source, depth) {
				e.merged, e.key = true, placeOf(n.Key)
				all = append(all, e)
			}
		}
	}
	return all
}

func (w *walker) merged(at string, source ast.Node, depth int) []entry {
	if alias, ok := source.(*ast.AliasNode); ok {
		if source = w.resolve(at, alias); source == nil {
			return nil
		}
	}
	if depth > maxDepth {
		return nil
	}
	switch v := source.(type) {
	case *ast.MappingNode:
		return w.entries(at, v.Values, depth+1)
	case *ast.MappingValueNode:
		return w.entries(at, []*ast.MappingValueNode{v}, depth+1)
	}
	w.d.fault(at, placeOf(source), "<< merges mappings; this is none")
	return nil
}

func (w *walker) scalar(at string, n ast.Node) json.RawMessage {
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return json.RawMessage("null")
	case *ast.StringNode:
		return quote(v.Value)
	case *ast.LiteralNode:
		return quote(v.Value.Value)
	case *ast.BoolNode:
		return json.RawMessage(strconv.FormatBool(v.Value))
	case *ast.IntegerNode:
		return json.RawMessage(fmt.Sprint(v.Value))
	case *ast.FloatNode:
		if !math.IsInf(v.Value, 0) && !math.IsNaN(v.Value) {
			return json.RawMessage(strconv.FormatFloat(v.Value, 'g', -1, 64))
		}
	}
	w.unread(at, n, "this value has no meaning here: "+n.String())
	return json.RawMessage("null")
}

// keyName is a key as text, whatever it is written as.
func keyName(key ast.MapKeyNode) string {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value
	case *ast.MappingKeyNode:
		return k.Value.GetToken().Value
	}
	return key.GetToken().Value
}

// placeOf is where a node begins; nil for none. A mapping begins with its first key.
func placeOf(n ast.Node) *token.Position {
	switch v := n.(type) {
	case nil:
		return nil
	case *ast.MappingNode:
		if len(v.Values) > 0 && !v.IsFlowStyle {
			return placeOf(v.Values[0])
		}
	case *ast.MappingValueNode:
		return placeOf(v.Key)
	}
	if t := n.GetToken(); t != nil {
		return t.Position
	}
	return nil
}

// pointer is the JSON pointer of a key (RFC 6901).
func pointer(at, key string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// quote is a text as JSON.
func quote(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return json.RawMessage(`""`) // texts can always be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func keysOf[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	return all
}
