package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
)

func TestPromptsSayHowToStream(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]params{
		"":                            {tokens: 200},
		"hello tokens":                {tokens: 200},
		"tokens=3":                    {tokens: 3},
		"tokens=0 stamp=1":            {tokens: 0, stamp: true},
		"tokens=x":                    {tokens: 0},
		"tokens=-4":                   {tokens: 0},
		"tokens=12abc other=5":        {tokens: 12},
		"delay_us=2000\tstart_ms=7\n": {tokens: 200, interval: 2 * time.Millisecond, startDelay: 7 * time.Millisecond},
		"stamp=0 tokens=1 tokens=2":   {tokens: 2},
	} {
		require.Equal(t, want, paramsOf(prompt), prompt)
	}
}

func TestTheNewestHumanMessageIsThePrompt(t *testing.T) {
	t.Parallel()
	require.Empty(t, newestHuman(message.New()))
	blocks := message.NewHuman("")
	blocks.Content = []byte(`[{"type":"text","text":"tokens=5"}]`)
	require.Equal(t, "tokens=5", newestHuman(message.New(
		message.NewHuman("tokens=1"), message.NewAI("x"), blocks, message.NewAI("tokens=9"), message.NewTool("c", "t", "tokens=8"))))
}

type clock struct{ at time.Time }

func (c clock) Now() time.Time { return c.at }

func TestTokensAreNumberedInBase36(t *testing.T) {
	t.Parallel()
	at := clock{time.UnixMicro(1767225600000000)}
	for i, want := range map[int]string{0: "0000 ", 1: "0001 ", 35: "000z ", 36: "0010 ", 1679615: "zzzz ", 1679616: "10000 "} {
		require.Equal(t, want, string(appendToken(nil, i, false, at)))
	}
	require.Equal(t, "0000@1767225600000000 ", string(appendToken(nil, 0, true, at)))
	require.Len(t, fmt.Sprint(at.at.UnixMicro()), stampLen-1)
}

func TestApprovalTakesTheFirstDecisionOnly(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		`{"decisions":[{"type":"approve"}]}`:                   true,
		`{"decisions":[{"type":"reject"}]}`:                    false,
		`{"decisions":[{"type":"reject"},{"type":"approve"}]}`: false,
		`{"decisions":[]}`:                                     false, `"approve"`: false, `null`: false, `{}`: false,
	} {
		require.Equal(t, want, approved([]byte(answer)), answer)
	}
}
