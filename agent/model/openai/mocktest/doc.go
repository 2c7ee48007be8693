// Package mocktest calls independent servers of OpenAI's wire format with the
// adapter: the npm packages @dwmkerr/mock-llm and openai-api-mock. ./run installs
// them and runs the tests; go test alone skips them unless they are installed.
package mocktest
