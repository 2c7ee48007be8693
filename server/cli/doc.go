// Package cli are the commands that talk to a server: invoke, reviews, threads and
// audit (spec/executions.md 6). They use its public API and nothing else, so that they
// work against a server anywhere, with the caller's key.
package cli
