// Package manifest makes agents of a file: agents.yaml names models, MCP servers,
// tools and agents, so that somebody who writes no Go gets the same agents
// (design 9). Read reads and checks a file, with every mistake at its line and column;
// Schema is the JSON Schema for editors.
package manifest
