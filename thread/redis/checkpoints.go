package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

// Checkpoint implements thread.Checkpoints.
func (s *Store) Checkpoint(ctx context.Context, threadID, ns, id string) (thread.StoredTuple, error) {
	var asked []string
	for {
		list, answers, err := s.readCheckpoints(ctx, threadID, ns, id, 1, false, asked...)
		if err == nil && len(list) == 0 {
			err = &thread.NotFoundError{Kind: notFoundCheckpoint, ID: id}
		}
		if err != nil {
			return thread.StoredTuple{}, err
		}
		// The answers of one moment with the tasks of another would lack the update that came with them.
		ids := questionsOf(list[0])
		if slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(asked, id) }) {
			asked = ids
			continue
		}
		list[0].Answers = answers
		return list[0], nil
	}
}

// questionsOf lists the ids of what the tasks of a checkpoint ask.
func questionsOf(t thread.StoredTuple) (ids []string) {
	for _, task := range t.Tasks {
		for _, q := range task.Interrupts {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// historyBatch is how many checkpoints are read at once where each has to be looked at.
const historyBatch = 64

// ListCheckpoints implements thread.Checkpoints: its cost follows the limit, not
// the thread's length, unless a filter on metadata leaves most out.
func (s *Store) ListCheckpoints(ctx context.Context, threadID, ns string, q agent.CheckpointQuery) (list []thread.StoredTuple, err error) {
	if q.Limit == 0 {
		return nil, nil
	}
	before := q.Before
	for q.Limit < 0 || len(list) < q.Limit {
		n := historyBatch
		if len(q.Metadata) == 0 && q.Limit > 0 {
			n = min(n, q.Limit-len(list))
		}
		part, _, err := s.readCheckpoints(ctx, threadID, ns, before, n, true)
		if err != nil {
			return nil, err
		}
		for _, t := range part {
			before = t.Record.ID
			if keep, err := hasMetadata(t.Record, q.Metadata); err != nil {
				return nil, err
			} else if keep && (q.Limit < 0 || len(list) < q.Limit) {
				list = append(list, t)
			}
		}
		if len(part) < n {
			break
		}
	}
	return list, s.addAnswers(ctx, threadID, list)
}

func hasMetadata(c agent.CheckpointRecord, want map[string]json.RawMessage) (bool, error) {
	if len(want) == 0 {
		return true, nil
	}
	m := thread.Metadata{}
	if err := json.Unmarshal(c.Metadata, &m); err != nil {
		return false, err
	}
	return m.Contains(want), nil
}

// readCheckpoints reads the checkpoint with an id ("": the newest), or up to limit
// before it, and, as they are at that moment, the answers to what is named.
func (s *Store) readCheckpoints(
	ctx context.Context, threadID, ns, id string, limit int, before bool, asked ...string,
) (list []thread.StoredTuple, answers map[string]agent.Answer, err error) {
	args := []any{ns, id, limit, before}
	for _, q := range asked {
		args = append(args, q)
	}
	r := s.eval(ctx, "checkpoint", s.keys.thread(threadID), args...)
	if r.err == nil && r.status() == "GONE" {
		return nil, nil, noThread(threadID)
	}
	answers = map[string]agent.Answer{}
	for told := r.inner(); told.more(); {
		a, err := takeAnswer(&told)
		if err != nil {
			return nil, nil, err
		}
		answers[a.InterruptID] = a
	}
	for r.more() {
		in := r.inner()
		t := thread.StoredTuple{Seq: in.int()}
		doc, tasks := in.blob(), in.inner()
		if in.err != nil {
			return nil, nil, in.err
		}
		if t.Record, err = decodeCheckpoint(doc); err != nil {
			return nil, nil, err
		}
		for tasks.more() {
			task := agent.TaskRecord{CheckpointID: t.Record.ID, TaskID: tasks.text()}
			if err := decodeTask(tasks.blob(), &task); err != nil {
				return nil, nil, err
			}
			if task.NS == ns {
				t.Tasks = append(t.Tasks, task)
			}
		}
		list = append(list, t)
	}
	return list, answers, r.err
}

// addAnswers adds the answers to the questions that the tasks ask.
func (s *Store) addAnswers(ctx context.Context, threadID string, list []thread.StoredTuple) error {
	var ids []string
	for i := range list {
		list[i].Answers = map[string]agent.Answer{}
		for _, t := range list[i].Tasks {
			for _, q := range t.Interrupts {
				ids = append(ids, q.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	answers, err := s.Answers(ctx, threadID, ids)
	if err != nil {
		return err
	}
	for i := range list {
		for _, t := range list[i].Tasks {
			for _, q := range t.Interrupts {
				if a, ok := answers[q.ID]; ok {
					list[i].Answers[q.ID] = a
				}
			}
		}
	}
	return nil
}

// Namespaces implements thread.Checkpoints.
func (s *Store) Namespaces(ctx context.Context, threadID string, limit int) ([]string, error) {
	r := s.eval(ctx, "namespaces", s.keys.thread(threadID), limit)
	if r.err == nil && r.status() == "GONE" {
		return nil, noThread(threadID)
	}
	list := r.texts()
	return list, r.err
}

// Steps implements thread.Journal.
func (s *Store) Steps(ctx context.Context, threadID, origin string) (list []agent.StepRecord, err error) {
	r := s.eval(ctx, "steps", s.keys.thread(threadID), origin)
	if r.err == nil && r.status() == "GONE" {
		return nil, noThread(threadID)
	}
	for r.more() {
		r.text() // the member
		step := agent.StepRecord{Origin: origin}
		if err := decodeStep(r.blob(), &step); err != nil {
			return nil, err
		}
		list = append(list, step)
	}
	return list, r.err
}

// The places of the keys that values are read from, in threadKeyNames.
const (
	blobsKey    = 12
	segmentsKey = 13
)

// Blobs implements thread.Checkpoints. What is stored never changes, so that it is read as it comes.
func (s *Store) Blobs(ctx context.Context, threadID string, ids []string) (map[string][]byte, error) {
	blobs := make(map[string][]byte, len(ids))
	if len(ids) == 0 {
		return blobs, nil
	}
	values, err := s.fields(ctx, threadID, blobsKey, ids)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if text, ok := v.(string); ok {
			blobs[ids[i]] = []byte(text)
		}
	}
	return blobs, nil
}

// fields reads fields of one of a thread's hashes; the thread must exist.
func (s *Store) fields(ctx context.Context, threadID string, key int, names []string) ([]any, error) {
	keys := s.keys.thread(threadID)
	var exists *rds.BoolCmd
	var values *rds.SliceCmd
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		exists = p.HExists(ctx, keys[0], "created")
		values = p.HMGet(ctx, keys[key], names...)
		return nil
	})
	if err != nil {
		return nil, unavailable(fmt.Errorf("redis: %s of thread %s: %w", threadKeyNames[key], threadID, err))
	}
	if !exists.Val() {
		return nil, noThread(threadID)
	}
	return values.Val(), nil
}

// Segment implements thread.Checkpoints.
func (s *Store) Segment(ctx context.Context, threadID, segment string, n int) (message.Segment, error) {
	names := make([]string, 1, n+1)
	names[0] = "#" + segment
	for i := range n {
		names = append(names, "@"+segment+":"+strconv.Itoa(i))
	}
	seg := message.Segment{ID: segment}
	values, err := s.fields(ctx, threadID, segmentsKey, names)
	if err != nil {
		return seg, err
	}
	head, ok := values[0].(string)
	if !ok {
		return seg, &thread.NotFoundError{Kind: notFoundSegment, ID: segment}
	}
	if seg.Base, err = segmentBase(head); err != nil {
		return seg, err
	}
	if n > 0 {
		seg.Entries = make([]json.RawMessage, 0, n)
	}
	for _, v := range values[1:] {
		entry, ok := v.(string)
		if !ok {
			break
		}
		seg.Entries = append(seg.Entries, json.RawMessage(entry))
	}
	return seg, nil
}

// segmentBase reads a segment's head: how many entries it has, the base's length, the base.
func segmentBase(head string) (message.Ref, error) {
	parts := strings.SplitN(head, " ", 3)
	if len(parts) < 3 {
		return message.Ref{}, errCorrupt
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return message.Ref{}, errCorrupt
	}
	return message.Ref{Segment: parts[2], Len: n}, nil
}
