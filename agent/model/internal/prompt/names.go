package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/parley-dev/parley/agent/model"
)

// maxName is the longest name of a tool that each provider takes.
const maxName = 64

// Names translates names of tools: providers take letters, digits, _ and - only,
// while ours may have dots, as "files.read" of an MCP server.
type Names struct{ wire, own map[string]string }

// NewNames prepares the names of a request's tools. No two get the same.
func NewNames(tools []model.Tool) *Names {
	n := &Names{wire: make(map[string]string, len(tools)), own: make(map[string]string, len(tools))}
	for _, exact := range []bool{true, false} { // those that may stay as they are go first
		for _, t := range tools {
			w := wireName(t.Name)
			if (w == t.Name) != exact {
				continue
			}
			if other, taken := n.own[w]; taken && other != t.Name {
				w = w[:min(len(w), maxName-9)] + "_" + digest(t.Name)[:8]
			}
			n.wire[t.Name], n.own[w] = w, t.Name
		}
	}
	return n
}

// Wire is what the provider calls the tool.
func (n *Names) Wire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	return wireName(name)
}

// Own is what we call the tool that the provider calls name; an unknown name stays.
func (n *Names) Own(name string) string {
	if own, ok := n.own[name]; ok {
		return own
	}
	return name
}

func wireName(name string) string {
	w := strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return '_'
	}, name)
	switch {
	case w == "":
		return "_"
	case len(w) > maxName:
		return w[:maxName-9] + "_" + digest(name)[:8]
	}
	return w
}

// plain reports a character that every provider takes in ids and names.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
