package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// newCron stores a cron.
func (e *env) newCron(change ...func(*thread.Cron)) thread.Cron {
	e.Helper()
	c := thread.Cron{ID: newID(), AssistantID: "a", Schedule: "* * * * *", Enabled: true, Payload: raw(`{"input":1}`),
		Metadata: thread.Metadata{}, NextRun: now().Add(time.Minute), CreatedAt: now(), UpdatedAt: now()}
	for _, f := range change {
		f(&c)
	}
	require.NoError(e, e.PutCron(e.ctx, c))
	return c
}

func cronIDs(list []thread.Cron) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

var cronCases = []testCase{
	{"a cron reads back as it was stored", func(e *env) {
		c := e.newCron(func(c *thread.Cron) {
			c.ThreadID, c.Timezone, c.OnRunCompleted, c.UserID = newID(), "Europe/Vienna", "keep", "ann"
			c.EndTime = now().Add(time.Hour)
			c.Metadata = thread.Metadata{"m": raw("1")}
		})
		got, err := e.GetCron(e.ctx, c.ID)
		require.NoError(e, err)
		require.True(e, c.NextRun.Equal(got.NextRun))
		require.True(e, c.EndTime.Equal(got.EndTime))
		got.NextRun, got.EndTime, got.CreatedAt, got.UpdatedAt = c.NextRun, c.EndTime, c.CreatedAt, c.UpdatedAt
		require.Equal(e, c, got)
		c.Schedule, c.Enabled = "0 0 * * *", false
		require.NoError(e, e.PutCron(e.ctx, c))
		got, err = e.GetCron(e.ctx, c.ID)
		require.NoError(e, err)
		require.Equal(e, c.Schedule, got.Schedule)
		require.False(e, got.Enabled)
		require.NoError(e, e.DeleteCron(e.ctx, c.ID))
		require.ErrorIs(e, e.DeleteCron(e.ctx, c.ID), thread.ErrNotFound)
		_, err = e.GetCron(e.ctx, c.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"a firing happens once", func(e *env) {
		c := e.newCron()
		next := c.NextRun.Add(time.Minute)
		for i := range 3 {
			fired, err := e.FireCron(e.ctx, c.ID, c.NextRun, next)
			require.NoError(e, err)
			require.Equal(e, i == 0, fired)
		}
		got, err := e.GetCron(e.ctx, c.ID)
		require.NoError(e, err)
		require.True(e, next.Equal(got.NextRun))
		fired, err := e.FireCron(e.ctx, newID(), next, next)
		require.NoError(e, err)
		require.False(e, fired)
		off := e.newCron(func(c *thread.Cron) { c.Enabled = false })
		fired, err = e.FireCron(e.ctx, off.ID, off.NextRun, next)
		require.NoError(e, err)
		require.False(e, fired, "a disabled cron doesn't fire")
	}},
	{"search", func(e *env) {
		base := now()
		var ids []string
		for i := range 4 {
			ids = append(ids, e.newCron(func(c *thread.Cron) {
				c.AssistantID = []string{"a", "b"}[i%2]
				c.ThreadID = []string{"", "t"}[i/2]
				c.Enabled = i != 3
				c.CreatedAt = base.Add(time.Duration(i) * time.Second)
				c.NextRun = base.Add(time.Duration(-i) * time.Minute)
				c.Metadata = thread.Metadata{"i": raw("%d", i)}
			}).ID)
		}
		yes := true
		for _, c := range []struct {
			q    thread.CronQuery
			want []string
		}{
			{thread.CronQuery{}, reversed(ids)},
			{thread.CronQuery{SortAsc: true}, ids},
			{thread.CronQuery{SortBy: "next_run_date", SortAsc: true}, reversed(ids)},
			{thread.CronQuery{AssistantID: "a"}, []string{ids[2], ids[0]}},
			{thread.CronQuery{ThreadID: "t"}, []string{ids[3], ids[2]}},
			{thread.CronQuery{Enabled: &yes}, []string{ids[2], ids[1], ids[0]}},
			{thread.CronQuery{Metadata: thread.Metadata{"i": raw("1")}}, []string{ids[1]}},
			{thread.CronQuery{DueBefore: base.Add(-90 * time.Second), Enabled: &yes}, []string{ids[2]}},
		} {
			list, total, err := e.SearchCrons(e.ctx, c.q)
			require.NoError(e, err)
			require.Equal(e, len(c.want), total)
			require.Equal(e, c.want, cronIDs(list), "%+v", c.q)
		}
		list, total, err := e.SearchCrons(e.ctx, thread.CronQuery{Limit: 2, Offset: 1})
		require.NoError(e, err)
		require.Equal(e, 4, total)
		require.Equal(e, []string{ids[2], ids[1]}, cronIDs(list))
	}},
}

var outboxCases = []testCase{
	{"deliveries come when they are due and stay until they are done", func(e *env) {
		var ids []string
		base := now()
		for i := range 3 {
			w := e.started()
			d := thread.Delivery{ID: newID(), ThreadID: w.run.ThreadID, RunID: w.run.ID, URL: "/u", Due: base.Add(time.Duration(i) * time.Minute)}
			ids = append(ids, d.ID)
			w.finish(func(f *thread.Finish) { f.Webhook = &d })
		}
		due := func(at time.Time, limit int) (got []string) {
			list, err := e.DueDeliveries(e.ctx, at, limit)
			require.NoError(e, err)
			for _, d := range list {
				got = append(got, d.ID)
			}
			return got
		}
		require.Empty(e, due(base.Add(-time.Second), 10))
		require.Equal(e, ids[:2], due(base.Add(time.Minute), 10))
		require.Equal(e, ids[:1], due(base.Add(time.Hour), 1))
		require.NoError(e, e.RetryDelivery(e.ctx, ids[0], base.Add(time.Hour), "refused"))
		require.Equal(e, ids[1:], due(base.Add(2*time.Minute), 10))
		list, err := e.DueDeliveries(e.ctx, base.Add(time.Hour), 10)
		require.NoError(e, err)
		require.Len(e, list, 3)
		require.Equal(e, 1, list[2].Attempt)
		for _, id := range ids {
			require.NoError(e, e.FinishDelivery(e.ctx, id))
			require.NoError(e, e.FinishDelivery(e.ctx, id))
		}
		require.Empty(e, due(base.Add(2*time.Hour), 10))
		require.ErrorIs(e, e.RetryDelivery(e.ctx, ids[0], base, ""), thread.ErrNotFound)
	}},
}

var truncateCases = []testCase{
	{"what is named is emptied, the rest stays", func(e *env) {
		tr, ok := e.Store.(thread.Truncater)
		if !ok {
			e.Skip("the store can't be emptied")
		}
		fill := func() (id, assistant, system string) {
			w := e.started()
			w.ask(1)
			w.finish()
			e.put([]string{"n"}, "k", "{}")
			assistant = e.newAssistant().ID
			system = e.newAssistant(func(a *thread.Assistant) { a.Metadata = thread.Metadata{"created_by": raw(`"system"`)} }).ID
			return w.run.ThreadID, assistant, system
		}
		id, assistant, system := fill()
		require.NoError(e, tr.Truncate(e.ctx, thread.Truncate{Assistants: true, Items: true}))
		_, err := e.GetAssistant(e.ctx, assistant)
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.GetAssistant(e.ctx, system)
		require.NoError(e, err)
		require.Empty(e, e.itemKeys(thread.ItemQuery{}))
		require.Len(e, e.found(thread.ThreadQuery{}), 1)
		require.NoError(e, tr.Truncate(e.ctx, thread.Truncate{Runs: true, Checkpoints: true}))
		runs, err := e.ListRuns(e.ctx, id, thread.RunQuery{})
		require.NoError(e, err)
		require.Empty(e, runs)
		_, err = e.Checkpoint(e.ctx, id, "", "")
		require.ErrorIs(e, err, thread.ErrNotFound)
		e.claim(e.admit(id).Run.ID).finish()
		require.NoError(e, tr.Truncate(e.ctx, thread.Truncate{Threads: true}))
		require.Empty(e, e.found(thread.ThreadQuery{}))
		fill()
	}},
}
