package local

import (
	"bytes"
	"encoding/json"

	"github.com/zeebo/xxh3"

	"github.com/parley-dev/parley/thread"
)

// everyThread is the digest under which each thread that can be found is listed.
const everyThread = 0

// digest is the index key of a metadata key with a scalar value. ok is false
// for objects and arrays, which aren't indexed, and for null, which never matches.
func digest(key string, value json.RawMessage) (d int64, ok bool) {
	v := bytes.TrimSpace(value)
	if len(v) == 0 {
		return 0, false
	}
	switch v[0] {
	case '{', '[', 'n':
		return 0, false
	case '"':
		if bytes.IndexByte(v, '\\') >= 0 { // one string, several spellings
			var s string
			if json.Unmarshal(v, &s) != nil {
				return 0, false
			}
			v = append([]byte{'"'}, s...)
			v = append(v, '"')
		}
	}
	h := xxh3.New()
	_, _ = h.WriteString(key) // it can't fail
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(v)
	d = int64(h.Sum64())
	return d, d != everyThread
}

// digests lists the index keys of a thread's metadata.
func digests(m thread.Metadata) []int64 {
	list := make([]int64, 0, len(m)+1)
	list = append(list, everyThread)
	for k, v := range m {
		if d, ok := digest(k, v); ok {
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
	list := digests(m)
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
	list := digests(m)
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
	for _, d := range digests(old) {
		have[d] = true
	}
	var added, removed []int64
	for _, d := range digests(new) {
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
