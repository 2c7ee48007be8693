package redis

import (
	"context"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// PendingInterrupts implements thread.Runs.
func (s *Store) PendingInterrupts(ctx context.Context, threadID string) (list []thread.OpenInterrupt, err error) {
	r := s.eval(ctx, "questions", s.keys.thread(threadID))
	if r.err == nil && r.status() == "GONE" {
		return nil, noThread(threadID)
	}
	for r.more() {
		in := r.inner()
		q := thread.OpenInterrupt{ThreadID: threadID, Status: "pending"}
		q.ID, q.NS, q.CheckpointID, q.TaskID, q.RunID = in.text(), in.text(), in.text(), in.text(), in.text()
		q.Generation, q.CreatedAt = in.int(), timeOf(in.int())
		doc := in.blob()
		if in.err != nil {
			return nil, in.err
		}
		if err := decodeQuestion(doc, &q.InterruptInfo); err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, r.err
}

// Answers implements thread.Runs.
func (s *Store) Answers(ctx context.Context, threadID string, ids []string) (map[string]agent.Answer, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	r := s.eval(ctx, "answers", s.keys.thread(threadID), args...)
	if r.err == nil && r.status() == "GONE" {
		return nil, noThread(threadID)
	}
	answers := map[string]agent.Answer{}
	for r.more() {
		a, err := takeAnswer(&r)
		if err != nil {
			return nil, err
		}
		answers[a.InterruptID] = a
	}
	return answers, r.err
}

// takeAnswer reads an answer as scripts tell it.
func takeAnswer(r *reply) (agent.Answer, error) {
	in := r.inner()
	a := agent.Answer{InterruptID: in.text(), Value: in.blob(), By: in.text(), At: timeOf(in.int()), RunID: in.text()}
	return a, in.err
}
