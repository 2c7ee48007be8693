package redis

import (
	"context"
	"slices"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/transfer"
)

// auditBatch is how many audit entries are read at once.
const auditBatch = 500

func (s *Store) dumpKeys(ctx context.Context, emit func(*transfer.Record) error) error {
	list, err := s.ListKeys(ctx, "")
	for _, k := range list {
		out, err := transfer.KeyOf(k)
		if err != nil {
			return err
		}
		if err := emit(&transfer.Record{APIKey: out}); err != nil {
			return err
		}
	}
	return err
}

// dumpAudit are the audit entries of no thread that is left: of none at all, or of a chain
// that isn't that of the thread with that id.
func (s *Store) dumpAudit(ctx context.Context, emit func(*transfer.Record) error) error {
	projects, err := s.client.HKeys(ctx, s.keys.projects()[0]).Result()
	if err != nil {
		return err
	}
	slices.Sort(projects)
	for _, project := range projects {
		left := map[string]bool{} // threads whose chain, as it comes in the project's, is that of a thread that is left
		for after := int64(0); ; {
			list, err := s.ProjectAudit(ctx, project, after, auditBatch)
			if err != nil {
				return err
			}
			for _, e := range list {
				if e.ThreadSeq == 1 {
					if left[e.ThreadID], err = s.begins(ctx, e); err != nil {
						return err
					}
				}
				if e.ThreadID != "" && left[e.ThreadID] {
					continue
				}
				if err := emit(&transfer.Record{Audit: transfer.AuditOf(e)}); err != nil {
					return err
				}
			}
			if len(list) < auditBatch {
				break
			}
			after = list[len(list)-1].Seq
		}
	}
	return nil
}

// begins tells whether an entry is the first of the chain of its thread, as that is now.
func (s *Store) begins(ctx context.Context, e thread.AuditEntry) (bool, error) {
	r := s.eval(ctx, "chain", s.keys.thread(e.ThreadID), "from", 1, 1)
	if r.err != nil {
		return false, r.err
	}
	c, err := takeChain(e.ThreadID, &r)
	if isNotFound(err) {
		return false, nil
	}
	return c.first == e.Hash, err
}

func (d dump) reviews() error {
	_, list, err := d.s.readReviews(d.ctx, d.id)
	for _, v := range list {
		out, err := transfer.ReviewOf(v.Review, slices.Sorted(slices.Values(v.ids)))
		if err != nil {
			return err
		}
		if err := d.emit(&transfer.Record{Review: out}); err != nil {
			return err
		}
	}
	return err
}

func (d dump) audit() error {
	list, err := d.s.ThreadAudit(d.ctx, d.id)
	for _, e := range list {
		if err := d.emit(&transfer.Record{Audit: transfer.AuditOf(e)}); err != nil {
			return err
		}
	}
	return err
}
