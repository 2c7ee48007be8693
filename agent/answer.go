package agent

import (
	"encoding/json"
	"fmt"
)

// compileResponseSchema compiles the JSON Schema of an interrupt.
func compileResponseSchema(raw json.RawMessage) (*Checker, error) {
	c, err := NewChecker(raw)
	if err != nil {
		return nil, fmt.Errorf("agent: response schema: %w", err)
	}
	return c, nil
}

// answerIssues checks an answer against its question's response schema and
// returns one issue per fault; none when the answer is good or anything goes.
func answerIssues(q InterruptInfo, answer json.RawMessage) []Issue {
	if isNull(q.ResponseSchema) {
		return nil
	}
	schema, err := compileResponseSchema(q.ResponseSchema)
	if err != nil {
		return []Issue{{InterruptID: q.ID, Message: err.Error()}}
	}
	issues := schema.Issues(answer)
	for i := range issues {
		issues[i].InterruptID = q.ID
	}
	return issues
}
