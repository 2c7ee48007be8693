package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
)

// CopyThread implements thread.Threads.
func (s *Store) CopyThread(ctx context.Context, from, to string, at time.Time) (thread.Thread, error) {
	r := s.eval(ctx, "dump", s.keys.thread(from))
	if r.err == nil && r.status() == "GONE" {
		return thread.Thread{}, noThread(from)
	}
	w := readRow(from, &r)
	cps, docs, tasks, blobs, segments := r.int(), r.inner(), r.inner(), r.inner(), r.inner()
	now, open := timeOf(r.int()), r.inner()
	if r.err != nil {
		return thread.Thread{}, r.err
	}
	metadata, err := mergeMetadata(w.metadata, thread.Metadata{"thread_id": quoted(to)})
	if err != nil {
		return thread.Thread{}, err
	}
	args := append(append([]any{newOp()}, s.channelArgs(to)...), micros(at), []byte(metadata), "{}", w.head, w.stateUpdated, cps, len(docs.list)/2)
	old, new := quoted(from), quoted(to)
	for docs.more() {
		seq := docs.int()
		rec, err := decodeCheckpoint(docs.blob())
		if err != nil {
			return thread.Thread{}, err
		}
		rec.Metadata = bytes.ReplaceAll(rec.Metadata, old, new)
		args = append(args, seq, encodeCheckpoint(rec))
	}
	for _, hash := range []reply{tasks, blobs, segments} {
		args = append(append(args, len(hash.list)/2), hash.list...)
	}
	questions, err := copiedQuestions(ctx, from, to, &open, now)
	if err != nil {
		return thread.Thread{}, err
	}
	args = append(args, questions...)
	copied, err := s.change(ctx, to, "restore", args, derived{metadata: true})
	if errors.Is(err, thread.ErrExists) {
		err = fmt.Errorf("thread %s: %w", to, thread.ErrExists)
	}
	if err != nil {
		return thread.Thread{}, err
	}
	return copied.thread()
}

// copiedQuestions are the arguments of the open questions of a thread, which its copy asks
// anew, with the drafts of their reviews.
func copiedQuestions(ctx context.Context, from, to string, open *reply, now time.Time) ([]any, error) {
	asked, drafts, n := []any{len(open.list)}, []any{}, 0
	for open.more() {
		in := open.inner()
		q := thread.OpenInterrupt{ThreadID: to, Generation: 1}
		q.ID, q.NS, q.CheckpointID, q.TaskID = in.text(), in.text(), in.text(), in.text()
		doc := in.blob()
		review := in.value()
		if in.err != nil {
			return nil, in.err
		}
		asked = append(asked, q.ID, q.NS, q.CheckpointID, q.TaskID, doc)
		if list, ok := review.([]any); !ok || len(list) == 0 {
			continue
		}
		if err := decodeQuestion(doc, &q.InterruptInfo); err != nil {
			return nil, err
		}
		original, err := takeReview(from, &reply{list: []any{review}})
		if err != nil {
			return nil, err
		}
		args, err := requestArgs(ctx, original.Copied(q, now), 0, thread.CauseCopy)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, args...)
		n++
	}
	return append(append(asked, n), drafts...), open.err
}
