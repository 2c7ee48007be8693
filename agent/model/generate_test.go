package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// replies is a model whose n-th call yields the n-th list of chunks and errors.
type replies struct{ calls [][]any }

func (r *replies) Info() Info { return Info{Provider: "p", Name: "m"} }

func (r *replies) Stream(context.Context, Request) iter.Seq2[message.Chunk, error] {
	parts := r.calls[0]
	r.calls = r.calls[1:]
	return func(yield func(message.Chunk, error) bool) {
		for _, p := range parts {
			var ok bool
			switch p := p.(type) {
			case message.Chunk:
				ok = yield(p, nil)
			case error:
				ok = yield(message.Chunk{}, p)
			}
			if !ok {
				return
			}
		}
	}
}

// record is a sink that writes down what it is told.
type record struct {
	quiet
	log []string
}

func (r *record) Chunk(c message.Chunk) { r.log = append(r.log, c.ID+":"+c.Text); r.quiet.Chunk(c) }
func (r *record) Reset()                { r.log = append(r.log, "reset"); r.quiet.Reset() }
func (r *record) Fail(err error)        { r.log = append(r.log, "fail "+err.Error()) }

// stoppedClock doesn't wait; it adds up.
type stoppedClock struct{ slept []time.Duration }

func (c *stoppedClock) Now() time.Time { return time.Unix(0, 0) }
func (c *stoppedClock) Sleep(d time.Duration) error {
	c.slept = append(c.slept, d)
	return nil
}

func text(id, s string) message.Chunk { return message.Chunk{ID: id, Text: s} }

type finalError struct{ error }

func (finalError) Retryable() bool { return false }

type statusError int

func (e statusError) Error() string   { return "refused" }
func (e statusError) StatusCode() int { return int(e) }

func TestRefusedRequestsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{400: false, 401: false, 407: false, 408: true, 409: false, 429: true, 500: true, 529: true} {
		require.Equal(t, want, retryable(t.Context(), agent.RetryPolicy{}, statusError(code)), code)
	}
	require.False(t, retryable(t.Context(), agent.RetryPolicy{}, context.Canceled))
	require.True(t, retryable(t.Context(), agent.RetryPolicy{}, errors.New("broken pipe")))
}

func TestCallStreamsRetriesAndKeepsTheID(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	policy := agent.RetryPolicy{MaxAttempts: 3, InitialInterval: time.Second}
	for name, tc := range map[string]struct {
		calls [][]any
		opts  []Option
		want  string // text of the message
		id    string
		log   []string
		err   error
		slept []time.Duration
	}{
		"chunks":                       {calls: [][]any{{text("", "a"), text("", "b")}}, want: "ab", id: "fallback", log: []string{"fallback:a", "fallback:b"}},
		"the model's id":               {calls: [][]any{{text("m1", "a"), text("m1", "b")}}, want: "ab", id: "m1", log: []string{"m1:a", "m1:b"}},
		"the caller's id":              {calls: [][]any{{text("m1", "a")}}, opts: []Option{MessageID("mine")}, want: "a", id: "mine", log: []string{"mine:a"}},
		"an empty answer":              {calls: [][]any{{}}, id: "fallback"},
		"no retry unless asked":        {calls: [][]any{{text("", "a"), boom}}, err: boom, log: []string{"fallback:a", "fail boom"}},
		"a failure before any chunk":   {calls: [][]any{{boom}}, err: boom},
		"second attempt, decisions 7":  {calls: [][]any{{text("m1", "a"), boom}, {text("m2", "b")}}, opts: []Option{Retry(policy)}, want: "b", id: "m1", log: []string{"m1:a", "reset", "m1:b"}, slept: []time.Duration{time.Second}},
		"retry before the first chunk": {calls: [][]any{{boom}, {boom}, {text("", "b")}}, opts: []Option{Retry(policy)}, want: "b", id: "fallback", log: []string{"fallback:b"}, slept: []time.Duration{time.Second, 2 * time.Second}},
		"attempts run out":             {calls: [][]any{{boom}, {text("", "x"), boom}, {boom}}, opts: []Option{Retry(policy)}, err: boom, log: []string{"fallback:x", "reset", "fail boom"}, slept: []time.Duration{time.Second, 2 * time.Second}},
		"an error that rules it out":   {calls: [][]any{{finalError{boom}}}, opts: []Option{Retry(policy)}, err: finalError{boom}},
		"a policy that rules it out":   {calls: [][]any{{boom}}, opts: []Option{Retry(agent.RetryPolicy{RetryOn: func(error) bool { return false }})}, err: boom},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &stoppedClock{}
			out := &record{}
			c := &call{
				ctx: WithClock(t.Context(), clock), model: &replies{tc.calls}, opts: newOptions(nil, tc.opts), fallback: "fallback",
				open: func(id string) sink { out.ID = id; return out },
			}
			got, err := c.run()
			require.Equal(t, tc.log, out.log)
			require.Equal(t, tc.slept, clock.slept)
			if tc.err != nil {
				require.Equal(t, tc.err, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Text())
			require.Equal(t, tc.id, got.ID)
		})
	}
}

func TestCallDoesNotRetryOnceTheRunIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &replies{[][]any{{text("", "a")}}}
	out := &record{}
	c := &call{ctx: ctx, model: m, opts: newOptions(nil, []Option{Retry(agent.RetryPolicy{})}), open: func(string) sink { return out }}
	_, err := c.run()
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, m.calls, "called once")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	require.False(t, newOptions(nil, nil).quiet)
	require.Equal(t, 1, newOptions(nil, nil).retry.MaxAttempts)
	require.Equal(t, 3, newOptions(nil, []Option{Retry(agent.RetryPolicy{})}).retry.MaxAttempts)
	require.True(t, newOptions(nil, []Option{Tags("a", "nostream")}).quiet)
	require.True(t, newOptions(nil, []Option{Tags("langsmith:nostream")}).quiet)
	require.True(t, newOptions(nil, []Option{Unstreamed()}).whole)

	o := newOptions(nil, []Option{Metadata(map[string]json.RawMessage{"k": json.RawMessage(`1`)}), Metadata(map[string]json.RawMessage{"ls_provider": json.RawMessage(`"x"`)})})
	require.Equal(t, map[string]json.RawMessage{
		"ls_model_type": json.RawMessage(`"chat"`), "ls_model_name": json.RawMessage(`"m"`),
		"ls_provider": json.RawMessage(`"x"`), "k": json.RawMessage(`1`),
	}, streamMetadata((&replies{}).Info(), o.metadata))
	require.Len(t, streamMetadata(Info{}, nil), 1)
}

func TestDelayGrowsUpToItsLimit(t *testing.T) {
	t.Parallel()
	require.Equal(t, 500*time.Millisecond, delay(agent.RetryPolicy{}, 1, nil))
	require.Equal(t, 2*time.Second, delay(agent.RetryPolicy{}, 3, nil))
	require.Equal(t, 128*time.Second, delay(agent.RetryPolicy{}, 5000, nil))
	require.Equal(t, 3*time.Second, delay(agent.RetryPolicy{InitialInterval: time.Second, BackoffFactor: 3}, 2, nil))
	jittered := delay(agent.RetryPolicy{Jitter: true}, 1, nil)
	require.GreaterOrEqual(t, jittered, 500*time.Millisecond)
	require.Less(t, jittered, 1500*time.Millisecond)
}

func TestCollect(t *testing.T) {
	t.Parallel()
	m, err := Collect(t.Context(), &replies{[][]any{{text("i", "a"), text("", "b")}}}, Request{})
	require.NoError(t, err)
	require.Equal(t, "ab", m.Text())
	require.Equal(t, "i", m.ID)
	_, err = Collect(t.Context(), &replies{[][]any{{fmt.Errorf("no")}}}, Request{})
	require.EqualError(t, err, "no")
}

func TestSleepEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Sleep(ctx, time.Hour) }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, Sleep(t.Context(), -1))
	require.NoError(t, Sleep(t.Context(), time.Microsecond))
	require.False(t, Now(t.Context()).IsZero())
	require.Equal(t, time.Unix(0, 0), Now(WithClock(t.Context(), &stoppedClock{})))
}

type askingError time.Duration

func (askingError) Error() string               { return "wait" }
func (e askingError) RetryAfter() time.Duration { return time.Duration(e) }

func TestDelayHeedsTheProvidersWord(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked, limit, want time.Duration
	}{
		"longer than the backoff":  {asked: 7 * time.Second, want: 7 * time.Second},
		"shorter than the backoff": {asked: time.Millisecond, want: 500 * time.Millisecond},
		"beyond all reason":        {asked: time.Hour, want: 128 * time.Second},
		"beyond the policy's":      {asked: time.Minute, limit: 20 * time.Second, want: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("call: %w", askingError(tc.asked))
			require.Equal(t, tc.want, delay(agent.RetryPolicy{MaxInterval: tc.limit}, 1, err))
		})
	}
}

// retrying is a model with a policy of its own.
type retrying struct{ replies }

func (retrying) RetryPolicy() agent.RetryPolicy { return agent.RetryPolicy{MaxAttempts: 7} }

func TestTheModelsRetryPolicyHoldsUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	require.Equal(t, 7, newOptions(&retrying{}, nil).retry.MaxAttempts)
	require.Equal(t, 2, newOptions(&retrying{}, []Option{Retry(agent.RetryPolicy{MaxAttempts: 2})}).retry.MaxAttempts)
}
