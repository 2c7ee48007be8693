package thread

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// D-47
func TestRunFingerprintNeedsClientMintedIDs(t *testing.T) {
	t.Parallel()
	base := StartRun{ThreadID: "t", AssistantID: "g", Principal: "jo"}
	with := func(change func(*StartRun)) string {
		r := base
		r.Input = raw(`{"messages":[{"type":"human","id":"m1","content":"hi"}]}`)
		change(&r)
		return runFingerprint(r)
	}
	first := with(func(*StartRun) {})
	require.NotEmpty(t, first)
	require.Equal(t, first, with(func(r *StartRun) { r.Input = raw(`{"messages":[{"content":"hi","id":"m1","type":"human"}]}`) }))
	for name, change := range map[string]func(*StartRun){
		"principal":  func(r *StartRun) { r.Principal = "al" },
		"config":     func(r *StartRun) { r.Config = raw(`{"tags":["x"]}`) },
		"checkpoint": func(r *StartRun) { r.CheckpointID = "c" },
		"strategy":   func(r *StartRun) { r.MultitaskStrategy = "enqueue" },
		"input":      func(r *StartRun) { r.Input = raw(`{"messages":[{"type":"human","id":"m2","content":"hi"}]}`) },
	} {
		other := with(change)
		require.NotEmpty(t, other, name)
		require.NotEqual(t, first, other, name)
	}
	for name, change := range map[string]func(*StartRun){
		"no message":         func(r *StartRun) { r.Input = raw(`{"n":1}`) },
		"message without id": func(r *StartRun) { r.Input = raw(`{"messages":[{"type":"human","content":"hi"}]}`) },
		"one of two": func(r *StartRun) {
			r.Input = raw(`{"messages":[{"type":"human","id":"m","content":""},{"role":"user","content":"hi"}]}`)
		},
		"stateless":  func(r *StartRun) { r.ThreadID = "" },
		"with a key": func(r *StartRun) { r.IdempotencyKey = "k" },
		"delayed":    func(r *StartRun) { r.AfterSeconds = 5 },
	} {
		require.Empty(t, with(change), name)
	}
	command := func(r *StartRun) { r.Input, r.CommandID = raw(`{"n":1}`), "7" }
	require.NotEmpty(t, with(command), "a v2 command id makes up for missing message ids")
}

// D-32
func TestAnswersFingerprintIgnoresOrderAndNotes(t *testing.T) {
	t.Parallel()
	a := agent.Answer{InterruptID: "a", Value: raw(`{"decision":"yes","reviewer_notes":"first"}`)}
	b := agent.Answer{InterruptID: "b", Value: raw(`1`)}
	again := agent.Answer{InterruptID: "a", Value: raw(`{"reviewer_notes":"second","decision":"yes"}`)}
	no := agent.Answer{InterruptID: "a", Value: raw(`{"decision":"no"}`)}
	first := answersFingerprint("jo", []agent.Answer{a, b})
	require.Equal(t, first, answersFingerprint("jo", []agent.Answer{b, again}))
	require.NotEqual(t, first, answersFingerprint("jo", []agent.Answer{b, no}))
	require.NotEqual(t, first, answersFingerprint("al", []agent.Answer{a, b}))
	require.NotEqual(t, first, answersFingerprint("jo", []agent.Answer{a}))
}

func TestResumeIDs(t *testing.T) {
	t.Parallel()
	id := "0123456789abcdef0123456789abcdef"
	require.Equal(t, []string{id}, resumeIDs(raw(`{"`+id+`":1}`)))
	for _, plain := range []string{`1`, `null`, `{}`, `{"x":1}`, `{"` + id + `":1,"x":2}`, `["` + id + `"]`, `{"0123456789ABCDEF0123456789abcdef":1}`} {
		require.Empty(t, resumeIDs(raw(plain)), plain)
	}
}
