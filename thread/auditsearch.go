package thread

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// AuditQuery filters a project's audit log; empty fields don't.
type AuditQuery struct {
	Project     string
	ThreadID    string
	ExecutionID string
	ReviewID    string
	// Actions are any of the Audit… constants.
	Actions []string
	// Principal is who did it, Agent whose review it is about.
	Principal string
	Agent     string
	// Since and Until bound the time: Since ≤ At < Until.
	Since, Until time.Time
	// Oldest has the oldest come first. Default: the newest do.
	Oldest bool
	Limit  int // default 50
	// Cursor goes on behind the entry with that Seq; 0 begins.
	Cursor int64
}

const (
	defaultAuditPage = 50
	// auditBatch is how many entries are read at once.
	auditBatch = 500
	// auditScan bounds how many entries one search looks at: a filter that nothing passes gives an empty page with a cursor.
	auditScan = 20_000
)

// AuditFound is an entry with its body decoded.
type AuditFound struct {
	AuditEntry
	AuditBody
}

// SearchAudit lists sealed entries of a project's audit log. next is the cursor of what follows, 0 at the
// end; a page may be short, or empty, before that.
func (s *Service) SearchAudit(ctx context.Context, q AuditQuery) (list []AuditFound, next int64, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultAuditPage
	}
	end, err := s.sealedEnd(ctx, q.Project)
	if err != nil {
		return nil, 0, err
	}
	at := q.Cursor
	if !q.Oldest && (at <= 0 || at > end) {
		at = end + 1
	}
	for scanned := 0; scanned < auditScan; {
		batch, err := s.auditBehind(ctx, q, at, min(auditBatch, auditScan-scanned))
		if err != nil || len(batch) == 0 {
			return list, 0, err
		}
		scanned += len(batch)
		for _, e := range batch {
			at = e.Seq
			f, past := q.find(e)
			if past {
				return list, 0, nil
			}
			if f == nil {
				continue
			}
			if list = append(list, *f); len(list) == q.Limit {
				return list, q.rest(at, end), nil
			}
		}
	}
	return list, q.rest(at, end), nil
}

// ExportAudit hands on each entry that the query selects, oldest first, up to the newest one at its start:
// the same export again begins with the same. Limit and Cursor aren't looked at. Errors: those of each.
func (s *Service) ExportAudit(ctx context.Context, q AuditQuery, each func(AuditFound) error) error {
	end, err := s.sealedEnd(ctx, q.Project)
	if err != nil {
		return err
	}
	q.Oldest = true
	for at := int64(0); at < end; {
		batch, err := s.auditBehind(ctx, q, at, int(min(auditBatch, end-at)))
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			return nil
		}
		for _, e := range batch {
			at = e.Seq
			f, past := q.find(e)
			if past {
				return nil
			}
			if f == nil {
				continue
			}
			if err := each(*f); err != nil {
				return err
			}
		}
	}
	return nil
}

// sealedEnd seals what waits, so that a search finds what was just done, and tells the newest entry's Seq.
func (s *Service) sealedEnd(ctx context.Context, project string) (int64, error) {
	if _, err := s.store.SealAudit(ctx); err != nil {
		return 0, err
	}
	return s.store.AuditEnd(ctx, project)
}

// auditBehind reads the n entries behind a Seq, in the query's order.
func (s *Service) auditBehind(ctx context.Context, q AuditQuery, at int64, n int) ([]AuditEntry, error) {
	if q.Oldest {
		return s.store.ProjectAudit(ctx, q.Project, at, n)
	}
	after := max(0, at-1-int64(n)) // Seq has no holes
	if n = int(at - 1 - after); n <= 0 {
		return nil, nil
	}
	batch, err := s.store.ProjectAudit(ctx, q.Project, after, n)
	slices.Reverse(batch)
	return batch, err
}

// rest is the cursor behind an entry; 0 when it is the last.
func (q AuditQuery) rest(at, end int64) int64 {
	if q.Oldest && at >= end || !q.Oldest && at <= 1 {
		return 0
	}
	return at
}

// find decodes an entry that the query selects; nil for others. past tells that none will follow.
func (q AuditQuery) find(e AuditEntry) (f *AuditFound, past bool) {
	switch {
	case !q.Oldest && e.At.Before(q.Since.Add(-auditSkew)), q.Oldest && !q.Until.IsZero() && e.At.After(q.Until.Add(auditSkew)):
		return nil, true
	case e.At.Before(q.Since), !q.Until.IsZero() && !e.At.Before(q.Until), q.ThreadID != "" && e.ThreadID != q.ThreadID:
		return nil, false
	}
	f = &AuditFound{AuditEntry: e}
	if json.Unmarshal(e.Body, &f.AuditBody) != nil { // a damaged entry is shown, by its chain
		f.AuditBody = AuditBody{}
	}
	is := func(want, have string) bool { return want == "" || want == have }
	if !is(q.ExecutionID, f.ExecutionID) || !is(q.ReviewID, f.ReviewID) || !is(q.Principal, f.Actor.Principal) ||
		!is(q.Agent, f.AuditBody.Agent) || len(q.Actions) > 0 && !slices.Contains(q.Actions, f.Action) {
		return nil, false
	}
	return f, false
}

// auditSkew is how far the order in a project's chain may be off that of time: threads' entries are sealed behind their transitions.
const auditSkew = 24 * time.Hour
