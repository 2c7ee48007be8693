package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

// search is a SearchThreads under way.
type search struct {
	s *Store
	q thread.ThreadQuery
	// ranges of the index that a match is in, all of them.
	ranges []prefix
	// exact: the ranges say all about the query.
	exact bool
}

// SearchThreads implements thread.Threads. Matches are found in the shards'
// indexes; the threads themselves are read only for the page that is asked for,
// unless the index doesn't say everything.
func (s *Store) SearchThreads(ctx context.Context, q thread.ThreadQuery) (list []thread.Thread, total int, err error) {
	se := search{s: s, q: q, exact: true}
	if err := se.plan(); err != nil {
		return nil, 0, err
	}
	if len(q.IDs) > 0 {
		return se.byID(ctx)
	}
	if len(se.ranges) == 1 && se.exact && !q.CountOnly && q.Limit > 0 {
		if order, ordered := se.order(); ordered {
			return se.page(ctx, order)
		}
	}
	sizes, err := se.sizes(ctx)
	if err != nil {
		return nil, 0, err
	}
	se.rarestFirst(sizes)
	if slices.Min(sizes) == 0 {
		return nil, 0, nil
	}
	if se.exact && len(se.ranges) == 1 && se.q.CountOnly {
		return nil, sizes[0], nil
	}
	_, ordered := se.order()
	return se.scan(ctx, ordered)
}

// plan collects the ranges.
func (se *search) plan() error {
	for k, v := range se.q.Metadata {
		se.lookUp(k, v)
	}
	for k, v := range se.q.Filter {
		se.lookUp(k, query.FilterValue(v))
	}
	if se.q.Status != "" {
		code := statusCode(se.q.Status)
		if code < 0 {
			return fmt.Errorf("redis: no thread status %q", se.q.Status)
		}
		se.ranges = append(se.ranges, byStatus(code))
	}
	if len(se.ranges) == 0 {
		se.ranges = []prefix{allThreads()}
	}
	slices.Sort(se.ranges)
	se.ranges = slices.Compact(se.ranges)
	return nil
}

func (se *search) lookUp(key string, value json.RawMessage) {
	if d, ok := query.Digest(se.s.seed, key, value); ok {
		se.ranges = append(se.ranges, byDigest(d))
	} else {
		se.exact = false
	}
}

// sizes counts the threads of each range.
func (se *search) sizes(ctx context.Context) ([]int, error) {
	var counts []*rds.IntCmd
	_, err := se.s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		for _, r := range se.ranges {
			counts = append(counts, se.count(ctx, p, r)...)
		}
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	sizes := make([]int, len(se.ranges))
	for i, c := range counts {
		sizes[i/se.s.keys.shards] += int(c.Val())
	}
	return sizes, nil
}

// count asks every shard for the number of threads in a range.
func (se *search) count(ctx context.Context, p rds.Pipeliner, r prefix) []*rds.IntCmd {
	low, high := r.bounds()
	counts := make([]*rds.IntCmd, se.s.keys.shards)
	for n := range counts {
		counts[n] = p.ZLexCount(ctx, se.s.keys.index(n), low, high)
	}
	return counts
}

// rarestFirst puts the range in front that is gone through.
func (se *search) rarestFirst(sizes []int) {
	for i := range sizes {
		if sizes[i] < sizes[0] {
			sizes[0], sizes[i] = sizes[i], sizes[0]
			se.ranges[0], se.ranges[i] = se.ranges[i], se.ranges[0]
		}
	}
}

// order is the range whose order is the one asked for.
func (se *search) order() (order prefix, ok bool) {
	switch se.q.SortBy {
	case "", "created_at":
		return se.ranges[0], true
	case "updated_at":
		return byUpdate(), se.ranges[0] == allThreads()
	}
	return "", false
}

// found is a thread in a range.
type found struct {
	at    int64
	id    string
	shard int
}

// walk reads a range of all shards in its order.
func (se *search) walk(ctx context.Context, r prefix, asc bool) ([]found, error) {
	var members []*rds.StringSliceCmd
	_, err := se.s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		members = se.members(ctx, p, r, asc, 0)
		return nil
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return merged(members, r, asc), nil
}

// members asks every shard for a range in its order, at most limit of each (0: all).
func (se *search) members(ctx context.Context, p rds.Pipeliner, r prefix, asc bool, limit int) []*rds.StringSliceCmd {
	low, high := r.bounds()
	cmds := make([]*rds.StringSliceCmd, se.s.keys.shards)
	for n := range cmds {
		a := rds.ZRangeArgs{Key: se.s.keys.index(n), ByLex: true, Start: low, Stop: high, Rev: !asc, Count: int64(limit)}
		if a.Rev {
			a.Start, a.Stop = high, low
		}
		cmds[n] = p.ZRangeArgs(ctx, a)
	}
	return cmds
}

