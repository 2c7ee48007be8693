package redis

import "context"

// ScriptName names the script with that hash; "" for none.
func ScriptName(hash string) string {
	for name, s := range scripts() {
		if s.Hash() == hash {
			return name
		}
	}
	return ""
}

// ScriptSource is the script with that hash; "" for none.
func ScriptSource(hash string) string { return scripts()[ScriptName(hash)].source }

// SweepAll repairs what is marked, however fresh the marks are.
func (s *Store) SweepAll(ctx context.Context) error {
	for n := range s.keys.shards {
		if err := s.sweepShard(ctx, n, 0); err != nil {
			return err
		}
	}
	return nil
}

// AuditAll compares all derived entries with their threads.
func (s *Store) AuditAll(ctx context.Context) error {
	for a, rounds := newComparer(s), 0; rounds < 4*s.keys.shards; rounds++ { // twice around, with some to spare
		if err := a.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// LuaSHA256 is a script that hashes its arguments.
func LuaSHA256() string {
	chunks, err := library{}.script("scripts/lib/sha256.lua", map[string]bool{})
	if err != nil {
		panic(err)
	}
	return text(chunks) + "\nlocal out = {}\nfor i, text in ipairs(ARGV) do out[i] = sha256(text) end\nreturn out"
}

// PartKeys are the keys of the shard of a thread that hold its entries and parts.
func (s *Store) PartKeys(id string) []string {
	all := s.keys.shard(s.keys.shardOf(id))
	return append([]string{s.keys.entries(s.keys.shardOf(id))}, all[len(all)-4:]...)
}

// IndexKey is the index of the shard of a thread.
func (s *Store) IndexKey(id string) string { return s.keys.index(s.keys.shardOf(id)) }

// QueueKey is the queue of the shard of a thread.
func (s *Store) QueueKey(id string) string { return s.keys.queue(s.keys.shardOf(id)) }

// EntriesKey is the hash of derived entries of the shard of a thread.
func (s *Store) EntriesKey(id string) string { return s.keys.entries(s.keys.shardOf(id)) }

// RunsKey is the hash of the shard of a run id.
func (s *Store) RunsKey(id string) string { return s.keys.runs(id) }

// IsAway and IsBroken tell what an error says of the server and of its circuit.
func IsAway(err error) bool   { return isAway(err) }
func IsBroken(err error) bool { return broken(err) }
