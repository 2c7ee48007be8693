package reviews_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// bent is a store whose audit log somebody has been at.
type bent struct {
	*local.Store
	project, thread func([]thread.AuditEntry) []thread.AuditEntry
	late            []thread.AuditEntry
	failAfter       atomic.Int64 // no entry behind that Seq can be read
}

func bentStore(t *testing.T) *bent {
	t.Helper()
	s, err := local.Open(t.Context(), local.Options{Ephemeral: true})
	require.NoError(t, err)
	same := func(list []thread.AuditEntry) []thread.AuditEntry { return list }
	b := &bent{Store: s, project: same, thread: same}
	b.failAfter.Store(math.MaxInt64)
	return b
}

func (b *bent) options() server.Options { return server.Options{Store: b} }

func auditNote(text string) thread.AuditBody {
	return thread.AuditBody{Action: thread.AuditPolicy, Actor: thread.Actor{Kind: "system"}, Notes: text}
}

var errBroken = errors.New("the disk is broken")

func (b *bent) ProjectAudit(ctx context.Context, project string, after int64, limit int) ([]thread.AuditEntry, error) {
	if after >= b.failAfter.Load() {
		return nil, errBroken
	}
	list, err := b.Store.ProjectAudit(ctx, project, 0, math.MaxInt32)
	list = slices.DeleteFunc(b.project(slices.Clone(list)), func(e thread.AuditEntry) bool { return e.Seq <= after })
	return list[:min(limit, len(list))], err
}

func (b *bent) ThreadAudit(ctx context.Context, id string) ([]thread.AuditEntry, error) {
	list, err := b.Store.ThreadAudit(ctx, id)
	return b.thread(slices.Clone(list)), err
}

func (b *bent) Unsealed(context.Context, time.Time, int) ([]thread.AuditEntry, error) {
	return b.late, nil
}

// Verification finds what was changed, left out, exchanged or kept back, and says where it begins.
func TestVerificationFindsTheFirstBadEntry(t *testing.T) {
	t.Parallel()
	forge := func(e *thread.AuditEntry) { e.Body = []byte(strings.Replace(string(e.Body), "Approve", "Reject", 1)) }
	rehash := func(e *thread.AuditEntry) { e.Hash = thread.AuditHash(e.Prev, e.ThreadSeq, e.At, e.Body) }
	reseal := func(list []thread.AuditEntry, from int) {
		for i := from; i < len(list); i++ {
			list[i].Seal = thread.AuditSeal(list[i-1].Seal, list[i].Seq, list[i].ThreadID, list[i].Hash)
		}
	}
	type entries = []thread.AuditEntry
	const decided = 4 // index of the decision, after two keys and two requests
	for name, c := range map[string]struct {
		project, thread func(entries) entries
		seq             int64
		problem         string
	}{
		"as it is":      {},
		"a body":        {project: func(l entries) entries { forge(&l[decided]); return l }, seq: 5, problem: "its hash is wrong"},
		"body and hash": {project: func(l entries) entries { forge(&l[decided]); rehash(&l[decided]); return l }, seq: 5, problem: "its seal is wrong"},
		"all of the chain": {project: func(l entries) entries { forge(&l[decided]); rehash(&l[decided]); reseal(l, decided); return l },
			seq: 5, problem: "its thread has another one in its place"},
		"an entry left out":   {project: func(l entries) entries { return slices.Delete(l, 3, 4) }, seq: 5, problem: "it comes behind entry 3"},
		"the end left out":    {project: func(l entries) entries { return l[:4] }, seq: 5, problem: "it is missing"},
		"entries exchanged":   {project: func(l entries) entries { l[2], l[3] = l[3], l[2]; return l }, seq: 4, problem: "it comes behind entry 2"},
		"a thread's body":     {thread: func(l entries) entries { forge(&l[len(l)-1]); return l }, seq: 5, problem: "its hash is wrong"},
		"a thread's end":      {thread: func(l entries) entries { return l[:1] }, seq: 5, problem: "its thread doesn't have it"},
		"a thread's own copy": {thread: func(l entries) entries { forge(&l[len(l)-1]); rehash(&l[len(l)-1]); return l }, seq: 5, problem: "its thread has another one in its place"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := bentStore(t)
			w := empty(t)
			w.start(server.Options{Store: store}, []func(*server.Options){withoutPolicies})
			op, owner := w.person("op", auth.RoleOperator), w.person("owner", auth.RoleOwner)
			_, id := op.question("refund", "Refund")
			op.question("plain", "?")
			owner.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok()
			op.idle(w.thread(id))
			if c.project != nil {
				store.project = c.project
			}
			if c.thread != nil {
				store.thread = func(l entries) entries {
					if len(l) < 2 {
						return l
					}
					return c.thread(l)
				}
			}
			got := owner.get("/audit/verify").ok()
			require.Equal(t, c.problem == "", got["valid"], got)
			if c.problem == "" {
				require.EqualValues(t, 5, got["entries"])
				require.EqualValues(t, 2, got["threads"])
				require.Nil(t, got["problem"])
				return
			}
			require.EqualValues(t, c.seq, got.at("problem")["seq"], got)
			require.Contains(t, got.at("problem")["problem"], c.problem)
			require.Contains(t, got.at("problem")["detail"], "audit entry")
		})
	}
}

