package redis

import (
	"context"
	"fmt"
	"strings"
)

// compareBatch is how many entries of a shard one round of the sweeper compares with their threads.
const compareBatch = 200

// comparer goes through all derived entries, a few at a time, and puts right what no
// mark told of: after a fail-over a shard may have lost what a thread still has,
// or the other way round.
type comparer struct {
	s *Store
	// shard is the one under way; entries and runs are where it goes on in its hashes.
	shard         int
	entries, runs uint64
	// orphans are run ids whose thread had no such run in the last round: perhaps it was just being admitted.
	orphans map[string]bool
}

func newComparer(s *Store) *comparer { return &comparer{s: s, orphans: map[string]bool{}} }

// round compares the next few entries.
func (c *comparer) round(ctx context.Context) error {
	if err := c.compareEntries(ctx); err != nil {
		return err
	}
	if err := c.compareRuns(ctx); err != nil {
		return err
	}
	if c.entries == 0 && c.runs == 0 {
		c.shard = (c.shard + 1) % c.s.keys.shards
	}
	return nil
}

// compareEntries reconciles threads whose entry has another version than they have.
func (c *comparer) compareEntries(ctx context.Context) error {
	list, cursor, err := c.s.client.HScan(ctx, c.s.keys.entries(c.shard), c.entries, "", compareBatch).Result()
	if err != nil {
		return err
	}
	var ids []string
	versions := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		ids = append(ids, list[i])
		versions[list[i]] = list[i+1]
	}
	rows, err := c.s.readRows(ctx, ids)
	if err != nil {
		return err
	}
	var chained []string
	for i, w := range rows {
		if w != nil && w.parts != 0 {
			chained = append(chained, ids[i])
		}
		if w != nil && strings.HasPrefix(versions[ids[i]], fmt.Sprintf("%d %d ", w.version, w.parts)) {
			continue
		}
		if err := c.s.reconcile(ctx, ids[i], ""); err != nil {
			return err
		}
	}
	c.entries = cursor
	return c.s.sealLost(ctx, chained)
}

// compareRuns frees run ids that their thread doesn't have, if it had none a round before either.
func (c *comparer) compareRuns(ctx context.Context) error {
	list, cursor, err := c.s.client.HScan(ctx, c.s.keys.runsOf(c.shard), c.runs, "", compareBatch).Result()
	if err != nil {
		return err
	}
	var ids []string
	var calls []*call
	for i := 0; i+1 < len(list); i += 2 {
		ids = append(ids, list[i])
		calls = append(calls, &call{script: "run", keys: c.s.keys.thread(list[i+1]), args: []any{"id", list[i]}})
	}
	if err := c.s.evalAll(ctx, calls...); err != nil {
		return err
	}
	for i, call := range calls {
		if call.reply.status() == "OK" && call.reply.more() {
			delete(c.orphans, ids[i])
			continue
		}
		if !c.orphans[ids[i]] {
			c.orphans[ids[i]] = true
			continue
		}
		delete(c.orphans, ids[i])
		if err := c.s.disown(ctx, ids[i]); err != nil {
			return err
		}
	}
	c.runs = cursor
	return nil
}
