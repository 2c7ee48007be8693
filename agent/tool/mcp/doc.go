// Package mcp makes the tools of MCP servers (Model Context Protocol) tools of
// agents. A Server is one connection, by standard input and output of a child
// process or by streamable HTTP; Servers own several. Connections that break are
// made again, a tool list that changes is read again, and nothing is left of them after Close.
//
// It stands on the official SDK, which speaks the protocol; what is here is
// what an agent needs around it: names that models accept, results as messages,
// outcomes that are unknown, secrets that stay out of logs.
package mcp
