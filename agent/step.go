package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// StepOption configures Step.
type StepOption func(*stepOptions)

type stepOptions struct {
	atMostOnce bool
	timeout    time.Duration
	// result is the JSON Schema of what the step returns; nil for anything.
	result json.RawMessage
}

// AtMostOnce asks a person when a crash left the outcome of the step unknown
// (decisions 6). The question is {"type": "unknown_outcome", "step", "idempotency_key"},
// the answer {"type": "retry"}, {"type": "done", "result": what the step returns} or
// {"type": "fail", "message"}. Default: at least once, the step runs again unasked.
func AtMostOnce() StepOption { return func(o *stepOptions) { o.atMostOnce = true } }

// StepTimeoutOf bounds one attempt of the step. Of an AtMostOnce step that ran
// into it the outcome is unknown.
func StepTimeoutOf(d time.Duration) StepOption { return func(o *stepOptions) { o.timeout = d } }

// StepContext is what a durable step gets. It offers no Interrupt and no Step.
type StepContext interface {
	context.Context
	// IdempotencyKey is stable over retries, resumes and recovery.
	IdempotencyKey() string
	// Attempt counts the calls of the function that are known of, from 1. A call
	// that died with its process is known of only if the step is AtMostOnce: tell
	// repeats by IdempotencyKey.
	Attempt() int
}

type stepContext struct {
	context.Context
	key     string
	attempt int
}

func (c *stepContext) IdempotencyKey() string { return c.key }
func (c *stepContext) Attempt() int           { return c.attempt }

// Step runs fn once and journals its result: when the task runs again after a
// suspension or a crash, the recorded result is returned and fn isn't called.
// A step is known by its name and the number of calls of that name before it
// in the task. An error of fn is returned as it is; it is recorded if the node goes on and
// suspends, otherwise another attempt of the task calls fn again.
func Step[T any](ctx Context, name string, fn func(ctx StepContext) (T, error), opts ...StepOption) (T, error) {
	var out T
	var o stepOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.atMostOnce {
		o.result = answerSchema(reflect.TypeFor[T]())
	}
	raw, err := ctx.journal().step(name, o, func(sc StepContext) (json.RawMessage, error) {
		v, err := fn(sc)
		if err != nil {
			return nil, err
		}
		raw, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("agent: encode the result of step %q: %w", name, err)
		}
		return raw, nil
	})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("agent: recorded result of step %q: %w", name, err)
	}
	return out, nil
}

// unknownOutcome is what a person is asked when it isn't known whether a step took place.
type unknownOutcome struct {
	Type           string `json:"type"` // unknown_outcome
	Step           string `json:"step"`
	IdempotencyKey string `json:"idempotency_key"`
}

// unknownOutcomeSchema describes the answers: run the step again, take it as
// done with a result that the step could have had, or let it fail.
func unknownOutcomeSchema(result json.RawMessage) json.RawMessage {
	if result == nil {
		result = json.RawMessage("true")
	}
	return json.RawMessage(`{"type":"object","required":["type"],"properties":{"type":{"enum":["retry","done","fail"]},"result":` +
		string(result) + `,"message":{"type":"string"}}}`)
}

// step carries out a durable step (spec/runtime.md 9.1).
func (s *stepScope) step(name string, o stepOptions, fn func(StepContext) (json.RawMessage, error)) (json.RawMessage, error) {
	key, rec, release, err := s.enter(name)
	if err != nil {
		return nil, err
	}
	defer release()
	switch rec.Status {
	case StepDone:
		return rec.Result, nil
	case StepFailed:
		if rec.recorded {
			return nil, &NamedError{Name: rec.Error.Name, Message: rec.Error.Message}
		}
	case StepStarted:
		if o.atMostOnce {
			raw, again, err := s.askOutcome(key, rec, o.result)
			if !again {
				return raw, err
			}
		}
	}
	rec.Attempt++
	return s.runStep(key, rec, o, fn)
}

// runStep calls the step's function and journals what comes of it.
func (s *stepScope) runStep(key stepKey, rec journaled, o stepOptions, fn func(StepContext) (json.RawMessage, error)) (json.RawMessage, error) {
	c := s.task
	if err := c.Err(); err != nil {
		return nil, context.Cause(c)
	}
	if o.atMostOnce { // written ahead, so that a crash is noticed
		rec.Status, rec.Result, rec.Error = StepStarted, nil, nil
		if err := s.record(key, rec); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(c.Context)
	defer cancel(nil)
	if o.timeout > 0 {
		stop := expire(ctx, c.exec.Clock, o.timeout, cancel, errStepExpired)
		defer stop()
	}
	raw, err := fn(&stepContext{Context: ctx, key: s.idempotencyKey(key), attempt: rec.Attempt})
	if err == nil {
		rec.Status, rec.Result, rec.Error = StepDone, raw, nil
		return raw, s.record(key, rec)
	}
	if ctx.Err() != nil && o.atMostOnce {
		return nil, err // cut off: it stays started
	}
	if errors.Is(context.Cause(ctx), errStepExpired) {
		err = &timeoutError{name: "StepTimeoutError", message: fmt.Sprintf("Step %q did not end within %s", key.name, o.timeout)}
	}
	rec.Status, rec.Result, rec.Error = StepFailed, nil, ErrorInfoOf(err)
	if o.atMostOnce { // known to have failed: without an error on record another attempt runs it again
		known := rec
		known.Error = nil
		if jerr := s.record(key, known); jerr != nil {
			return nil, jerr
		}
	}
	s.steps.put(key, rec)
	return nil, err
}

var errStepExpired = errors.New("agent: step timeout")

// askOutcome asks a person about a step that was started and never ended. again
// says that it is to run; result is the schema of what it could have returned.
func (s *stepScope) askOutcome(key stepKey, rec journaled, result json.RawMessage) (raw json.RawMessage, again bool, err error) {
	answer, err := s.task.ask(
		unknownOutcome{Type: "unknown_outcome", Step: key.name, IdempotencyKey: s.idempotencyKey(key)},
		interruptOptions{name: s.question(key, rec.Attempt), schema: unknownOutcomeSchema(result)})
	if err != nil {
		return nil, false, err
	}
	var decision struct {
		Type    string          `json:"type"`
		Result  json.RawMessage `json:"result"`
		Message string          `json:"message"`
	}
	if err := json.Unmarshal(answer.Value, &decision); err != nil {
		return nil, false, fmt.Errorf("agent: decision about step %q: %w", key.name, err)
	}
	switch decision.Type {
	case "retry":
		return nil, true, nil
	case "done":
		rec.Status, rec.Result = StepDone, orNull(decision.Result)
		return rec.Result, false, s.record(key, rec)
	case "fail":
		if decision.Message == "" {
			decision.Message = fmt.Sprintf("Step %q was given up", key.name)
		}
		return nil, false, &NamedError{Name: "StepError", Message: decision.Message}
	}
	return nil, false, fmt.Errorf("agent: decision about step %q: unknown type %q", key.name, decision.Type)
}
