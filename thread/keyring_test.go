package thread_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// key is a key of one byte, repeated.
func key(b byte) []byte { return bytes.Repeat([]byte{b}, thread.KeyBytes) }

func ring(t *testing.T, keys ...[]byte) *thread.Keyring {
	t.Helper()
	k, err := thread.NewKeyring(keys...)
	require.NoError(t, err)
	return k
}

func TestKeyringsAreReadFromTexts(t *testing.T) {
	t.Parallel()
	one, two := base64.StdEncoding.EncodeToString(key(0xfb)), hex.EncodeToString(key(2))
	for _, good := range []string{
		one, two, one + "\n", one + "\n" + two, one + "," + two, "# first\n" + one + " # of November\n\n" + two + "\r\n",
		strings.TrimRight(one, "="), base64.URLEncoding.EncodeToString(key(0xfb)),
	} {
		_, err := thread.ParseKeyring(good)
		require.NoError(t, err, good)
	}
	for bad, why := range map[string]string{
		"":                                  "no key",
		"# none":                            "no key",
		"secret!":                           "key 1 is neither base64 nor hex",
		one + "\nc2hvcnQ=":                  "key 2 has 5 bytes, want 32",
		one + "\n" + two + "," + one:        "key 3 is there twice",
		hex.EncodeToString(key(1)) + "0101": "key 1 has 34 bytes, want 32",
	} {
		_, err := thread.ParseKeyring(bad)
		require.EqualError(t, err, why)
	}
}

// vault notes in the world what agent.Header gives it, before and after it asks.
func vault(w *world) agent.Agent {
	look := func(when string) func(agent.Context, desk) (agent.Update, error) {
		return func(ctx agent.Context, _ desk) (agent.Update, error) {
			w.effect(when + ctx.ThreadID() + " " + agent.Header(ctx, "CRM-Token"))
			return agent.Values{}, nil
		}
	}
	return agent.NewGraph[desk]("vault").
		Node("before", look("before ")).
		Node("ask", func(ctx agent.Context, _ desk) (agent.Update, error) {
			got, err := agent.Interrupt[json.RawMessage](ctx, "go on?")
			return agent.Set("got", got), err
		}).
		Node("after", look("after ")).
		Edge(agent.Start, "before").Edge("before", "ask").Edge("ask", "after").Edge("after", agent.End)
}

func withKeys(k *thread.Keyring) setupOption {
	return with(func(o *thread.Options) { o.ContextKeys = k })
}

const token = "tok-4711-secret"

func invocation(session string) thread.Invocation {
	return thread.Invocation{
		Session: session, Agent: "vault", Input: json.RawMessage(`{}`), SealedContext: map[string]string{"crm-TOKEN": token}, Run: thread.StartRun{Principal: "alice"},
	}
}

// D-75: what was sealed reaches every run of the execution, whichever API resumes it; headers of a request win; others have none of it.
func TestTheSealedContextIsThereBehindASuspension(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := reviewers(t, []agent.Agent{vault(w)}, withKeys(ring(t, key(1))), func(o *setupOptions) { o.world = w })
	ctx := context.Background()
	suspended := func() thread.Execution {
		e, _, err := b.svc.Invoke(ctx, invocation(""))
		require.NoError(t, err)
		e, err = b.svc.Await(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, thread.ExecutionSuspended, e.Status)
		require.Equal(t, 1, w.count("before "+e.ThreadID+" "+token))
		return e
	}
	e := suspended()
	b.run(resume(e.ThreadID, "vault", `"yes"`))
	require.Equal(t, 1, w.count("after "+e.ThreadID+" "+token), "the classic API")
	e = suspended()
	b.decide(as("rita"), e.Open()[0].ID, "yes", "")
	require.Equal(t, 1, w.count("after "+e.ThreadID+" "+token), "the reviews API")
	e = suspended()
	_, _, err := b.svc.ResumeExecution(as("rita"), thread.ExecutionDecision{ExecutionID: e.ID, Decision: "yes",
		Run: thread.StartRun{CustomHeaders: map[string]string{"Crm-Token": "newer"}}})
	require.NoError(t, err)
	e, err = b.svc.Await(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, w.count("after "+e.ThreadID+" newer"), "what the request sends wins")
	for _, run := range e.Runs {
		raw, err := json.Marshal(run)
		require.NoError(t, err)
		require.NotContains(t, string(raw), token)
	}
	next := b.run(input(e.ThreadID, "vault", `{}`))
	require.Equal(t, thread.RunSuccess, next.Status)
	require.Equal(t, 1, w.count("before "+e.ThreadID+" "), "the next invocation has none of it")
}

