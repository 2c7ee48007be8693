package builtin_test

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/builtin"
)

func TestCalculate(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1 + 2 * 3":               "7",
		"(1 + 2) * 3":             "9",
		"0.1 + 0.2":               "0.3",
		"10 / 4":                  "2.5",
		"1 / 3":                   "0.333333333333",
		"2 ^ 3 ^ 2":               "512",
		"-2 ^ 2":                  "-4",
		"2 ^ -1":                  "0.5",
		"- -3":                    "3",
		"7 % 3":                   "1",
		"-7 % 3":                  "2",
		"1_000 * 1.19":            "1190",
		"round(10 / 3, 2)":        "3.33",
		"round(2.5)":              "3",
		"round(-2.5)":             "-3",
		"floor(-1.5) + ceil(1.2)": "0",
		"max(1, 5, 3) - min(4,2)": "3",
		"abs(-3.25)":              "3.25",
		"sqrt(2.25)":              "1.5",
		"sqrt(2)":                 "1.414213562373",
		"99999999999999999999+1":  "100000000000000000000",
	} {
		got, err := builtin.Calculate(expression)
		require.NoError(t, err, expression)
		require.Equal(t, want, got, expression)
	}
}

func TestCalculateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for expression, says := range map[string]string{
		"":                        "a number is missing, at character 1",
		"1 +":                     "a number is missing, at character 4",
		"1 + * 2":                 "a number is missing at character 5",
		"(1 + 2":                  "missing )",
		"1 2":                     `unexpected '2' at character 3`,
		"1 / (2 - 2)":             "division by zero",
		"0 ^ -1":                  "division by zero",
		"5 % 0":                   "division by zero",
		"2 ^ 0.5":                 "exponent",
		"9 ^ 999 ^ 9":             "exponent",
		"((9^999)^999)^999":       "too large",
		"sine(1)":                 `unknown function "sine"`,
		"sqrt(-1)":                "negative",
		"round(1, 2, 3)":          "round takes 1 to 2 numbers, not 3",
		"import os":               "unknown function",
		strings.Repeat("(", 200):  "nested too deeply",
		strings.Repeat("-", 200):  "nested too deeply",
		strings.Repeat("1+", 600): "more than 1000 characters",
		"1.2.3":                   "a number is missing",
		"round(1/3, 1000)":        "digits",
	} {
		_, err := builtin.Calculate(expression)
		require.ErrorContains(t, err, says, expression)
	}
}

// Sums and products of integers are what math/big says they are.
func TestCalculateIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b"), rapid.Int64().Draw(t, "c")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Sub(want, big.NewInt(c))
		got, err := builtin.Calculate(strconv.FormatInt(a, 10) + " * " + strconv.FormatInt(b, 10) + " - " + strconv.FormatInt(c, 10))
		require.NoError(t, err)
		require.Equal(t, want.String(), got)
	})
}

func FuzzCalculate(f *testing.F) {
	for _, seed := range []string{"1+2*3", "round(10/3,2)", "-(2^3)", "sqrt(2)", "1;", "((("} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if v, err := builtin.Calculate(expression); err == nil && v == "" {
			t.Fatal("no value and no error")
		}
	})
}

type conversation struct {
	Messages message.List `json:"messages"`
}

// calling is a graph whose only node carries out one call.
func calling(t *testing.T, name, args string) *agenttest.Thread {
	t.Helper()
	set, err := tool.NewSet(builtin.All()...)
	require.NoError(t, err)
	return agenttest.New(agent.NewGraph[conversation]("g").
		Node("tools", func(ctx agent.Context, _ conversation) (agent.Update, error) {
			return set.Run(ctx, message.NewToolCall("c1", name, json.RawMessage(args)), nil)
		}).
		Edge(agent.Start, "tools").MustCompile())
}

func start(t *testing.T, thread *agenttest.Thread) agenttest.Result {
	t.Helper()
	r, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	return r
}

func last(t *testing.T, thread *agenttest.Thread) message.Message {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	m, ok := s.State.Messages()["messages"].Last()
	require.True(t, ok)
	return m
}

func TestNowIsInTheZoneThatIsAskedFor(t *testing.T) {
	t.Parallel()
	thread := calling(t, "now", `{"time_zone":"Asia/Tokyo"}`)
	start(t, thread)
	zone, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	_, told, ok := strings.Cut(last(t, thread).Text(), ", ")
	require.True(t, ok)
	at, err := time.Parse(time.RFC3339, told)
	require.NoError(t, err)
	require.WithinDuration(t, thread.Clock().Now(), at, time.Minute)
	require.True(t, strings.HasSuffix(told, "+09:00"), told)
	require.Equal(t, at.In(zone).Format("Monday"), strings.Split(last(t, thread).Text(), ",")[0])

	for _, unknown := range []string{"Mars/Olympus", "Local"} {
		thread = calling(t, "now", `{"time_zone":"`+unknown+`"}`)
		start(t, thread)
		require.Equal(t, "error", last(t, thread).Status)
		require.Contains(t, last(t, thread).Text(), "unknown time zone")
	}
}

func TestCalculatorTellsTheModelWhatIsWrong(t *testing.T) {
	t.Parallel()
	thread := calling(t, "calculator", `{"expression":"1 +"}`)
	start(t, thread)
	require.Equal(t, "error", last(t, thread).Status)
	require.Contains(t, last(t, thread).Text(), "a number is missing")
}

func TestAskUserWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer any
		text   string
	}{
		"a text":    {"blue", "blue"},
		"an object": {map[string]string{"answer": "red"}, "red"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := calling(t, "ask_user", `{"question":"Which colour?","options":["blue","red"]}`)
			require.True(t, start(t, thread).Suspended)
			pending := thread.Pending()
			require.Len(t, pending, 1)
			require.JSONEq(t, `{"type":"question","question":"Which colour?","options":["blue","red"]}`, string(pending[0].Value))
			for _, wrong := range []any{"", 3, map[string]string{"text": "x"}, []string{"blue"}} {
				_, err := thread.Resume(t.Context(), wrong)
				var refused *agent.ResumeError
				require.ErrorAs(t, err, &refused)
				require.Len(t, thread.Pending(), 1, "the question stays open")
			}
			_, err := thread.Resume(t.Context(), c.answer)
			require.NoError(t, err)
			require.Equal(t, c.text, last(t, thread).Text())
			require.Equal(t, "success", last(t, thread).Status)
		})
	}
}
