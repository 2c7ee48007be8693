package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// suspended is a thread whose nodes b and c ask: b the questions 1 (answered)
// and 2, c the questions given.
func suspended(t *testing.T, opts ...GraphOption) *history {
	h := newHistory(t, flowGraph(t, opts...))
	h.edit(Edit{AsNode: "a", Values: raw(`{"n":1,"messages":[{"type":"human","id":"m1","content":"hi"}]}`)})
	h.ask("b", 1, qid("1"), qid("2"))
	return h
}

func (h *history) check(wire string, pending ...InterruptInfo) (*ResumePlan, error) {
	h.t.Helper()
	cmd, err := ParseCommand(raw(wire))
	require.NoError(h.t, err)
	return h.g.CheckCommand(h.t.Context(), ResumeRequest{
		Head: h.head(), Pending: pending, Command: *cmd, Reader: historyReader{h}, Clock: h, IDs: h,
	})
}

func question(id string) InterruptInfo { return InterruptInfo{ID: qid(id), Value: raw(`"?"`)} }

// Every row of decisions 8 that the runtime decides.
func TestResumeRefusalsFollowTheTable(t *testing.T) {
	t.Parallel()
	checked := question("4")
	checked.ResponseSchema = raw(decisionSchema)
	two := []InterruptInfo{question("2"), question("3")}
	for name, tc := range map[string]struct {
		wire    string
		pending []InterruptInfo
		code    string
		ids     []string
	}{
		"nothing pending":                {`{"resume":"x"}`, nil, NothingPending, nil},
		"id, nothing pending":            {`{"resume":{"` + qid("2") + `":1}}`, nil, InterruptNotPending, []string{qid("2")}},
		"id of an earlier question":      {`{"resume":{"` + qid("1") + `":1}}`, two, InterruptNotPending, []string{qid("1")}},
		"one of the ids isn't pending":   {`{"resume":{"` + qid("2") + `":1,"` + qid("9") + `":1,"` + qid("8") + `":1}}`, two, InterruptNotPending, []string{qid("8"), qid("9")}},
		"plain answer, several pending":  {`{"resume":"x"}`, two, AmbiguousResume, []string{qid("2"), qid("3")}},
		"other keys make it plain":       {`{"resume":{"` + qid("2") + `":1,"note":2}}`, two, AmbiguousResume, []string{qid("2"), qid("3")}},
		"upper case isn't an id":         {`{"resume":{"ABCDEF00000000000000000000000000":1}}`, two, AmbiguousResume, []string{qid("2"), qid("3")}},
		"answer fails its schema":        {`{"resume":{"type":"maybe"}}`, []InterruptInfo{checked}, InvalidAnswer, []string{qid("4")}},
		"one of two answers fails":       {`{"resume":{"` + qid("2") + `":1,"` + qid("4") + `":1}}`, []InterruptInfo{question("2"), checked}, InvalidAnswer, []string{qid("4")}},
		"null by id against a schema":    {`{"resume":{"` + qid("4") + `":null}}`, []InterruptInfo{checked}, InvalidAnswer, []string{qid("4")}},
		"a key twice":                    {`{"resume":{"type":"reject","type":"approve"}}`, []InterruptInfo{checked}, InvalidAnswer, []string{qid("4")}},
		"a key twice, by id":             {`{"resume":{"` + qid("4") + `":{"a":[{"x":1,"x":2}]}}}`, []InterruptInfo{checked}, InvalidAnswer, []string{qid("4")}},
		"an id twice":                    {`{"resume":{"` + qid("4") + `":{"type":"reject"},"` + qid("4") + `":{"type":"approve"}}}`, []InterruptInfo{checked}, InvalidAnswer, []string{qid("4")}},
		"plain null":                     {`{"resume":null}`, two[:1], EmptyCommand, nil},
		"empty command":                  {`{}`, two[:1], EmptyCommand, nil},
		"empty command, nothing pending": {`{"update":{},"goto":[]}`, nil, EmptyCommand, nil},
	} {
		plan, err := suspended(t).check(tc.wire, tc.pending...)
		var refusal *ResumeError
		require.ErrorAs(t, err, &refusal, name)
		require.Nil(t, plan, name)
		require.Equal(t, tc.code, refusal.Code, name)
		require.Equal(t, tc.ids, refusal.IDs, name)
		require.Equal(t, tc.pending, refusal.Pending, name)
		require.NotEmpty(t, refusal.Message, name)
		require.Equal(t, tc.code == InvalidAnswer, len(refusal.Issues) > 0, name)
		for _, issue := range refusal.Issues {
			require.Equal(t, qid("4"), issue.InterruptID, name)
		}
	}
}

