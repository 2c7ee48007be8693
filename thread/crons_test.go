package thread_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// runsOf lists the runs that were created for an assistant on a thread.
func (b *bundle) runsOf(threadID string) []thread.Run {
	b.t.Helper()
	runs, err := b.svc.ListRuns(context.Background(), threadID, thread.RunQuery{})
	require.NoError(b.t, err)
	return runs
}

func TestCronFiresOnceThoughTwoServicesWatchIt(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock))
	other := setup(t, sharing(b))
	ctx := context.Background()
	id := b.thread()
	c, err := b.svc.CreateCron(ctx, thread.Cron{
		AssistantID: "echo", ThreadID: id, Schedule: "*/5 * * * *", Enabled: true,
		Payload: []byte(`{"input":{"note":"by cron"},"metadata":{"m":1}}`),
	})
	require.NoError(t, err)
	require.Equal(t, clock.Now().Add(5*time.Minute), c.NextRun)
	for round := 1; round <= 3; round++ {
		for range 5 {
			clock.advance(time.Minute)
		}
		require.Eventually(t, func() bool {
			runs := b.runsOf(id)
			return len(runs) >= round && runs[round-1].Status == thread.RunSuccess
		}, patience, time.Millisecond)
	}
	other.stop()
	b.stop()
	runs := b.runsOf(id)
	require.Len(t, runs, 3)
	require.JSONEq(t, `"`+c.ID+`"`, string(runs[0].Metadata["cron_id"]))
	require.Contains(t, b.values(id), "by cron")
}

func TestCronKnowsTimezonesAndEnds(t *testing.T) {
	t.Parallel()
	clock := newManualClock() // 12:00 UTC, 14:00 in Berlin
	b := setup(t, withClock(clock))
	ctx := context.Background()
	berlin, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", Schedule: "0 15 * * *", Timezone: "Europe/Berlin", Enabled: true})
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 9, 1, 13, 0, 0, 0, time.UTC), berlin.NextRun.UTC())
	utc, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", Schedule: "0 15 * * *", Enabled: true})
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 9, 1, 15, 0, 0, 0, time.UTC), utc.NextRun.UTC())
	ended, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", Schedule: "0 15 * * *", Enabled: true, EndTime: clock.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.True(t, ended.NextRun.IsZero(), "it never fires again")
	again, err := b.svc.PatchCron(ctx, ended.ID, func(c *thread.Cron) { c.EndTime = time.Time{} })
	require.NoError(t, err)
	require.False(t, again.NextRun.IsZero())

	var invalid *thread.InvalidInputError
	for _, bad := range []thread.Cron{
		{AssistantID: "echo", Schedule: "whenever"},
		{AssistantID: "echo", Schedule: "TZ=UTC"},
		{AssistantID: "echo", Schedule: "CRON_TZ="},
		{AssistantID: "echo", Schedule: "* * * * *", Timezone: "Mars/Olympus"},
		{AssistantID: "echo", Schedule: "* * * * *", OnRunCompleted: "burn"},
		{AssistantID: "echo", Schedule: "* * * * *", Payload: []byte(`{"stream_mode":7}`)},
	} {
		_, err = b.svc.CreateCron(ctx, bad)
		require.ErrorAs(t, err, &invalid)
	}
	_, err = b.svc.CreateCron(ctx, thread.Cron{AssistantID: "nobody", Schedule: "* * * * *"})
	require.ErrorIs(t, err, thread.ErrNotFound)
	require.NoError(t, b.svc.DeleteCron(ctx, utc.ID))
	_, err = b.svc.GetCron(ctx, utc.ID)
	require.ErrorIs(t, err, thread.ErrNotFound)
}

// Nobody has seen what a cron would answer, so that it answers nothing; made in other ways it fails, and is told of once for each cause.
func TestACronThatWouldAnswerQuestionsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	id := b.thread()
	var command *agent.InvalidCommandError
	for _, bad := range []string{`{"resume":"yes"}`, `{"resume":{"a":1},"goto":"say"}`, `{"goto":7}`} {
		_, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", ThreadID: id, Schedule: "* * * * *", Payload: []byte(`{"command":` + bad + `}`)})
		require.ErrorAs(t, err, &command, bad)
	}
	_, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", ThreadID: id, Schedule: "* * * * *", Payload: []byte(`{"command":{"resume":"yes"}}`)})
	require.ErrorContains(t, err, "command.resume")
	c, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", ThreadID: id, Schedule: "* * * * *", Payload: []byte(`{"command":{"update":{"note":"n"},"resume":null}}`)})
	require.NoError(t, err)
	_, err = b.svc.PatchCron(ctx, c.ID, func(c *thread.Cron) { c.Payload = []byte(`{"command":{"resume":1}}`) })
	require.ErrorAs(t, err, &command)
}

func TestAFailingCronIsLoggedOnceForEachCause(t *testing.T) {
	t.Parallel()
	clock, lines := newManualClock(), &logLines{}
	b := setup(t, withClock(clock), with(func(o *thread.Options) { o.Logger = slog.New(slog.NewTextHandler(lines, nil)) }))
	ctx := context.Background()
	c, err := b.svc.CreateCron(ctx, thread.Cron{AssistantID: "echo", ThreadID: b.thread(), Schedule: "* * * * *", Enabled: true})
	require.NoError(t, err)
	fired := func() {
		before, err := b.svc.GetCron(ctx, c.ID)
		require.NoError(t, err)
		b.passing("it fires", func() bool {
			clock.advance(10 * time.Second)
			now, err := b.svc.GetCron(ctx, c.ID)
			return err == nil && now.NextRun.After(before.NextRun)
		})
	}
	change := func(payload string) { // as an earlier version left it
		now, err := b.svc.GetCron(ctx, c.ID)
		require.NoError(t, err)
		now.Payload = []byte(payload)
		require.NoError(t, b.store.PutCron(ctx, now))
	}
	logged := func(n int) {
		t.Helper()
		eventually(t, "what failed is logged", func() bool { return lines.count("create the run of cron "+c.ID) >= n })
		require.Equal(t, n, lines.count("create the run of cron "+c.ID))
	}
	change(`{"command":{"resume":"yes"}}`)
	for range 4 {
		fired()
	}
	logged(1)
	change(`{"command":{"goto":"nowhere"}}`)
	for range 3 {
		fired()
	}
	logged(2)
	change(`{}`)
	fired()
	change(`{"command":{"goto":"nowhere"}}`)
	fired()
	fired()
	b.stop() // what fired last has been told of
	require.Equal(t, 3, lines.count("create the run of cron "+c.ID), "it worked in between")
}

// logLines keeps what was logged.
type logLines struct {
	mu  sync.Mutex
	all strings.Builder
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}
