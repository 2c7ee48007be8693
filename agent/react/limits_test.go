package react_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// busy is an agent whose model calls a tool without end, each call of 600 + 400 tokens.
func busy(t *testing.T, limits react.Limits, tools []tool.Tool, middleware ...react.Middleware) *agenttest.Thread {
	t.Helper()
	thread := agenttest.New(made(t, react.Config{
		Name: "busy", Tools: tools, Limits: limits, Middleware: middleware,
		Model: scripted.Script{Name: "m", Choose: func(c scripted.Call) (scripted.Turn, error) {
			turn := calls("a")
			turn.ToolCalls[0].ID = "c" + string(rune('a'+c.Messages.Len()))
			turn.Usage = &message.Usage{InputTokens: 600, OutputTokens: 400, TotalTokens: 1000, InputTokenDetails: json.RawMessage(`{"cache_read":100}`)}
			return turn, nil
		}},
	}))
	thread.Clock().AutoAdvance = true
	thread.Config.RecursionLimit = 100
	return thread
}

func modelCalls(t *testing.T, res agenttest.Result) int {
	t.Helper()
	n := 0
	for _, e := range res.Events {
		if e.Kind == agent.MessageStarted && e.Payload.(agent.MessageStart).Streamed {
			n++
		}
	}
	return n
}

func TestATurnEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	slow := look(func(ctx tool.Context, p place) (any, error) { return "saw", ctx.Sleep(10 * time.Second) })
	prices := map[string]react.Price{"m": {Input: 10, Output: 100, CachedInput: 1}} // 0.0451 a call
	for name, c := range map[string]struct {
		limits react.Limits
		calls  int
		says   string
	}{
		"steps":           {react.Limits{Steps: 2}, 2, "2 steps"},
		"tokens":          {react.Limits{Tokens: 2500}, 3, "2500 tokens"},
		"cost":            {react.Limits{Cost: 0.09, Prices: prices}, 2, "a cost of 0.09"},
		"wall time":       {react.Limits{WallTime: 35 * time.Second}, 4, "35s"},
		"the first of it": {react.Limits{Steps: 9, Tokens: 1000, WallTime: time.Hour}, 1, "1000 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := busy(t, c.limits, slow)
			for range 2 { // each turn has all of it
				res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
				require.NoError(t, err)
				require.Equal(t, "success", res.Status)
				require.Equal(t, c.calls, modelCalls(t, res))
				all := messages(t, thread)
				last := all[len(all)-1]
				require.Equal(t, "I have to stop here: I have reached my limit of "+c.says+" for a turn.", last.Text())
				require.Equal(t, []string{"ai", "model"}, []string{last.Type, last.Name})
				require.JSONEq(t, `{"finish_reason":"limit"}`, string(last.ResponseMetadata))
				wellFormed(t, thread)
			}
			c.limits.ErrorOnLimit = true
			thread = busy(t, c.limits, slow)
			res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
			require.NoError(t, err)
			require.Equal(t, react.LimitError, res.Err.Name)
			require.Contains(t, res.Err.Message, c.says)
			wellFormed(t, thread)
		})
	}
}

func TestATurnWithoutUsageIsEstimated(t *testing.T) {
	t.Parallel()
	thread, res := start(t, made(t, react.Config{
		Name: "a", Model: script(calls("a")), Tools: look(sees), Limits: react.Limits{Tokens: 100},
	}))
	require.Equal(t, "success", res.Status)
	all := conversation(t, thread)
	require.Contains(t, all[len(all)-1], "100 tokens")
	require.Less(t, modelCalls(t, res), 5)
}

func TestTimeThatAPersonTakesIsNotTheTurns(t *testing.T) {
	t.Parallel()
	asks := look(func(ctx tool.Context, p place) (any, error) {
		if _, err := agent.Interrupt[string](ctx, "may I?"); err != nil {
			return nil, err
		}
		return "saw", ctx.Sleep(10 * time.Second)
	})
	thread := busy(t, react.Limits{WallTime: 15 * time.Second}, asks)
	res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	answers := 0
	for res.Suspended {
		thread.Clock().Advance(48 * time.Hour)
		res, err = thread.Resume(t.Context(), "yes")
		require.NoError(t, err)
		answers++
	}
	require.Equal(t, "success", res.Status)
	require.Equal(t, 2, answers)
}

