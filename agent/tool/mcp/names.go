package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxName is the longest name of a tool that every model provider accepts.
const maxName = 64

// hashed is how much of a name's digest stands for its cut end.
const hashed = 8

// ToolName is the name under which the model sees a tool of the server: prefix,
// "_" and the tool's own name, with "_" for every character but ASCII letters, digits,
// _ and -. Of a name longer than 64 characters the end is replaced with a digest.
// It is the same whether the server is up or not.
func (c ServerConfig) ToolName(tool string) string {
	full := tool
	if !c.NoPrefix {
		prefix := c.Prefix
		if prefix == "" {
			prefix = c.Name
		}
		full = prefix + "_" + tool
	}
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, full)
	if len(safe) <= maxName {
		return safe
	}
	sum := sha256.Sum256([]byte(full))
	return safe[:maxName-hashed-1] + "_" + hex.EncodeToString(sum[:])[:hashed]
}

// offers reports whether the configuration lets a tool through.
func (c ServerConfig) offers(tool string) bool {
	for _, n := range c.Deny {
		if n == tool {
			return false
		}
	}
	for _, n := range c.Allow {
		if n == tool {
			return true
		}
	}
	return len(c.Allow) == 0
}

// NameCollisionError says that two tools would have the same name for the model.
type NameCollisionError struct {
	Name          string // what the model would see
	First, Second string // both tools, as server.tool
}

func (e *NameCollisionError) Error() string {
	return fmt.Sprintf("mcp: %s and %s would both be named %q to the model: give one of their servers another prefix, or deny one of them", e.First, e.Second, e.Name)
}

// checkNames refuses tools that a model couldn't tell apart.
func checkNames(tools []*Tool) error {
	seen := map[string]*Tool{}
	for _, t := range tools {
		if first, ok := seen[t.definition.Name]; ok {
			return &NameCollisionError{Name: t.definition.Name, First: first.Ref(), Second: t.Ref()}
		}
		seen[t.definition.Name] = t
	}
	return nil
}