// thread is that of a review.
func (w *world) thread(reviewID string) string {
	w.t.Helper()
	r, err := w.servers[0].Service().Review(w.t.Context(), reviewID)
	require.NoError(w.t, err)
	return r.ThreadID
}

// Whoever kept a seal finds out whether the log was written anew since.
func TestVerificationAgainstAnEarlierSeal(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, owner, _, _ := w.staff()
		op.question("refund", "Refund")
		owner.get("/audit").ok() // seals
		last := owner.get("/audit/verify").ok().at("last")
		anchor := fmt.Sprintf("seq=%v&seal=%s", last["seq"], last["seal"])
		op.question("refund", "Another")
		require.Equal(t, true, owner.at(1).get("/audit/verify?" + anchor).ok()["valid"])
		other := owner.get(fmt.Sprintf("/audit/verify?seq=%v&seal=%s", last["seq"], strings.Repeat("0", 64))).ok()
		require.Equal(t, false, other["valid"])
		require.Equal(t, last["seq"], other.at("problem")["seq"])
		gone := owner.get("/audit/verify?seq=1000&seal=" + last.text("seal")).ok()
		require.Equal(t, false, gone["valid"])
		require.Contains(t, gone.at("problem")["problem"], "missing")
		owner.get("/audit/verify?seq=1").field(400, "seal")
		owner.get("/audit/verify?seal="+last.text("seal")).field(400, "seq")
		require.Contains(t, owner.get("/audit/verify?seq=1&seal=bad").field(400, "seal").text("detail"), "malformed", "both were given")
		owner.get("/audit/verify?seq=1&seal="+strings.Repeat("x", 64)).field(400, "seal")
		owner.get("/audit/verify?seq=0&seal="+last.text("seal")).field(400, "seq")
	})
}

// An entry that was kept out of the project's chain for over a minute is a fault (decisions 4).
func TestVerificationFindsWhatWasNeverSealed(t *testing.T) {
	t.Parallel()
	store := bentStore(t)
	w := empty(t)
	w.start(server.Options{Store: store}, nil)
	owner := w.person("owner", auth.RoleOwner)
	threadID, _ := owner.question("refund", "Refund")
	list, err := store.ThreadAudit(t.Context(), threadID)
	require.NoError(t, err)
	store.late = list // sealed meanwhile: no fault
	require.Equal(t, true, owner.get("/audit/verify").ok()["valid"])
	next := list[0]
	next.ThreadSeq++
	foreign := next
	foreign.Project = "other"
	store.late = []thread.AuditEntry{foreign}
	require.Equal(t, true, owner.get("/audit/verify").ok()["valid"], "each project has a chain of its own")
	store.late = []thread.AuditEntry{next}
	got := owner.get("/audit/verify").ok()
	require.Equal(t, false, got["valid"])
	require.Contains(t, got.at("problem")["problem"], "not sealed")
	require.EqualValues(t, 2, got.at("problem")["thread_seq"])
}
