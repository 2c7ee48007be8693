package agent

import (
	"encoding/json"
	"fmt"
	"strings"
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
		if text := decisionFault(q.ResponseSchema); text != "" && issues[i].Path == "/decision" {
			issues[i].Message = text
		}
	}
	return issues
}

// decisionFault says, in the place of a pattern, what the decision of a Review may be; "" for other questions.
func decisionFault(schema json.RawMessage) string {
	var review struct {
		Comment    string `json:"$comment"`
		Properties struct {
			Decision struct {
				Examples []string `json:"examples"`
			} `json:"decision"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &review) != nil || review.Comment != ReviewComment {
		return ""
	}
	allowed := review.Properties.Decision.Examples
	if len(allowed) == 0 {
		return "must be a text that isn't empty"
	}
	return "value must be one of '" + strings.Join(allowed, "', '") + "'"
}
