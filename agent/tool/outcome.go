package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// outcome is how a call ended, in the form that is journaled: its journal must give
// the same tool message again.
type outcome struct {
	Content  json.RawMessage   `json:"content,omitempty"`
	Artifact json.RawMessage   `json:"artifact,omitempty"`
	Failed   bool              `json:"failed,omitempty"`
	Messages []message.Message `json:"messages,omitempty"`
	Command  *agent.Command    `json:"command,omitempty"`
	// Error is set when the tool returned one, and no other field then.
	Error *agent.ErrorInfo `json:"error,omitempty"`
}

// journaled is an outcome with the key that tells it from the plain result that a person
// gives for a call whose outcome is unknown.
type journaled struct {
	Outcome *outcomeFields `json:"parley_outcome"`
}

type outcomeFields outcome

// MarshalJSON implements json.Marshaler.
func (o outcome) MarshalJSON() ([]byte, error) {
	fields := outcomeFields(o)
	return encode(journaled{&fields})
}

// UnmarshalJSON implements json.Unmarshaler. What isn't an outcome is the content of one.
func (o *outcome) UnmarshalJSON(b []byte) error {
	var j journaled
	if json.Unmarshal(b, &j) == nil && j.Outcome != nil {
		*o = outcome(*j.Outcome)
		return nil
	}
	if string(bytes.TrimSpace(b)) == "null" {
		*o = outcome{Content: message.TextContent("The call took place; what came of it isn't known.")}
		return nil
	}
	content, err := contentOf(json.RawMessage(b))
	*o = outcome{Content: content}
	return err
}

func failed(err error) outcome { return outcome{Error: agent.ErrorInfoOf(err)} }

// err is the error of a call that failed.
func (o outcome) err() error {
	if o.Error == nil {
		return nil
	}
	return &agent.NamedError{Name: o.Error.Name, Message: o.Error.Message}
}

// attempt calls a function and takes what it returns; a panic is an error.
func attempt(ctx agent.Context, call func() (any, error), progress func(any)) (out outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			agent.ReportPanic(ctx, p)
			err = fmt.Errorf("the tool panicked: %v", p)
		}
	}()
	result, err := call()
	if err != nil {
		return outcome{}, err
	}
	return outcomeOf(result, progress)
}

// outcomeOf takes what a tool returned.
func outcomeOf(result any, progress func(any)) (outcome, error) {
	switch r := result.(type) {
	case outcome:
		return r, nil
	case *agent.Command:
		if r == nil {
			return outcome{}, errors.New("the tool returned a Command that is nil")
		}
		return outcome{Command: r}, nil
	case message.Message:
		return outcome{Messages: []message.Message{r}}, nil
	case []message.Message:
		if len(r) == 0 {
			return outcome{}, errors.New("the tool returned no message")
		}
		return outcome{Messages: r}, nil
	case message.List:
		var all []message.Message
		for _, m := range r.All() {
			all = append(all, m)
		}
		return outcomeOf(all, progress)
	case Result:
		return outcomeOfResult(r)
	}
	if values, ok := sequence(result); ok {
		gathered, err := gather(values, progress)
		if err != nil {
			return outcome{}, err
		}
		return outcomeOfResult(Result{Content: gathered})
	}
	return outcomeOfResult(Result{Content: result})
}

func outcomeOfResult(r Result) (outcome, error) {
	content, err := contentOf(r.Content)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{Content: content, Failed: r.Failed}
	if r.Artifact != nil {
		if out.Artifact, err = encode(r.Artifact); err != nil {
			return outcome{}, fmt.Errorf("encode the artifact: %w", err)
		}
	}
	return out, nil
}

// encode is v as JSON that keeps the characters <, > and & of texts as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
