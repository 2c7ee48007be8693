// Package sdktest drives a Parley server with LangChain's published JavaScript
// and Python SDKs, unchanged: spec/rest-api.md 7 and spec/conformance-agents.md 3
// as tests of ours. `make test-sdk` runs them (the script run in this folder).
package sdktest
