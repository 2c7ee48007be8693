package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// The statuses of a run as stored.
var runStatuses = []thread.RunStatus{thread.RunPending, thread.RunRunning, thread.RunSuccess, thread.RunError, thread.RunInterrupted, thread.RunTimeout}

func runStatusCode(s thread.RunStatus) (int, error) {
	if i := slices.Index(runStatuses, s); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("redis: no run status %q", s)
}

// runDoc is the part of a run that never changes.
type runDoc struct {
	Assistant string           `json:"assistant,omitempty"`
	Graph     string           `json:"graph,omitempty"`
	Metadata  thread.Metadata  `json:"metadata,omitempty"`
	Kwargs    thread.RunKwargs `json:"kwargs"`
	Strategy  string           `json:"strategy,omitempty"`
	Resumes   []string         `json:"resumes,omitempty"`
	Principal string           `json:"principal,omitempty"`
	Project   string           `json:"project,omitempty"`
	Workspace string           `json:"workspace,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"`
}

func encodeRun(run thread.Run) ([]byte, error) {
	return encodeJSON(runDoc{Assistant: run.AssistantID, Graph: run.GraphID, Metadata: run.Metadata, Kwargs: run.Kwargs,
		Strategy: run.Strategy, Resumes: run.Resumes, Principal: run.Principal, Project: run.Project, Workspace: run.Workspace, Warnings: run.Warnings})
}

// takeRun reads a run as scripts tell it.
func takeRun(threadID string, r *reply) (thread.Run, error) {
	in := r.inner()
	run := thread.Run{ID: in.text(), ThreadID: threadID}
	in.int() // the number
	status := in.int()
	run.CreatedAt, run.UpdatedAt, run.StartedAt, run.EndedAt = timeOf(in.int()), timeOf(in.int()), timeOf(in.int()), timeOf(in.int())
	run.NotBefore, run.Attempt, run.Cancel, run.Suspended = timeOf(in.int()), int(in.int()), in.text(), in.bool()
	run.BaseCheckpoint, run.ExecutionID = in.text(), in.text()
	doc := in.blob()
	run.Error = in.blob()
	if in.err != nil {
		return run, in.err
	}
	var d runDoc
	if err := json.Unmarshal(doc, &d); err != nil {
		return run, fmt.Errorf("redis: run %s: %w", run.ID, err)
	}
	run.Status = runStatuses[status]
	run.AssistantID, run.GraphID, run.Metadata, run.Kwargs, run.Strategy = d.Assistant, d.Graph, d.Metadata, d.Kwargs, d.Strategy
	run.Resumes, run.Principal, run.Project, run.Workspace, run.Warnings = d.Resumes, d.Principal, d.Project, d.Workspace, d.Warnings
	return run, nil
}

func takeRuns(threadID string, r *reply) (list []thread.Run, err error) {
	for r.more() {
		run, err := takeRun(threadID, r)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, r.err
}

// readRuns reads runs of a thread; what says which.
func (s *Store) readRuns(ctx context.Context, threadID string, what ...any) ([]thread.Run, error) {
	r := s.eval(ctx, "run", s.keys.thread(threadID), what...)
	return runsOf(threadID, &r)
}

func runsOf(threadID string, r *reply) ([]thread.Run, error) {
	if r.err == nil && r.status() == "GONE" {
		return nil, noThread(threadID)
	}
	return takeRuns(threadID, r)
}

func (s *Store) oneRun(ctx context.Context, threadID, id string, what ...any) (thread.Run, error) {
	list, err := s.readRuns(ctx, threadID, what...)
	return oneOf(list, err, id)
}

func oneOf(list []thread.Run, err error, id string) (thread.Run, error) {
	if err == nil && len(list) == 0 || isNotFound(err) {
		err = noRun(id)
	}
	if err != nil {
		return thread.Run{}, err
	}
	return list[0], nil
}

// GetRun implements thread.Runs.
func (s *Store) GetRun(ctx context.Context, threadID, runID string) (thread.Run, error) {
	return s.oneRun(ctx, threadID, runID, "id", runID)
}

// FindRun implements thread.Runs.
func (s *Store) FindRun(ctx context.Context, runID string) (thread.Run, error) {
	threadID, err := s.ownerOf(ctx, runID)
	if err != nil {
		return thread.Run{}, err
	}
	return s.GetRun(ctx, threadID, runID)
}

// ownerOf is the thread of a run, or of one that was about to be admitted.
func (s *Store) ownerOf(ctx context.Context, runID string) (string, error) {
	threadID, err := s.client.HGet(ctx, s.keys.runs(runID), runID).Result()
	if errors.Is(err, rds.Nil) {
		return "", noRun(runID)
	}
	return threadID, unavailable(err)
}

// disown forgets whose the runs are.
func (s *Store) disown(ctx context.Context, runIDs ...string) error {
	if len(runIDs) == 0 {
		return nil
	}
	calls := make([]*call, len(runIDs))
	for i, id := range runIDs {
		calls[i] = &call{script: "disown", keys: s.keys.firsts(id), args: []any{id}}
	}
	return s.evalAll(context.WithoutCancel(ctx), calls...)
}

// ListRuns implements thread.Runs.
func (s *Store) ListRuns(ctx context.Context, threadID string, q thread.RunQuery) ([]thread.Run, error) {
	status := -1
	if q.Status != "" {
		var err error
		if status, err = runStatusCode(q.Status); err != nil {
			return nil, err
		}
	}
	return s.readRuns(ctx, threadID, "list", max(q.Offset, 0), max(q.Limit, 0), status, q.ExecutionID)
}

// NewestRun implements thread.Runs.
func (s *Store) NewestRun(ctx context.Context, threadID string) (thread.Run, error) {
	return s.oneRun(ctx, threadID, threadID, "newest")
}

// Inflight implements thread.Runs.
func (s *Store) Inflight(ctx context.Context, threadID string) ([]thread.Run, error) {
	return s.readRuns(ctx, threadID, "inflight")
}

// RunByKey implements thread.KeyFinder. Its answer is that of a repeated admission,
// and as durable: the run may have been admitted a moment ago, and isn't confirmed yet.
func (s *Store) RunByKey(ctx context.Context, threadID, key string) (thread.Run, error) {
	r := s.confirmed(ctx, "run", s.keys.thread(threadID), "key", key)
	list, err := runsOf(threadID, &r)
	run, err := oneOf(list, err, key)
	if err == nil {
		err = r.unconfirmed
	}
	return run, err
}
