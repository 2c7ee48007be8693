// Package conformance holds the agents that the API suites of LangGraph run
// against a server (spec/conformance-agents.md). They make no call to the
// outside: their models are scripted.
//
// A set function returns new agents each time; the cursors of scripted models
// belong to that set and are kept per thread, over runs.
package conformance
