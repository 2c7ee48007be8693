package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// search is a SearchThreads under way.
type search struct {
	q thread.ThreadQuery
	// indexed are the digests that a match has, the rarest first; everyThread when no key can be looked up.
	indexed []int64
	// exact tells that the digests say all about metadata and filter.
	exact bool
}

// mostIndexed is how many digests a search joins: planning the join of a hundred takes SQLite a second.
const mostIndexed = 8

// SearchThreads implements thread.Threads. Matches are found through the
// metadata index, newest first; the row's metadata is compared only where the
// index doesn't say everything.
func (s *Store) SearchThreads(ctx context.Context, q thread.ThreadQuery) (list []thread.Thread, total int, err error) {
	se := search{q: q, exact: true}
	se.plan(s.seed)
	if se.countable() {
		if total, err = s.total(ctx, se.indexed[0]); err != nil || q.CountOnly || total == 0 {
			return nil, total, err
		}
	}
	err = s.readAll(ctx, func(c *conn) (err error) {
		list, total, err = se.find(c, total)
		return err
	})
	return list, total, err
}

// find carries the search out; total is the number of matches if that is known.
func (se *search) find(c *conn, total int) (list []thread.Thread, n int, err error) {
	if len(se.q.IDs) > 0 {
		return se.byID(c)
	}
	if err := se.order(c); err != nil {
		return nil, 0, err
	}
	if len(se.indexed) > mostIndexed {
		se.indexed, se.exact = se.indexed[:mostIndexed], false // the rows are compared with the others
	}
	m, err := se.matches()
	if err != nil {
		return nil, 0, err
	}
	if !se.exact {
		return se.scan(c, m)
	}
	if !se.countable() {
		if _, err := c.one(func(r *rows) { total = int(r.int(0)) }, `SELECT count(*)`+m.from, m.args...); err != nil {
			return nil, 0, err
		}
	}
	if se.q.CountOnly {
		return nil, total, nil
	}
	list, err = se.page(c, m, total)
	return list, total, err
}

// plan collects the digests.
func (se *search) plan(seed uint64) {
	for k, v := range se.q.Metadata {
		if d, ok := digest(seed, k, v); ok {
			se.indexed = append(se.indexed, d)
		} else {
			se.exact = false
		}
	}
	for k, v := range se.q.Filter {
		if d, ok := digest(seed, k, query.FilterValue(v)); ok {
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

// matches is the part of a query that finds what matches: each match once, as key k
// and time of creation.
type matches struct {
	from       string
	args       []any
	k, created string
}

// matches goes through the entries of the rarest digest, or, where those are fewer,
// through the threads that wait for a person.
func (se *search) matches() (m matches, err error) {
	m = matches{k: `m.thread`, created: `m.created`}
	rest := se.indexed[1:]
	switch {
	case se.q.Status == thread.Interrupted: // the literal lets the partial index serve
		m = matches{k: `h.k`, created: `t.created`}
		m.from = ` FROM heads h CROSS JOIN threads t ON t.k=h.k WHERE h.status=2`
		rest = se.indexed
	case se.q.Status != "":
		code := statusCode(se.q.Status)
		if code < 0 {
			return m, fmt.Errorf("local: no thread status %q", se.q.Status)
		}
		m.from = ` FROM thread_meta m CROSS JOIN threads t ON t.k=m.thread LEFT JOIN heads h ON h.k=m.thread WHERE m.digest=? AND coalesce(h.status, 0)=?`
		m.args = []any{se.indexed[0], code}
	default:
		m.from = ` FROM thread_meta m CROSS JOIN threads t ON t.k=m.thread LEFT JOIN heads h ON h.k=m.thread WHERE m.digest=?`
		if se.exact && (se.q.SortBy == "" || se.q.SortBy == "created_at") { // the index alone will do
			m.from = ` FROM thread_meta m WHERE m.digest=?`
		}
		m.args = []any{se.indexed[0]}
	}
	for _, d := range rest {
		m.from += ` AND EXISTS(SELECT 1 FROM thread_meta x WHERE x.digest=? AND x.created=` + m.created + ` AND x.thread=` + m.k + `)`
		m.args = append(m.args, d)
	}
	return m, nil
}

// sortColumns are what threads can be sorted by, beside created_at.
var sortColumns = map[string]string{
	"thread_id":        `t.id`,
	"status":           `coalesce(h.status, 0)`,
	"updated_at":       `coalesce(h.updated, t.created)`,
	"state_updated_at": `coalesce(h.state_updated, 0)`,
}

// order is the ORDER BY of a query over m.
func (m matches) order(sortBy string, asc bool) string {
	direction := ` DESC`
	if asc {
		direction = ` ASC`
	}
	order := ` ORDER BY `
	if column, ok := sortColumns[sortBy]; ok {
		order += column + direction + `, `
	}
	return order + m.created + direction + `, ` + m.k + direction
}

// page reads one page where SQL can decide all. With a known total, what lies
// nearer to the end is read from the end.
func (se *search) page(c *conn, m matches, total int) ([]thread.Thread, error) {
	limit, offset, asc, reverse := se.q.Limit, max(se.q.Offset, 0), se.q.SortAsc, false
	if limit <= 0 {
		limit = total
	}
	if offset >= total {
		return nil, nil
	}
	if offset > total/2 {
		last := min(offset+limit, total)
		limit, offset = last-offset, total-last
		asc, reverse = !asc, true
	}
	r := c.query(`SELECT `+threadColumns+`, `+headColumns+` FROM (SELECT `+m.k+` AS match`+m.from+m.order(se.q.SortBy, asc)+` LIMIT ? OFFSET ?)
		CROSS JOIN threads t ON t.k=match LEFT JOIN heads h ON h.k=t.k`, append(slices.Clone(m.args), limit, offset)...)
	list := make([]thread.Thread, 0, min(limit, 1000))
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

// scan goes through all that the index finds and compares metadata and filter
// with what is stored, in the order asked for.
func (se *search) scan(c *conn, m matches) (list []thread.Thread, total int, err error) {
	r := c.query(`SELECT `+threadColumns+`, `+headColumns+m.from+m.order(se.q.SortBy, se.q.SortAsc), m.args...)
	for r.next() {
		row := readThreadRow(r)
		metadata, err := decodeMetadata(row.metadata)
		if err != nil {
			return nil, 0, errorsFirst(err, r.close())
		}
		if !metadata.Contains(se.q.Metadata) || !se.q.Filter.Matches(metadata) {
			continue
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
	query.SortThreads(list, se.q.SortBy, se.q.SortAsc)
	total = len(list)
	if se.q.CountOnly {
		return nil, total, nil
	}
	return query.Page(list, se.q.Limit, se.q.Offset), total, nil
}
