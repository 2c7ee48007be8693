package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// TestEveryReadTellsThatTheServerIsAway: so that callers are told to come again (503), whatever they ask for.
func TestEveryReadTellsThatTheServerIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: server.URL()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // what is under way then fails
	server.Stop()
	id, now := newID(), time.Now()
	for name, read := range map[string]func(ctx context.Context) error{
		"thread": func(ctx context.Context) error { _, err := s.GetThread(ctx, id); return err },
		"threads": func(ctx context.Context) error {
			_, _, err := s.SearchThreads(ctx, thread.ThreadQuery{Limit: 1})
			return err
		},
		"by metadata": func(ctx context.Context) error {
			_, _, err := s.SearchThreads(ctx, thread.ThreadQuery{Metadata: thread.Metadata{"a": []byte("1")}})
			return err
		},
		"expired":    func(ctx context.Context) error { _, err := s.ExpiredThreads(ctx, now, 1); return err },
		"run":        func(ctx context.Context) error { _, err := s.GetRun(ctx, id, id); return err },
		"run alone":  func(ctx context.Context) error { _, err := s.FindRun(ctx, id); return err },
		"runs":       func(ctx context.Context) error { _, err := s.ListRuns(ctx, id, thread.RunQuery{}); return err },
		"inflight":   func(ctx context.Context) error { _, err := s.Inflight(ctx, id); return err },
		"executions": func(ctx context.Context) error { _, err := s.ListExecutions(ctx, thread.ExecutionQuery{}); return err },
		"executions, behind one": func(ctx context.Context) error {
			_, err := s.ListExecutions(ctx, thread.ExecutionQuery{Before: id})
			return err
		},
		"checkpoint": func(ctx context.Context) error { _, err := s.Checkpoint(ctx, id, "", ""); return err },
		"checkpoints": func(ctx context.Context) error {
			_, err := s.ListCheckpoints(ctx, id, "", agent.CheckpointQuery{Limit: 1})
			return err
		},
		"blobs":      func(ctx context.Context) error { _, err := s.Blobs(ctx, id, []string{"a"}); return err },
		"segment":    func(ctx context.Context) error { _, err := s.Segment(ctx, id, "a", 1); return err },
		"namespaces": func(ctx context.Context) error { _, err := s.Namespaces(ctx, id, 1); return err },
		"questions":  func(ctx context.Context) error { _, err := s.PendingInterrupts(ctx, id); return err },
		"answers":    func(ctx context.Context) error { _, err := s.Answers(ctx, id, []string{"a"}); return err },
		"log":        func(ctx context.Context) error { _, err := s.ReadLog(ctx, id, 0, 1); return err },
		"run's log":  func(ctx context.Context) error { _, err := s.ReadRunLog(ctx, id, id, 0, 1); return err },
		"assistant":  func(ctx context.Context) error { _, err := s.GetAssistant(ctx, id); return err },
		"assistants": func(ctx context.Context) error {
			_, _, err := s.SearchAssistants(ctx, thread.AssistantQuery{Limit: 1})
			return err
		},
		"versions": func(ctx context.Context) error { _, err := s.AssistantVersions(ctx, id, nil, 1, 0); return err },
		"cron":     func(ctx context.Context) error { _, err := s.GetCron(ctx, id); return err },
		"crons": func(ctx context.Context) error {
			_, _, err := s.SearchCrons(ctx, thread.CronQuery{Limit: 1})
			return err
		},
		"review": func(ctx context.Context) error { _, err := s.GetReview(ctx, id); return err },
		"reviews": func(ctx context.Context) error {
			_, _, err := s.SearchReviews(ctx, thread.ReviewQuery{Limit: 1})
			return err
		},
		"thread's reviews": func(ctx context.Context) error { _, err := s.ThreadReviews(ctx, id); return err },
		"due reviews":      func(ctx context.Context) error { _, err := s.DueReviews(ctx, 1); return err },
		"next review":      func(ctx context.Context) error { _, err := s.NextReviewDue(ctx); return err },
		"deliveries":       func(ctx context.Context) error { _, err := s.DueDeliveries(ctx, now, 1); return err },
		"dead ones":        func(ctx context.Context) error { _, err := s.DeadDeliveries(ctx, 1); return err },
		"retry":            func(ctx context.Context) error { return s.RetryDelivery(ctx, id, now, "") },
		"key":              func(ctx context.Context) error { _, err := s.GetKey(ctx, id); return err },
		"keys":             func(ctx context.Context) error { _, err := s.ListKeys(ctx, ""); return err },
		"audit":            func(ctx context.Context) error { _, err := s.ProjectAudit(ctx, "", 0, 1); return err },
		"thread's audit":   func(ctx context.Context) error { _, err := s.ThreadAudit(ctx, id); return err },
		"end of audit":     func(ctx context.Context) error { _, err := s.AuditEnd(ctx, ""); return err },
		"unsealed":         func(ctx context.Context) error { _, err := s.Unsealed(ctx, now, 1); return err },
		"next due":         func(ctx context.Context) error { _, err := s.NextDue(ctx); return err },
		"end of log":       func(ctx context.Context) error { _, _, err := s.LogEnd(ctx, id); return err },
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, read(t.Context()), thread.ErrUnavailable)
		})
	}
}