// merged is what the shards have of a range, in one order.
func merged(shards []*rds.StringSliceCmd, r prefix, asc bool) []found {
	var list []found
	for n, cmd := range shards {
		for _, m := range cmd.Val() {
			at, id := r.split(m)
			list = append(list, found{at: at, id: id, shard: n})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if !asc {
			a, b = b, a
		}
		return a.at < b.at || a.at == b.at && a.id < b.id
	})
	return list
}

// page reads one page where one range says all; it is counted in the same round trip.
func (se *search) page(ctx context.Context, order prefix) ([]thread.Thread, int, error) {
	offset := max(se.q.Offset, 0)
	var counts []*rds.IntCmd
	var members []*rds.StringSliceCmd
	_, err := se.s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		counts = se.count(ctx, p, se.ranges[0])
		members = se.members(ctx, p, order, se.q.SortAsc, offset+se.q.Limit)
		return nil
	})
	if err != nil {
		return nil, 0, unavailable(err)
	}
	total := 0
	for _, c := range counts {
		total += int(c.Val())
	}
	list := merged(members, order, se.q.SortAsc)
	threads, err := se.read(ctx, list[min(offset, len(list)):min(offset+se.q.Limit, len(list))])
	return threads, total, err
}

// read reads threads that were found. An entry that is wrong is repaired and left out.
func (se *search) read(ctx context.Context, list []found) ([]thread.Thread, error) {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.id
	}
	shown, err := se.s.glances(ctx, ids)
	if err != nil {
		return nil, err
	}
	threads := make([]thread.Thread, 0, len(shown))
	for i, t := range shown {
		switch {
		case t == nil:
			se.s.repair(ctx, ids[i])
		case se.matches(*t): // else it has just changed
			threads = append(threads, *t)
		}
	}
	return threads, nil
}

func (se *search) matches(t thread.Thread) bool {
	return !t.Temporary && (se.q.Status == "" || se.q.Status == t.Status) &&
		t.Metadata.Contains(se.q.Metadata) && se.q.Filter.Matches(t.Metadata)
}

// scan goes through the rarest range and keeps what is in the others, too; where
// those don't decide, or don't have the order, the threads are read.
func (se *search) scan(ctx context.Context, ordered bool) ([]thread.Thread, int, error) {
	list, err := se.walk(ctx, se.ranges[0], se.q.SortAsc)
	if err != nil {
		return nil, 0, err
	}
	if list, err = se.inAll(ctx, list); err != nil {
		return nil, 0, err
	}
	created := ordered && se.q.SortBy != "updated_at"
	if se.exact && created {
		total := len(list)
		if se.q.CountOnly {
			return nil, total, nil
		}
		threads, err := se.read(ctx, query.Page(list, se.q.Limit, se.q.Offset))
		return threads, total, err
	}
	threads, err := se.read(ctx, list)
	if err != nil {
		return nil, 0, err
	}
	return se.cut(threads)
}

// inAll keeps what every other range has, too.
func (se *search) inAll(ctx context.Context, list []found) ([]found, error) {
	const batch = 1000
	for _, r := range se.ranges[1:] {
		kept := list[:0:0]
		for from := 0; from < len(list); from += batch {
			part := list[from:min(from+batch, len(list))]
			cmds := make([]*rds.FloatCmd, len(part))
			_, err := se.s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
				for i, f := range part {
					cmds[i] = p.ZScore(ctx, se.s.keys.index(f.shard), r.member(f.at, f.id))
				}
				return nil
			})
			if err != nil && !errors.Is(err, rds.Nil) {
				return nil, unavailable(err)
			}
			for i, cmd := range cmds {
				switch err := cmd.Err(); {
				case err == nil:
					kept = append(kept, part[i])
				case !errors.Is(err, rds.Nil):
					return nil, err
				}
			}
		}
		list = kept
	}
	return list, nil
}

// byID reads the named threads and keeps those that match.
func (se *search) byID(ctx context.Context) ([]thread.Thread, int, error) {
	ids := slices.Clone(se.q.IDs)
	seen := map[string]bool{}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		twice := seen[id]
		seen[id] = true
		return twice
	})
	shown, err := se.s.glances(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	var threads []thread.Thread
	for _, t := range shown {
		if t != nil && se.matches(*t) {
			threads = append(threads, *t)
		}
	}
	return se.cut(threads)
}

// cut sorts what was read and takes the page.
func (se *search) cut(threads []thread.Thread) ([]thread.Thread, int, error) {
	query.SortThreads(threads, se.q.SortBy, se.q.SortAsc)
	total := len(threads)
	if se.q.CountOnly {
		return nil, total, nil
	}
	return query.Page(threads, se.q.Limit, se.q.Offset), total, nil
}
