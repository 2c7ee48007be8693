package redis

import "context"

// ScriptName names the script with that hash; "" for none.
func ScriptName(hash string) string {
	for name, s := range scripts {
		if s.Hash() == hash {
			return name
		}
	}
	return ""
}

// SweepAll repairs what is marked, however fresh the marks are.
func (s *Store) SweepAll(ctx context.Context) error {
	for n := range s.keys.shards {
		if err := s.sweepShard(ctx, n, 0); err != nil {
			return err
		}
	}
	return nil
}
