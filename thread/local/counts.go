package local

import "sync"

// maxCounts bounds how many totals are kept up to date.
const maxCounts = 1024

// counts knows how many threads have a piece of metadata, for those that
// were asked for: counting ten thousand index entries for each search would cost
// more than the search. The writer counts once and keeps the total from then on.
type counts struct {
	mu    sync.Mutex
	known map[int64]int
}

func newCounts() *counts { return &counts{known: map[int64]int{}} }

func (n *counts) get(d int64) (int, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.known[d]
	return v, ok
}

// add changes the totals once t is committed.
func (n *counts) add(t *tx, digests []int64, delta int) {
	if len(digests) == 0 {
		return
	}
	t.onCommit(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, d := range digests {
			if v, ok := n.known[d]; ok {
				n.known[d] = v + delta
			}
		}
	})
}

// learn counts d inside of the writer, and so between all changes.
func (n *counts) learn(t *tx, d int64) (total int, err error) {
	_, err = t.one(func(r *rows) { total = int(r.int(0)) }, `SELECT count(*) FROM thread_meta WHERE digest=?`, d)
	if err != nil {
		return 0, err
	}
	t.onCommit(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.known) >= maxCounts {
			clear(n.known)
		}
		n.known[d] = total
	})
	return total, nil
}

// forget drops all totals.
func (n *counts) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.known)
}