func TestAcceptedAnswersComeInTheOrderOfTheQuestions(t *testing.T) {
	t.Parallel()
	two := []InterruptInfo{question("2"), question("3")}
	for name, tc := range map[string]struct {
		wire    string
		pending []InterruptInfo
		want    map[string]string
	}{
		"plain, one pending":      {`{"resume":"yes"}`, two[:1], map[string]string{qid("2"): `"yes"`}},
		"falsy":                   {`{"resume":false}`, two[:1], map[string]string{qid("2"): `false`}},
		"empty object is plain":   {`{"resume":{}}`, two[:1], map[string]string{qid("2"): `{}`}},
		"all by id":               {`{"resume":{"` + qid("3") + `":3,"` + qid("2") + `":2}}`, two, map[string]string{qid("2"): `2`, qid("3"): `3`}},
		"part of the ids":         {`{"resume":{"` + qid("3") + `":3}}`, two, map[string]string{qid("3"): `3`}},
		"null by id is an answer": {`{"resume":{"` + qid("2") + `":null}}`, two, map[string]string{qid("2"): `null`}},
	} {
		h := suspended(t)
		plan, err := h.check(tc.wire, tc.pending...)
		require.NoError(t, err, name)
		require.Nil(t, plan.Writes, name)
		require.True(t, plan.Command.HasResume, name)
		got := map[string]string{}
		for i, a := range plan.Answers {
			got[a.InterruptID] = string(a.Value)
			require.Equal(t, h.now, a.At, name)
			require.True(t, i == 0 || plan.Answers[i-1].InterruptID < a.InterruptID, name)
		}
		require.Equal(t, tc.want, got, name)
	}
}

func TestInvalidCommandsSayAllThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wire string
		opts []GraphOption
		want []string
	}{
		"goto an unknown node": {`{"resume":1,"goto":["x","nowhere"]}`, nil, []string{`"nowhere" is not a node`}},
		"Send to an unknown":   {`{"goto":{"node":"nowhere","input":1}}`, nil, []string{`"nowhere" is not a node`}},
		"Send to the end":      {`{"goto":{"node":"__end__","input":1}}`, nil, []string{`"__end__" is not a node`}},
		"goto the entry":       {`{"goto":"__start__"}`, nil, []string{`"__start__" is not a node`}},
		"parent":               {`{"resume":1,"graph":"PARENT"}`, nil, []string{"parent graph"}},
		"two values":           {`{"update":[["n",1],["n",2]]}`, nil, []string{"LastValue can only receive one value"}},
		"unknown message":      {`{"resume":1,"update":{"messages":{"type":"remove","id":"gone"}}}`, nil, []string{"gone"}},
		"no message":           {`{"update":{"messages":[{"role":"wizard","content":""}]}}`, nil, []string{"wizard"}},
		"wrong type":           {`{"resume":1,"update":{"n":"many"}}`, nil, []string{`state key "n"`}},
		"unknown key, strict":  {`{"update":{"nope":1}}`, []GraphOption{Strict()}, []string{"nope"}},
		"two problems":         {`{"goto":"nowhere","update":{"messages":3}}`, nil, []string{"messages", "nowhere"}},
	} {
		plan, err := suspended(t, tc.opts...).check(tc.wire, question("2"))
		var invalid *InvalidCommandError
		require.ErrorAs(t, err, &invalid, name)
		require.Nil(t, plan, name)
		require.Len(t, invalid.Problems, len(tc.want), name)
		for i, want := range tc.want {
			require.Contains(t, invalid.Problems[i], want, name)
		}
	}
}

func TestResumeWithUpdateAndGotoIsOneRecordOnTheHead(t *testing.T) {
	t.Parallel()
	h := suspended(t)
	plan, err := h.check(`{"resume":"yes","update":{"nope":1,"n":5,"messages":["card",{"type":"ai","id":"kept","content":"x"}]},"goto":["x","__end__",{"node":"x","input":{"k":1}}]}`, question("2"))
	require.NoError(t, err)
	require.Equal(t, []string{`update: dropped "nope", which is no state key`}, plan.Warnings)
	rec := plan.Writes
	require.Equal(t, h.head().Checkpoint.ID, rec.CheckpointID)
	require.Equal(t, NullTask, rec.TaskID)
	require.Equal(t, TaskDone, rec.Status)
	channels := []string{}
	for _, w := range rec.Writes {
		channels = append(channels, w.Channel)
	}
	require.Equal(t, []string{"branch:to:x", pregelTasks, "n", "messages"}, channels)

	var messages []map[string]any
	require.NoError(t, json.Unmarshal(rec.Writes[3].Value, &messages))
	require.Len(t, messages, 2)
	require.NotEmpty(t, messages[0]["id"], "ids are assigned once, before the record is stored")
	require.Equal(t, "kept", messages[1]["id"])

	h.head().Tasks = append(h.head().Tasks, *rec)
	s := h.snapshot(true)
	require.Equal(t, []string{"x", "b", "c", "x"}, s.Next, "goto targets run beside what is pending")
	require.Equal(t, 3, s.State.Messages()["messages"].Len())
	again := h.snapshot(false)
	require.JSONEq(t, string(s.State.JSON()), string(again.State.JSON()), "every read shows the same ids")
}

