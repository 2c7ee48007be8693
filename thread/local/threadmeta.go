package local

import (
	"encoding/json"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// everyThread is the digest under which each thread that can be found is listed.
const everyThread = 0

// digest is query.Digest as a column; none is everyThread.
func digest(seed uint64, key string, value json.RawMessage) (d int64, ok bool) {
	u, ok := query.Digest(seed, key, value)
	return int64(u), ok && u != everyThread
}

func readSeed(c *conn) (seed uint64, err error) {
	_, err = c.one(func(r *rows) { seed = uint64(r.int(0)) }, `SELECT value FROM settings WHERE name='digest_seed'`)
	return seed, err
}

// digests lists the index keys of a thread's metadata.
func (s *Store) digests(m thread.Metadata) []int64 {
	list := make([]int64, 0, len(m)+1)
	list = append(list, everyThread)
	for k, v := range m {
		if d, ok := digest(s.seed, k, v); ok {
			list = append(list, d)
		}
	}
	return list
}

const (
	insertMeta = `INSERT OR IGNORE INTO thread_meta(digest, created, thread) VALUES(?,?,?)`
	deleteMeta = `DELETE FROM thread_meta WHERE digest=? AND created=? AND thread=?`
)

// indexThread lists a new thread under its metadata.
func (s *Store) indexThread(t *tx, row threadRow, m thread.Metadata) error {
	if row.temporary {
		return nil
	}
	list := s.digests(m)
	for _, d := range list {
		if _, err := t.exec(insertMeta, d, row.created, row.k); err != nil {
			return err
		}
	}
	s.counts.add(t, list, 1)
	return nil
}

// unindexThread removes a thread from the index.
func (s *Store) unindexThread(t *tx, row threadRow, m thread.Metadata) error {
	if row.temporary {
		return nil
	}
	list := s.digests(m)
	for _, d := range list {
		if _, err := t.exec(deleteMeta, d, row.created, row.k); err != nil {
			return err
		}
	}
	s.counts.add(t, list, -1)
	return nil
}

// reindexThread changes the index from old to new metadata.
func (s *Store) reindexThread(t *tx, row threadRow, old, new thread.Metadata) error {
	if row.temporary {
		return nil
	}
	have := map[int64]bool{}
	for _, d := range s.digests(old) {
		have[d] = true
	}
	var added, removed []int64
	for _, d := range s.digests(new) {
		if !have[d] {
			added = append(added, d)
		}
		delete(have, d)
	}
	for d := range have {
		removed = append(removed, d)
	}
	for _, d := range added {
		if _, err := t.exec(insertMeta, d, row.created, row.k); err != nil {
			return err
		}
	}
	for _, d := range removed {
		if _, err := t.exec(deleteMeta, d, row.created, row.k); err != nil {
			return err
		}
	}
	s.counts.add(t, added, 1)
	s.counts.add(t, removed, -1)
	return nil
}
