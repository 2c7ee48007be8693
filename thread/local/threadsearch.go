package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/thread"
)

// search is a SearchThreads under way.
type search struct {
	s *Store
	q thread.ThreadQuery
	// indexed are the digests that a match has, the rarest first; everyThread when no key can be looked up.
	indexed []int64
	// exact tells that the digests say all about metadata and filter.
	exact bool
}

// SearchThreads implements thread.Threads. Matches are found through the
// metadata index, newest first; the row's metadata is compared only where the
// index doesn't say everything.
func (s *Store) SearchThreads(ctx context.Context, q thread.ThreadQuery) (list []thread.Thread, total int, err error) {
	se := search{s: s, q: q, exact: true}
	se.plan()
	if se.countable() {
		if total, err = s.total(ctx, se.indexed[0]); err != nil || q.CountOnly || total == 0 {
			return nil, total, err
		}
	}
	err = s.readAll(ctx, func(c *conn) error {
		var err error
		if len(q.IDs) > 0 {
			list, total, err = se.byID(c)
			return err
		}
		if err = se.order(c); err != nil {
			return err
		}
		if se.countable() && (q.SortBy == "" || q.SortBy == "created_at") {
			list, err = se.page(c)
			return err
		}
		list, total, err = se.scan(c)
		return err
	})
	return list, total, err
}

// plan collects the digests.
func (se *search) plan() {
	for k, v := range se.q.Metadata {
		if d, ok := digest(k, v); ok {
			se.indexed = append(se.indexed, d)
		} else {
			se.exact = false
		}
	}
	for k, v := range se.q.Filter {
		if d, ok := digest(k, filterValue(v)); ok {
			se.indexed = append(se.indexed, d)
		} else {
			se.exact = false
		}
	}
	slices.Sort(se.indexed)
	se.indexed = slices.Compact(se.indexed)
	if len(se.indexed) == 0 {
		se.indexed = []int64{everyThread}
	}
}

// filterValue is the value that an auth filter wants to be equal; nil for other operators.
func filterValue(v json.RawMessage) json.RawMessage {
	var ops map[string]json.RawMessage
	if json.Unmarshal(v, &ops) != nil {
		return v
	}
	if len(ops) == 1 {
		return ops["$eq"]
	}
	return nil
}

// countable tells that the matches are just the entries of one digest, of
// which there is always a total.
func (se *search) countable() bool {
	return se.exact && len(se.indexed) == 1 && se.q.Status == "" && len(se.q.IDs) == 0
}

// total is how many threads have a digest.
func (s *Store) total(ctx context.Context, d int64) (n int, err error) {
	if n, ok := s.counts.get(d); ok {
		return n, ctx.Err()
	}
	err = s.write(ctx, false, func(t *tx) error {
		n, err = s.counts.learn(t, d)
		return err
	})
	return n, err
}

// order puts the rarest digest first: the one whose entries are gone through.
func (se *search) order(c *conn) error {
	for limit := 256; len(se.indexed) > 1; limit *= 8 {
		for i, d := range se.indexed {
			n := 0
			if _, err := c.one(func(r *rows) { n = int(r.int(0)) },
				`SELECT count(*) FROM (SELECT 1 FROM thread_meta WHERE digest=? LIMIT ?)`, d, limit); err != nil {
				return err
			}
			if n < limit {
				se.indexed[0], se.indexed[i] = se.indexed[i], se.indexed[0]
				return nil
			}
		}
		if limit > 1<<20 {
			return nil
		}
	}
	return nil
}

