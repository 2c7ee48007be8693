// Package mcptest holds the tests of MCP, in both directions, against what others
// publish: tools of server-everything and server-filesystem in an agent, and Parley's own
// MCP server under the inspector. Run them with `make test-mcp`.
package mcptest
