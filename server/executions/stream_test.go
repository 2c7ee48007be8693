package executions_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// EX 4, invokeStream: tokens as text, each with an id, and what became of it at the end.
func TestTokensAreStreamed(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		a := c.with("X-Session-ID", "s").post(streamPath, say("talker", "hi")).is(http.StatusOK)
		require.Equal(t, "s", a.header.Get("X-Session-ID"))
		require.NotContains(t, a.body, "event:", "chunks are of one kind to SSE clients")
		list := chunks(t, strings.NewReader(a.body), 0)
		require.Equal(t, []string{"text", "text", "text", "completed"}, types(list))
		require.Equal(t, "one two three", said(list))
		last := list[3]
		require.Equal(t, "one two three", last["content"], "the response")
		id := last.text("execution_id")
		for i, chunk := range list {
			require.Equal(t, id, chunk["execution_id"])
			require.Equal(t, id+":"+string(rune('0'+i)), chunk.text("id"), "ids name the run and count")
			require.NotNil(t, chunk["metadata"])
		}
		require.NotEmpty(t, list[0].at("metadata")["message_id"])
		require.Equal(t, "completed", c.execution(id)["status"])
		again := c.with("Last-Event-ID", list[0].text("id")).stream("")
		require.Equal(t, list[1:], again, "the same chunks with the same ids")
	})
}

// EX 4: a client that lost its connection goes on behind the last chunk that it has had; nothing is invoked anew.
func TestAStreamGoesOnBehindItsLastChunk(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		ctx, cancel := context.WithCancel(t.Context())
		res := c.open(ctx, http.MethodPost, c.base+streamPath, say("talker", "gate a"))
		require.Equal(t, http.StatusOK, res.StatusCode)
		first := chunks(t, res.Body, 1)[0]
		require.Equal(t, "one ", first["content"])
		cancel()
		require.NoError(t, res.Body.Close())

		res = c.at(1).with("Last-Event-ID", first.text("id")).open(t.Context(), http.MethodPost, c.base+streamPath, "")
		require.Equal(t, http.StatusOK, res.StatusCode)
		w.effects.opened("gate a")
		rest := chunks(t, res.Body, 0)
		require.NoError(t, res.Body.Close())
		require.Equal(t, []string{"text", "text", "completed"}, types(rest))
		require.Equal(t, "two three", said(rest))
		require.Len(t, c.get("/executions").ok().list("executions"), 1)
		require.Empty(t, c.with("Last-Event-ID", rest[2].text("id")).stream(""), "nothing follows the last chunk")
	})
}

// EX 4: the stream ends at a suspension; behind that chunk it goes on as soon as somebody has decided.
func TestAStreamGoesOnBehindASuspension(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		list := c.stream(say("twice", "x"))
		require.Equal(t, []string{"suspended"}, types(list))
		asked := list[0]
		require.Equal(t, "A refund above the limit", asked["content"])
		m := asked.at("metadata")
		require.Equal(t, "A refund above the limit", m["suspend_reason"])
		require.Equal(t, "CLM-4821", m.at("suspend_context")["claim_id"])
		require.Equal(t, []any{"approve", "reject"}, m.at("suspend_context")["allowed_decisions"])
		require.Len(t, m.list("questions"), 1)
		id := asked.text("execution_id")
		require.Equal(t, c.execution(id)["suspend_context"], m["suspend_context"], "as the execution has it")

		res := c.at(1).with("Last-Event-ID", asked.text("id")).open(t.Context(), http.MethodPost, c.base+streamPath, "")
		require.Equal(t, http.StatusOK, res.StatusCode)
		c.resume(id, `{"decision":"approve"}`).ok()
		second := chunks(t, res.Body, 0)
		require.NoError(t, res.Body.Close())
		require.Equal(t, []string{"text", "suspended"}, types(second))
		require.Equal(t, "First approve.", said(second))
		require.NotEqual(t, asked.text("id"), second[1].text("id"))

		c.resume(id, `{"decision":"reject"}`).ok()
		c.becomes(id, "completed")
		third := c.with("Last-Event-ID", second[1].text("id")).stream("")
		require.Equal(t, []string{"text", "completed"}, types(third))
		require.Equal(t, "Second reject.", third[1]["content"])
	})
}

// EX 4: calls of tools are chunks of their own.
func TestToolCallsAreStreamed(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	list := c.stream(say("clerk", "look Ann"))
	var calls []chunk
	for _, chunk := range list {
		if chunk["chunk_type"] == "tool" {
			calls = append(calls, chunk)
		}
	}
	require.Len(t, calls, 2, list)
	started, finished := calls[0], calls[1]
	require.Equal(t, "look", started["content"])
	require.Equal(t, "started", started.at("metadata")["status"])
	require.Equal(t, "look", started.at("metadata")["name"])
	require.Equal(t, map[string]any{"to": "Ann"}, started.at("metadata")["input"])
	require.Equal(t, "finished", finished.at("metadata")["status"])
	require.Equal(t, "look done for Ann", finished["content"])
	require.Equal(t, started.at("metadata")["tool_call_id"], finished.at("metadata")["tool_call_id"])
	require.Equal(t, "All done: look done for Ann", list[len(list)-1]["content"])
}

// EX 4: what fails ends with error.
func TestAStreamOfAFailure(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	list := c.stream(say("fail", "x"))
	require.Equal(t, []string{"error"}, types(list))
	require.Equal(t, "The bank is closed.", list[0]["content"])
	require.Equal(t, "run_failed", list[0].at("metadata")["error_code"])
	require.Equal(t, "BankError", list[0].at("metadata")["name"])
}

// A stream begins at once, before the agent says anything, and one is cancelled for all who follow it.
func TestAStreamOfACancelledExecution(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody().with("X-Session-ID", "s")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res := c.open(ctx, http.MethodPost, c.base+streamPath, say("slow", "x"))
	require.Equal(t, http.StatusOK, res.StatusCode)
	c.until("it waits", func() bool { return w.effects.count("at node "+thread.SessionThread("default", "s")) == 1 })
	id := c.get("/executions").ok().list("executions")[0].text("execution_id")
	require.Equal(t, "aborted", c.post("/executions/"+id+"/interrupt", "{}").ok()["outcome"])
	list := chunks(t, res.Body, 0)
	require.NoError(t, res.Body.Close())
	require.Equal(t, []string{"error"}, types(list))
	require.Equal(t, "cancelled", list[0].at("metadata")["error_code"])
}

// What can't be gone on from is refused before the stream begins.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.stream(say("echo", "x"))[0].text("id")
	c.with("Last-Event-ID", "7").post(streamPath, "").field("INVALID_ATTRIBUTE", "Last-Event-ID")
	c.with("Last-Event-ID", "0190163d-8694-739b-aea5-966c26f8ad91:0").post(streamPath, "").code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	c.with("Last-Event-ID", id).post("/workspaces/other/invokeStream", "").code(http.StatusNotFound, "WORKSPACE_NOT_FOUND")
	c.post(streamPath, `{}`).field("MISSING_ATTRIBUTE", "message")
}

// A second attempt of a model call voids what the first one said (decisions 7).
func TestABrokenModelFailsTheExecution(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	list := c.stream(say("talker", "break"))
	require.Equal(t, "text", list[0]["chunk_type"])
	require.Equal(t, "error", list[len(list)-1]["chunk_type"])
	require.Contains(t, list[len(list)-1]["content"], "the model broke")
}
