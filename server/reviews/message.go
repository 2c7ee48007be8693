package reviews

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-dev/parley/server/auth"
)

// messageOf is the text of the last message of a person in an execution's input; nil when it has none.
func messageOf(input json.RawMessage) *string {
	var in struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	var many []json.RawMessage
	if json.Unmarshal(in.Messages, &many) != nil {
		many = []json.RawMessage{in.Messages}
	}
	for i := len(many) - 1; i >= 0; i-- {
		if text, ok := said(many[i]); ok {
			return &text
		}
	}
	return nil
}

// said is what a person says in a message: a text, or an object with type human or role user.
func said(message json.RawMessage) (string, bool) {
	var text string
	if len(message) > 0 && json.Unmarshal(message, &text) == nil {
		return text, true
	}
	var m struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil || m.Type != "human" && m.Role != "user" && m.Role != "human" {
		return "", false
	}
	if json.Unmarshal(m.Content, &text) == nil {
		return text, true
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &blocks) != nil {
		return "", false
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

// messageIn is an error's text for people.
func messageIn(err error) string {
	var refused *auth.Error
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}
