// Package hitl is human review of tool calls: a policy says which tools need a person's
// consent and which decisions that person may take; the Gate asks, checks the answers
// before they are stored, and sees to it that a tool runs exactly as often, and with
// exactly the arguments, that somebody allowed (spec/runtime.md 6, decisions 14). The wire
// format is that of LangChain's human-in-the-loop middleware.
package hitl
