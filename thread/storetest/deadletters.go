package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

var deadLetterCases = []testCase{
	reviewCase("a delivery that is given up is kept, and can be tried again", func(e *reviewEnv) {
		begin := now()
		w := e.started()
		id := w.run.ThreadID
		var ids []string
		for range 2 {
			w := e.started()
			d := thread.Delivery{ID: newID(), ThreadID: w.run.ThreadID, RunID: w.run.ID, URL: "/u", Due: begin}
			w.finish(func(f *thread.Finish) { f.Webhook = &d })
			ids = append(ids, d.ID)
		}
		_, q := e.question(w, 1, func(d *thread.ReviewDraft) { d.Notify = []string{"/n"} })
		due := func() map[string]thread.Delivery {
			list, err := e.DueDeliveries(e.ctx, now().Add(time.Minute), 100)
			require.NoError(e, err)
			m := map[string]thread.Delivery{}
			for _, d := range list {
				m[d.ID] = d
			}
			return m
		}
		all := due()
		require.Len(e, all, 3)
		for did, d := range all {
			if d.ThreadID == id {
				require.Equal(e, thread.Delivery{ID: did, ThreadID: id, RunID: w.run.ID, URL: "/n", Due: d.Due, Event: thread.AuditRequested, InterruptID: q[0]}, d)
				ids = append(ids, did)
			}
		}
		require.NoError(e, e.RetryDelivery(e.ctx, ids[2], begin, "first"))
		for _, did := range ids {
			for at := now(); at.Equal(now()); { // each at a time of its own
			}
			require.NoError(e, e.FailDelivery(e.ctx, did, "gone"))
		}
		require.Empty(e, due(), "a dead one is never due")
		dead, err := e.DeadDeliveries(e.ctx, 10)
		require.NoError(e, err)
		require.Len(e, dead, 3)
		for i, d := range dead {
			require.Equal(e, ids[2-i], d.ID, "the last that died comes first")
			require.True(e, d.Dead)
			require.Equal(e, "gone", d.LastError)
			e.nearly(begin, d.Due)
		}
		require.Equal(e, 2, dead[0].Attempt)
		require.Equal(e, 1, dead[2].Attempt)
		require.Equal(e, q[0], dead[0].InterruptID)
		few, err := e.DeadDeliveries(e.ctx, 1)
		require.NoError(e, err)
		require.Equal(e, dead[:1], few)

		require.NoError(e, e.RetryDelivery(e.ctx, ids[0], begin, "by hand"))
		again := due()
		require.Len(e, again, 1)
		require.False(e, again[ids[0]].Dead)
		require.Equal(e, "by hand", again[ids[0]].LastError)
		require.NoError(e, e.FinishDelivery(e.ctx, ids[1]))
		require.NoError(e, e.FinishDelivery(e.ctx, ids[0]))
		dead, err = e.DeadDeliveries(e.ctx, 10)
		require.NoError(e, err)
		require.Len(e, dead, 1)
		require.ErrorIs(e, e.FailDelivery(e.ctx, ids[1], ""), thread.ErrNotFound)
	}),
	reviewCase("the thread of a stateless run waits for its deliveries, but not for dead ones", func(e *reviewEnv) {
		t := e.newThread(func(t *thread.Thread) { t.Temporary = true })
		w := e.claim(e.admit(t.ID).Run.ID)
		d := thread.Delivery{ID: newID(), ThreadID: t.ID, RunID: w.run.ID, URL: "/u", Due: now()}
		w.finish(func(f *thread.Finish) { f.Webhook, f.DropThread = &d, true })
		expired := func() []string {
			list, err := e.ExpiredThreads(e.ctx, now().Add(time.Minute), 10)
			require.NoError(e, err)
			return threadIDs(list)
		}
		require.Empty(e, expired())
		require.NoError(e, e.FailDelivery(e.ctx, d.ID, "gone"))
		require.Equal(e, []string{t.ID}, expired())
	}),
}
