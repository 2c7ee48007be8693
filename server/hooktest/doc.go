// Package hooktest drives a Parley server with the published useStream packages
// (@langchain/react, @langchain/svelte) in a real browser, and with the SDK's
// ThreadStream in three versions: spec/streaming-protocol.md 6 and 7 as tests of
// ours. `make test-hooks` runs them (the script run in this folder).
package hooktest
