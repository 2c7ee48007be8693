package redis

import (
	"context"
	"strconv"
	"strings"
)

// auditBatch is how many entries of a shard one round of the sweeper compares with their threads.
const auditBatch = 200

// auditor goes through all derived entries, a few at a time, and puts right what no
// mark told of: after a fail-over a shard may have lost what a thread still has,
// or the other way round.
type auditor struct {
	s *Store
	// shard is the one under way; entries and runs are where it goes on in its hashes.
	shard         int
	entries, runs uint64
	// orphans are run ids whose thread had no such run in the last round: perhaps it was just being admitted.
	orphans map[string]bool
}

func newAuditor(s *Store) *auditor { return &auditor{s: s, orphans: map[string]bool{}} }

// round compares the next few entries.
func (a *auditor) round(ctx context.Context) error {
	if err := a.compareEntries(ctx); err != nil {
		return err
	}
	if err := a.compareRuns(ctx); err != nil {
		return err
	}
	if a.entries == 0 && a.runs == 0 {
		a.shard = (a.shard + 1) % a.s.keys.shards
	}
	return nil
}

// compareEntries reconciles threads whose entry has another version than they have.
func (a *auditor) compareEntries(ctx context.Context) error {
	list, cursor, err := a.s.client.HScan(ctx, a.s.keys.entries(a.shard), a.entries, "", auditBatch).Result()
	if err != nil {
		return err
	}
	var ids []string
	versions := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		ids = append(ids, list[i])
		versions[list[i]], _, _ = strings.Cut(list[i+1], " ")
	}
	rows, err := a.s.readRows(ctx, ids)
	if err != nil {
		return err
	}
	for i, w := range rows {
		if w != nil && strconv.FormatInt(w.version, 10) == versions[ids[i]] {
			continue
		}
		if err := a.s.reconcile(ctx, ids[i], ""); err != nil {
			return err
		}
	}
	a.entries = cursor
	return nil
}

// compareRuns frees run ids that their thread doesn't have, if it had none a round before either.
func (a *auditor) compareRuns(ctx context.Context) error {
	list, cursor, err := a.s.client.HScan(ctx, a.s.keys.runsOf(a.shard), a.runs, "", auditBatch).Result()
	if err != nil {
		return err
	}
	var ids []string
	var calls []*call
	for i := 0; i+1 < len(list); i += 2 {
		ids = append(ids, list[i])
		calls = append(calls, &call{script: "run", keys: a.s.keys.thread(list[i+1]), args: []any{"id", list[i]}})
	}
	if err := a.s.evalAll(ctx, calls...); err != nil {
		return err
	}
	for i, c := range calls {
		if c.reply.status() == "OK" && c.reply.more() {
			delete(a.orphans, ids[i])
			continue
		}
		if !a.orphans[ids[i]] {
			a.orphans[ids[i]] = true
			continue
		}
		delete(a.orphans, ids[i])
		if err := a.s.disown(ctx, ids[i]); err != nil {
			return err
		}
	}
	a.runs = cursor
	return nil
}
