package redis

import (
	"context"
	"encoding/json"

	"github.com/parley-dev/parley/thread"
)

// Truncate implements thread.Truncater. The threads are those that the shards know of.
func (s *Store) Truncate(ctx context.Context, what thread.Truncate) error {
	for n := range s.keys.shards {
		ids, err := s.client.HKeys(ctx, s.keys.entries(n)).Result()
		if err != nil {
			return unavailable(err)
		}
		for _, id := range ids {
			if err := s.truncateThread(ctx, id, what); err != nil && !isNotFound(err) {
				return err
			}
		}
		if what.Items {
			if err := s.client.Del(ctx, s.keys.items(n)...).Err(); err != nil {
				return unavailable(err)
			}
		}
	}
	if what.Assistants {
		return s.truncateAssistants(ctx)
	}
	return nil
}

func (s *Store) truncateThread(ctx context.Context, id string, what thread.Truncate) error {
	if what.Threads {
		return s.DeleteThread(ctx, id)
	}
	if !what.Runs && !what.Checkpoints {
		return nil
	}
	var runs []string
	if what.Runs {
		var err error
		if runs, err = s.client.ZRange(ctx, s.keys.thread(id)[orderKey], 0, -1).Result(); err != nil {
			return unavailable(err)
		}
	}
	if _, err := s.change(ctx, id, "truncate", []any{what.Runs, what.Checkpoints}, derived{}); err != nil {
		return err
	}
	return errorsFirst(s.disown(ctx, runs...), s.reconcile(ctx, id, ""))
}

// orderKey is the place of the key of run ids in threadKeyNames.
const orderKey = 4

// truncateAssistants leaves those that the system made.
func (s *Store) truncateAssistants(ctx context.Context) error {
	all, err := s.readAssistants(ctx, "", false)
	if err != nil {
		return err
	}
	for _, a := range all {
		var by string
		if json.Unmarshal(a.Metadata["created_by"], &by) == nil && by == "system" {
			continue
		}
		if err := s.DeleteAssistant(ctx, a.ID); err != nil && !isNotFound(err) {
			return err
		}
	}
	return nil
}
