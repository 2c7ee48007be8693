package redis

import (
	"context"
	"encoding/base64"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/parley-dev/parley/thread"
)

// searchBatch is how many reviews a search reads at once.
const searchBatch = 100

// The phases of a search: open reviews, oldest first, then ended ones, newest first.
var searchPhases = []struct {
	statuses []string // as stored
	asc      bool
	cursor   byte
}{
	{statuses: []string{"p"}, asc: true, cursor: 'o'},
	{statuses: []string{"d", "e", "x"}, cursor: 'e'},
}

// SearchReviews implements thread.Reviews. The shards' indexes have reviews by status,
// project and creation; for the rest of the query the reviews are read. A cursor is
// the place of the last one in that order.
func (s *Store) SearchReviews(ctx context.Context, q thread.ReviewQuery) (list []thread.Review, next string, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	phase, behind, err := readCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	if q.ThreadID != "" {
		q.Limit = limit
		return s.searchThread(ctx, q, phase, behind)
	}
	for ; phase < len(searchPhases); phase, behind = phase+1, "" {
		se := reviewSearch{s: s, q: q, asc: searchPhases[phase].asc, behind: behind}
		for _, status := range searchPhases[phase].statuses {
			if wants(q.Statuses, reviewStatuses[status]) {
				se.ranges = append(se.ranges, reviewsBy(status, q.Project))
			}
		}
		for more := len(se.ranges) > 0; more; {
			var found []placed
			if found, more, err = se.page(ctx); err != nil {
				return nil, "", err
			}
			for _, f := range found {
				if len(list) == limit { // there is another one: the cursor is where the list ends
					return list, next, nil
				}
				list = append(list, f.review)
				next = writeCursor(searchPhases[phase].cursor, f.place)
			}
		}
	}
	return list, "", nil
}

// searchThread is SearchReviews in a thread, which has all its reviews together.
func (s *Store) searchThread(ctx context.Context, q thread.ReviewQuery, phase int, behind string) (list []thread.Review, next string, err error) {
	a, stored, err := s.readReviews(ctx, q.ThreadID)
	if isNotFound(err) {
		return nil, "", nil
	}
	for ; err == nil && phase < len(searchPhases); phase, behind = phase+1, "" {
		se := reviewSearch{q: q, asc: searchPhases[phase].asc}
		var found []placed
		for _, v := range stored {
			place := prefix("").member(micros(v.CreatedAt), partField(v.ThreadID, string(rune(partReview))+v.InterruptID))
			if (behind == "" || place != behind && (place > behind) == se.asc) && se.matches(v.Review, a.now) {
				found = append(found, placed{place, v.AsOf(a.now)})
			}
		}
		slices.SortFunc(found, func(x, y placed) int {
			if se.asc {
				return strings.Compare(x.place, y.place)
			}
			return strings.Compare(y.place, x.place)
		})
		for _, f := range found {
			if len(list) == q.Limit {
				return list, next, nil
			}
			list = append(list, f.review)
			next = writeCursor(searchPhases[phase].cursor, f.place)
		}
	}
	return list, "", err
}

// wants tells whether reviews of a stored status may be asked for.
func wants(statuses []thread.ReviewStatus, stored thread.ReviewStatus) bool {
	return len(statuses) == 0 || slices.Contains(statuses, stored) || stored == thread.ReviewPending && slices.Contains(statuses, thread.ReviewClaimed)
}

func writeCursor(phase byte, place string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{phase}, place...))
}

func readCursor(cursor string) (phase int, place string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(b) > timeSize {
		for i, p := range searchPhases {
			if p.cursor == b[0] {
				return i, string(b[1:]), nil
			}
		}
	}
	return 0, "", &thread.InvalidInputError{Path: []string{"cursor"}, Message: "not a cursor of this list"}
}

// reviewSearch is one phase of a search.
type reviewSearch struct {
	s      *Store
	q      thread.ReviewQuery
	ranges []prefix
	asc    bool
	behind string // place: time and field; "" for the beginning
}

// placed is a review with its place in the order.
type placed struct {
	place  string
	review thread.Review
}

// page reads the next reviews of all ranges and keeps those that match.
func (se *reviewSearch) page(ctx context.Context) (list []placed, more bool, err error) {
	var places []string
	for _, r := range se.ranges {
		low, high := r.bounds()
		if se.behind != "" && se.asc {
			low = "(" + string(r) + se.behind
		} else if se.behind != "" {
			high = "(" + string(r) + se.behind
		}
		found, err := se.s.merged(ctx, se.s.keys.partIndex, low, high, se.asc, searchBatch)
		if err != nil {
			return nil, false, unavailable(err)
		}
		more = more || len(found) == searchBatch
		for _, m := range found {
			places = append(places, m[len(r):])
		}
	}
	sort.Slice(places, func(i, j int) bool { return (places[i] < places[j]) == se.asc && places[i] != places[j] })
	if more = more || len(places) > searchBatch; len(places) > searchBatch {
		places = places[:searchBatch]
	}
	if len(places) == 0 {
		return nil, false, nil
	}
	se.behind = places[len(places)-1]
	fields := make([]string, len(places))
	for i, p := range places {
		fields[i] = p[timeSize:]
	}
	stored, now, err := se.s.reviewsAt(ctx, fields)
	if err != nil {
		return nil, false, err
	}
	for i, v := range stored {
		switch {
		case v == nil:
			owner, _, _ := splitField(fields[i])
			se.s.repair(ctx, owner)
		case se.matches(v.Review, now):
			list = append(list, placed{place: places[i], review: v.AsOf(now)})
		}
	}
	return list, more, nil
}

// matches tells whether a review is one of this phase, and of the query.
func (se *reviewSearch) matches(r thread.Review, now time.Time) bool {
	return r.Status.Open() == se.asc && se.q.Matches(r, now)
}