func TestSecondResumeOfAHeadKeepsWhatTheFirstWrote(t *testing.T) {
	t.Parallel()
	h := suspended(t)
	first, err := h.check(`{"resume":{"`+qid("2")+`":1},"update":{"n":5,"out":["one"]},"goto":"x"}`, question("2"), question("3"))
	require.NoError(t, err)
	h.head().Tasks = append(h.head().Tasks, *first.Writes)

	second, err := h.check(`{"resume":1,"update":{"n":6,"out":["two"]}}`, question("3"))
	require.NoError(t, err)
	require.Equal(t, []Write{
		{"branch:to:x", raw("null")}, {"out", raw(`["one"]`)}, {"n", raw("6")}, {"out", raw(`["two"]`)},
	}, second.Writes.Writes, "a key with one value takes the newest, the rest adds up")

	third, err := h.check(`{"resume":1}`, question("3"))
	require.NoError(t, err)
	require.Nil(t, third.Writes, "nothing new: the stored record stays")
}

func TestCommandWithoutAnswerIsLeftToTheRun(t *testing.T) {
	t.Parallel()
	for _, pending := range [][]InterruptInfo{nil, {question("2")}, {question("2"), question("3")}} {
		plan, err := suspended(t).check(`{"resume":null,"update":{"messages":"hello","nope":1},"goto":["x"]}`, pending...)
		require.NoError(t, err)
		require.Empty(t, plan.Answers)
		require.Nil(t, plan.Writes)
		require.False(t, plan.Command.HasResume)
		require.Equal(t, []Target{{Node: "x"}}, plan.Command.Goto)
		require.Len(t, plan.Command.Update, 1, "unknown keys are dropped")
		require.Contains(t, string(plan.Command.Update[0].Value), `"id":"`, "the run finds the messages with their ids")
	}
	h := newHistory(t, flowGraph(t))
	_, err := h.check(`{"update":{"n":1}}`)
	require.NoError(t, err, "an empty thread takes an update, too")
}

func TestInputIsCheckedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	h := newHistory(t, flowGraph(t))
	in, warnings, err := h.g.CheckInput(t.Context(), raw(`{"n":1,"secret":"s","zzz":2,"out":["a"],
		"messages":[{"type":"human","id":"kept","content":"x","additional_kwargs":{},"response_metadata":{}},["user","hi"]]}`), h)
	require.NoError(t, err)
	require.Equal(t, []string{`input: dropped "secret", which is no state key`, `input: dropped "zzz", which is no state key`}, warnings)
	var got struct {
		N        int
		Out      []string
		Messages []struct{ ID, Type string }
	}
	require.NoError(t, json.Unmarshal(in, &got))
	require.Equal(t, 1, got.N)
	require.Equal(t, []string{"a"}, got.Out)
	require.Len(t, got.Messages, 2)
	require.Equal(t, "kept", got.Messages[0].ID)
	require.NotEmpty(t, got.Messages[1].ID)
	again, _, err := h.g.CheckInput(t.Context(), in, h)
	require.NoError(t, err)
	require.Equal(t, string(in), string(again), "checked input isn't changed again")

	in, _, err = h.g.CheckInput(t.Context(), raw(`{"messages":[{"type":"human","id":"m","content":"x"}]}`), h)
	require.NoError(t, err)
	require.Equal(t, `{"messages":[{"type":"human","id":"m","content":"x"}]}`, string(in), "what has its ids is kept to the byte")

	for _, null := range []string{"", "null"} {
		in, warnings, err = h.g.CheckInput(t.Context(), raw(null), h)
		require.NoError(t, err)
		require.Nil(t, in)
		require.Nil(t, warnings)
	}
	in, _, err = h.g.CheckInput(t.Context(), raw(`{"messages":{"type":"remove","id":"old"}}`), h)
	require.NoError(t, err, "the message may be in the thread")
	require.Contains(t, string(in), `"old"`)
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	strict := flowGraph(t, Strict())
	for name, tc := range map[string]struct {
		g     *Graph
		input string
	}{
		"no object":   {flowGraph(t), `["hi"]`},
		"wrong type":  {flowGraph(t), `{"n":"many"}`},
		"no message":  {flowGraph(t), `{"messages":[{"type":"odd"}]}`},
		"unknown key": {strict, `{"zzz":1}`},
	} {
		h := newHistory(t, tc.g)
		_, _, err := tc.g.CheckInput(t.Context(), raw(tc.input), h)
		var invalid *InvalidUpdateError
		require.ErrorAs(t, err, &invalid, name)
	}
}