// Without its key nothing is answered, and a run that was begun elsewhere fails and says why; with it all goes on.
func TestAWrongKeyFailsClearly(t *testing.T) {
	t.Parallel()
	w := newWorld()
	agents, ctx := []agent.Agent{vault(w)}, context.Background()
	first := reviewers(t, agents, withKeys(ring(t, key(1))), func(o *setupOptions) { o.world = w })
	e, _, err := first.svc.Invoke(ctx, invocation("s"))
	require.NoError(t, err)
	e, err = first.svc.Await(ctx, e.ID)
	require.NoError(t, err)
	first.stop()

	var unreadable *thread.SealedContextError
	for _, k := range []*thread.Keyring{ring(t, key(2)), nil} {
		b := reviewers(t, agents, sharing(first), withKeys(k))
		_, err = b.svc.StartRun(ctx, resume(e.ThreadID, "vault", `"yes"`))
		require.ErrorAs(t, err, &unreadable)
		require.ErrorContains(t, err, "doesn't have the key")
		_, _, err = b.svc.DecideReview(as("rita"), thread.ReviewDecision{ReviewID: e.Open()[0].ID, Decision: "yes"})
		require.ErrorAs(t, err, &unreadable)
		require.Len(t, b.pending(e.ThreadID), 1, "the question stays open")
		b.stop()
	}
	rotated := reviewers(t, agents, sharing(first), withKeys(ring(t, key(2), key(1))))
	rotated.run(resume(e.ThreadID, "vault", `"yes"`))
	require.Equal(t, 1, w.count("after "+e.ThreadID+" "+token), "any of the keys opens")
	rotated.stop()

	idle := reviewers(t, agents, sharing(first), withKeys(ring(t, key(2), key(1))), notStarted())
	queued, _, err := idle.svc.Invoke(ctx, invocation("t"))
	require.NoError(t, err)
	wrong := reviewers(t, agents, sharing(first), withKeys(ring(t, key(1))))
	queued, err = wrong.svc.Await(ctx, queued.ID)
	require.NoError(t, err)
	require.Equal(t, thread.ExecutionError, queued.Status, "the first key seals")
	require.Contains(t, queued.Error, "doesn't have the key")
	require.Zero(t, w.count("before "+queued.ThreadID+" "))
}

func TestWhatWasSealedIsGoodForItsExecutionOnly(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := reviewers(t, []agent.Agent{vault(w)}, withKeys(ring(t, key(1))), func(o *setupOptions) { o.world = w })
	run := func(session string) thread.Run {
		e, _, err := b.svc.Invoke(t.Context(), invocation(session))
		require.NoError(t, err)
		e, err = b.svc.Await(t.Context(), e.ID)
		require.NoError(t, err)
		return e.Runs[0]
	}
	one, two := run("one"), run("two")
	require.NotEqual(t, one.Kwargs.SealedContext, two.Kwargs.SealedContext)
	open := func(r thread.Run) error { _, err := b.svc.Unsealed(r); return err }
	require.NoError(t, open(one))
	for what, change := range map[string]func(r *thread.Run){
		"another run's":     func(r *thread.Run) { r.Kwargs.SealedContext = two.Kwargs.SealedContext },
		"another thread":    func(r *thread.Run) { r.ThreadID = two.ThreadID },
		"another execution": func(r *thread.Run) { r.ExecutionID = two.ExecutionID },
		"a changed byte": func(r *thread.Run) {
			r.Kwargs.SealedContext = bytes.Clone(one.Kwargs.SealedContext)
			r.Kwargs.SealedContext[len(r.Kwargs.SealedContext)-1] ^= 1
		},
		"another version": func(r *thread.Run) {
			r.Kwargs.SealedContext = append([]byte{9}, one.Kwargs.SealedContext[1:]...)
		},
		"cut": func(r *thread.Run) { r.Kwargs.SealedContext = one.Kwargs.SealedContext[:3] },
	} {
		changed := one
		change(&changed)
		var unreadable *thread.SealedContextError
		require.ErrorAs(t, open(changed), &unreadable, what)
		require.NotContains(t, open(changed).Error(), token)
	}
}

func TestValuesThatCantBeSealedAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := reviewers(t, []agent.Agent{vault(w)}, withKeys(ring(t, key(1))), func(o *setupOptions) { o.world = w })
	without := reviewers(t, []agent.Agent{vault(w)}, sharing(b))
	many := map[string]string{}
	for i := range thread.MostSealed + 1 {
		many["n"+strings.Repeat("x", i)] = ""
	}
	refused := func(b *bundle, values map[string]string, path ...string) {
		t.Helper()
		i := invocation("")
		i.SealedContext = values
		_, _, err := b.svc.Invoke(t.Context(), i)
		var invalid *thread.InvalidInputError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, path, invalid.Path)
		require.NotContains(t, err.Error(), token)
	}
	refused(without, map[string]string{"a": token}, "sealed_context")
	refused(b, many, "sealed_context")
	refused(b, map[string]string{"a b": token}, "sealed_context")
	refused(b, map[string]string{"": token}, "sealed_context")
	refused(b, map[string]string{"a": token, "A": token}, "sealed_context", "a")
	refused(b, map[string]string{"a": token + strings.Repeat("x", thread.LongestSealed)}, "sealed_context", "a")
}
