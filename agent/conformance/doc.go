// Package conformance holds the agents that the API suites of LangGraph and the
// suites of its four frontend libraries run against a server
// (spec/conformance-agents.md, spec/conformance-frontends.md). They make no call to
// the outside: their models are scripted.
//
// A set function returns new agents each time; the cursors of scripted models
// belong to that set and are kept per thread, over runs. The tool-calling agents have
// none: what they say next, the conversation tells.
package conformance