// page reads one page where the index alone decides. What lies nearer to the
// end is read from the end.
func (se *search) page(c *conn) ([]thread.Thread, error) {
	total, ok := se.s.counts.get(se.indexed[0])
	q := se.q
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	offset, asc, reverse := max(q.Offset, 0), q.SortAsc, false
	if ok && limit > 0 && offset > total/2 {
		last := min(offset+limit, total)
		limit = last - offset
		if limit <= 0 {
			return nil, nil
		}
		offset, asc, reverse = total-last, !asc, true
	}
	direction := `DESC`
	if asc {
		direction = `ASC`
	}
	r := c.query(`SELECT `+threadColumns+`, `+headColumns+` FROM
		(SELECT thread, created FROM thread_meta WHERE digest=? ORDER BY created `+direction+`, thread `+direction+` LIMIT ? OFFSET ?) m
		CROSS JOIN threads t ON t.k=m.thread LEFT JOIN heads h ON h.k=t.k`, se.indexed[0], limit, offset)
	var list []thread.Thread
	for r.next() {
		t, err := readThread(r)
		if err != nil {
			return nil, errorsFirst(err, r.close())
		}
		list = append(list, t)
	}
	if reverse {
		slices.Reverse(list)
	}
	return list, r.close()
}

func readThread(r *rows) (thread.Thread, error) {
	row := readThreadRow(r)
	h, err := readHead(r, threadColumnCount, row.k)
	if err != nil {
		return thread.Thread{}, err
	}
	return row.thread(h)
}

// sortColumns are what threads can be sorted by, beside created_at.
var sortColumns = map[string]string{
	"thread_id":        `t.id`,
	"status":           `coalesce(h.status, 0)`,
	"updated_at":       `coalesce(h.updated, t.created)`,
	"state_updated_at": `coalesce(h.state_updated, 0)`,
}

// scan goes through all entries of the rarest digest, in the order asked for.
func (se *search) scan(c *conn) (list []thread.Thread, total int, err error) {
	sql := `SELECT ` + threadColumns + `, ` + headColumns + ` FROM thread_meta m
		CROSS JOIN threads t ON t.k=m.thread LEFT JOIN heads h ON h.k=t.k WHERE m.digest=?`
	args := []any{se.indexed[0]}
	for _, d := range se.indexed[1:] {
		sql += ` AND EXISTS(SELECT 1 FROM thread_meta x WHERE x.digest=? AND x.created=m.created AND x.thread=m.thread)`
		args = append(args, d)
	}
	if se.q.Status != "" {
		code := statusCode(se.q.Status)
		if code < 0 {
			return nil, 0, fmt.Errorf("local: no thread status %q", se.q.Status)
		}
		if code == statusInterrupted { // the literal lets the partial index serve
			sql += ` AND m.thread IN (SELECT k FROM heads WHERE status=2)`
		} else {
			sql += ` AND coalesce(h.status, 0)=?`
			args = append(args, code)
		}
	}
	direction := ` DESC`
	if se.q.SortAsc {
		direction = ` ASC`
	}
	sql += ` ORDER BY `
	if column, ok := sortColumns[se.q.SortBy]; ok {
		sql += column + direction + `, `
	}
	sql += `m.created` + direction + `, m.thread` + direction
	r := c.query(sql, args...)
	for r.next() {
		if !se.exact {
			row := readThreadRow(r)
			m, err := decodeMetadata(row.metadata)
			if err != nil {
				return nil, 0, errorsFirst(err, r.close())
			}
			if !m.Contains(se.q.Metadata) || !se.q.Filter.Matches(m) {
				continue
			}
		}
		total++
		if se.q.CountOnly || total <= se.q.Offset || se.q.Limit > 0 && len(list) >= se.q.Limit {
			continue
		}
		t, err := readThread(r)
		if err != nil {
			return nil, 0, errorsFirst(err, r.close())
		}
		list = append(list, t)
	}
	return list, total, r.close()
}

// byID reads the named threads and keeps those that match.
func (se *search) byID(c *conn) (list []thread.Thread, total int, err error) {
	seen := map[string]bool{}
	for _, id := range se.q.IDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		row, h, err := loadThread(c, id)
		if isNotFound(err) || err == nil && row.temporary {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		t, err := row.thread(h)
		if err != nil {
			return nil, 0, err
		}
		if t.Metadata.Contains(se.q.Metadata) && se.q.Filter.Matches(t.Metadata) && (se.q.Status == "" || se.q.Status == t.Status) {
			list = append(list, t)
		}
	}
	sortThreads(list, se.q.SortBy, se.q.SortAsc)
	total = len(list)
	if se.q.CountOnly {
		return nil, total, nil
	}
	return page(list, se.q.Limit, se.q.Offset), total, nil
}
