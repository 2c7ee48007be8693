package local

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
)

func drawRaw(t *rapid.T, label string) json.RawMessage {
	return json.RawMessage(rapid.SampledFrom([]string{"", "1", `{"a":[1,"ü"]}`}).Draw(t, label))
}

func drawError(t *rapid.T) *agent.ErrorInfo {
	if rapid.Bool().Draw(t, "no error") {
		return nil
	}
	return &agent.ErrorInfo{Name: rapid.String().Draw(t, "name"), Message: rapid.String().Draw(t, "message")}
}

func TestRecordsReadBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := agent.TaskRecord{Name: rapid.String().Draw(t, "task"), Status: agent.TaskDone, Path: rapid.String().Draw(t, "path"),
			Nested: rapid.Bool().Draw(t, "nested"), Error: drawError(t)}
		for range rapid.IntRange(0, 3).Draw(t, "writes") {
			task.Writes = append(task.Writes, agent.Write{Channel: rapid.String().Draw(t, "channel"), Value: nilIfEmpty(drawRaw(t, "value"))})
		}
		for range rapid.IntRange(0, 3).Draw(t, "interrupts") {
			task.Interrupts = append(task.Interrupts, agent.InterruptInfo{ID: rapid.String().Draw(t, "id"),
				Value: nilIfEmpty(drawRaw(t, "question")), ResponseSchema: nilIfEmpty(drawRaw(t, "schema"))})
		}
		var gotTask agent.TaskRecord
		require.NoError(t, decodeTask(encodeTask(task), &gotTask))
		require.Equal(t, task, gotTask)

		step := agent.StepRecord{Status: agent.StepFailed, Attempt: rapid.Int().Draw(t, "attempt"), Result: nilIfEmpty(drawRaw(t, "result")), Error: drawError(t)}
		var gotStep agent.StepRecord
		require.NoError(t, decodeStep(encodeStep(step), &gotStep))
		require.Equal(t, step, gotStep)
	})
}

func nilIfEmpty(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return b
}

func TestDamagedRecordsAreAnErrorNeverAPanic(t *testing.T) {
	t.Parallel()
	whole := encodeTask(agent.TaskRecord{Name: "n", Writes: []agent.Write{{Channel: "c", Value: json.RawMessage("1")}}, Error: &agent.ErrorInfo{Name: "E"}})
	for i := range whole {
		require.Error(t, decodeTask(whole[:i], &agent.TaskRecord{}), "cut at %d", i)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		_ = decodeTask(b, &agent.TaskRecord{}) // some happen to be readable
		_ = decodeStep(b, &agent.StepRecord{})
	})
}

func TestIdentifiersReadBackAsTheyWere(t *testing.T) {
	t.Parallel()
	c, err := openConn(":memory:", false)
	require.NoError(t, err)
	defer c.close()
	stored := func(s string) (got, kind string) {
		_, err := c.one(func(r *rows) { got, kind = r.id(0), r.text(1) }, "SELECT ?1, typeof(?1)", uuidID(s))
		require.NoError(t, err)
		return got, kind
	}
	for s, kind := range map[string]string{
		"018f3c2a-0b1c-7def-8123-456789abcdef": "blob",
		"018F3C2A-0B1C-7DEF-8123-456789ABCDEF": "text",
		"018f3c2a-0b1c-7def-8123-456789abcdeg": "text",
		"018f3c2a00b1c-7def-8123-456789abcdef": "text",
		"":                                     "text",
		"sixteen bytes ok":                     "text",
	} {
		got, as := stored(s)
		require.Equal(t, s, got)
		require.Equal(t, kind, as, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)).Draw(t, "id")
		got, _ := stored(s)
		require.Equal(t, s, got)
	})
}

func TestUUIDsSortAsTheirTextDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringMatching(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		require.Equal(t, a < b, string(uuidID(a)) < string(uuidID(b)))
	})
}

func TestDigestsDoNotDependOnSpelling(t *testing.T) {
	t.Parallel()
	d := func(key, value string) int64 {
		v, ok := digest(7, key, json.RawMessage(value))
		require.True(t, ok, value)
		return v
	}
	require.Equal(t, d("k", `"ü"`), d("k", `"\u00fc"`))
	require.Equal(t, d("k", `"a"`), d("k", ` "a" `))
	require.NotEqual(t, d("k", `"1"`), d("k", `1`))
	require.NotEqual(t, d("k", `1`), d("l", `1`))
	other, _ := digest(8, "k", json.RawMessage("1"))
	require.NotEqual(t, d("k", `1`), other, "each database has digests of its own")
	for _, unindexed := range []string{"", "null", "{}", "[1]"} {
		_, ok := digest(7, "k", json.RawMessage(unindexed))
		require.False(t, ok, unindexed)
	}
}