// No caller sets a limit back, and no summary does (decisions 14).
func TestWhatWasSpentStays(t *testing.T) {
	t.Parallel()
	summary := react.Summarize(react.Summary{Model: scripted.Script{Choose: scripted.Always(scripted.Turn{Text: "short", Usage: &message.Usage{InputTokens: 250}})}, Messages: 3, Keep: 1})
	thread := busy(t, react.Limits{Tokens: 2500}, look(sees), summary)
	res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	require.Equal(t, 3, modelCalls(t, res), "two answers, and summaries")
	all := messages(t, thread)
	require.Contains(t, all[len(all)-1].Text(), "2500 tokens")

	asks := look(func(ctx tool.Context, p place) (any, error) { return agent.Interrupt[string](ctx, "may I?") })
	thread = busy(t, react.Limits{Steps: 1}, asks)
	_, err = thread.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	forged := []agent.Write{{Channel: "react:turn", Value: json.RawMessage(`{}`)}, {Channel: "__sealed:react:turn", Value: json.RawMessage(`{}`)}}
	res, err = thread.Command(t.Context(), agent.Command{Resume: json.RawMessage(`"yes"`), HasResume: true, Update: forged})
	require.NoError(t, err)
	require.Zero(t, modelCalls(t, res))
}

func TestLimitsThatCannotBeHeldAreMistakes(t *testing.T) {
	t.Parallel()
	for want, limits := range map[string]react.Limits{
		"is negative":                      {Steps: -1},
		`no price for model "scripted"`:    {Cost: 1},
		`there is no price for model "scr`: {Cost: 1, Prices: map[string]react.Price{"other": {}}},
	} {
		_, err := react.NewAgent(react.Config{Name: "a", Model: script(scripted.Say("x")), Limits: limits})
		require.ErrorContains(t, err, want)
	}
	// A wrapper's model has no price either.
	_, res := start(t, made(t, react.Config{
		Name: "a", Model: scripted.Script{Name: "m"}, Limits: react.Limits{Cost: 1, Prices: map[string]react.Price{"m": {Input: 1}}},
		Middleware: []react.Middleware{{Name: "M", WrapModel: func(ctx agent.Context, call react.ModelCall, next react.ModelHandler) (message.Message, error) {
			call.Model = script(scripted.Say("x"))
			return next(ctx, call)
		}}},
	}))
	require.Contains(t, res.Err.Message, "no price")
}

func TestTheAgentSaysSoWhenTheStepsRunOut(t *testing.T) { // spec/runtime.md 7.2
	t.Parallel()
	for name, c := range map[string]struct {
		limit  int
		direct bool
		hooks  []react.Middleware
		ran    int
	}{
		"no room for a call":              {1, false, nil, 0},
		"room for the call alone":         {2, false, nil, 0},
		"room for the model's word":       {3, false, nil, 1},
		"room for a direct result":        {2, true, nil, 1},
		"no room for one":                 {1, true, nil, 0},
		"no room for hooks on the way":    {8, false, []react.Middleware{noting("M")}, 0},
		"room for all hooks":              {9, false, []react.Middleware{noting("M")}, 1},
		"room for two rounds of the loop": {5, false, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []tool.Option
			if c.direct {
				opts = append(opts, tool.ReturnDirect())
			}
			ran := 0
			thread := agenttest.New(made(t, react.Config{
				Name: "a", Middleware: c.hooks,
				Model: scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) { return calls(fmt.Sprint("c", c.N)), nil }},
				Tools: []tool.Tool{tool.Func("look", "", func(tool.CallContext, place) (string, error) { ran++; return "saw", nil }, opts...)},
			}))
			thread.Config.RecursionLimit = c.limit
			res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
			require.NoError(t, err)
			require.Equal(t, "success", res.Status)
			require.Equal(t, c.ran, ran)
			all := conversation(t, thread)
			if !c.direct || c.ran == 0 {
				require.Equal(t, "ai(model) "+react.OutOfSteps, all[len(all)-1])
			}
			wellFormed(t, thread)
		})
	}
}
