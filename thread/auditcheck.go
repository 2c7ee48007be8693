package thread

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// auditSealedWithin is how old an entry may be that stands in no project's chain yet (decisions 4).
const auditSealedWithin = time.Minute

// AuditReport says what VerifyAudit found.
type AuditReport struct {
	Project string
	// Entries and Threads are how many were checked; Unsealed are younger than a minute and in the chains of threads only.
	Entries  int64
	Threads  int
	Unsealed int
	// Last is the newest entry of the project's chain; the zero value for an empty one. Whoever keeps its Seq and
	// Seal can later ask whether the log still has it (AuditAnchor).
	Last AuditEntry
	// Err is the first bad entry; nil when all is well.
	Err *AuditError
	At  time.Time
}

// AuditAnchor is an entry that was seen before, by its seal.
type AuditAnchor struct {
	Seq  int64
	Seal string
}

// VerifyAudit checks a project's chain from its first entry, each thread's own chain against it, and that nothing older
// than a minute is unsealed. An anchor with Seq above 0 has to stand in the chain as it was. What is wrong is in
// the report; errors are the store's.
func (s *Service) VerifyAudit(ctx context.Context, project string, anchor AuditAnchor) (AuditReport, error) {
	if project == "" {
		project = DefaultProject
	}
	c := &auditCheck{s: s, anchor: anchor, report: AuditReport{Project: project, At: s.Now()}}
	err := c.run(ctx)
	c.report.Last = c.chain.Last()
	if !errors.As(err, &c.report.Err) && err != nil {
		return AuditReport{}, err
	}
	return c.report, nil
}

type auditCheck struct {
	s      *Service
	anchor AuditAnchor
	report AuditReport
	chain  AuditVerifier
	// late are entries that are too old to be unsealed, unless they get sealed meanwhile.
	late []AuditEntry
}

func (c *auditCheck) run(ctx context.Context) (err error) {
	if c.late, err = c.unsealed(ctx); err != nil {
		return err
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.anchored(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.chain.threads)) {
		c.report.Threads++
		if err := c.thread(ctx, id, c.chain.threads[id]); err != nil {
			return err
		}
	}
	return c.sealed()
}

// unsealed lists the project's entries that should have been sealed.
func (c *auditCheck) unsealed(ctx context.Context) ([]AuditEntry, error) {
	list, err := c.s.store.Unsealed(ctx, c.report.At.Add(-auditSealedWithin), auditScan)
	return slices.DeleteFunc(list, func(e AuditEntry) bool { return e.Project != c.report.Project }), err
}

// read checks the project's chain as far as it goes.
func (c *auditCheck) read(ctx context.Context) error {
	for end := int64(-1); ; {
		batch, err := c.s.store.ProjectAudit(ctx, c.report.Project, c.chain.Last().Seq, auditBatch)
		if err != nil {
			return err
		}
		for _, e := range batch {
			if err := c.chain.Add(e); err != nil {
				return err
			}
			c.report.Entries++
			if e.Seq == c.anchor.Seq && e.Seal != c.anchor.Seal {
				return &AuditError{Entry: e, Problem: "its seal was another one when it was seen before"}
			}
		}
		if last := c.chain.Last().Seq; len(batch) == 0 && last < end { // which it was before that read
			return &AuditError{Entry: AuditEntry{Project: c.report.Project, Seq: last + 1}, Problem: "it is missing"}
		}
		if len(batch) > 0 {
			continue
		}
		if end, err = c.s.store.AuditEnd(ctx, c.report.Project); err != nil || end <= c.chain.Last().Seq {
			return err
		}
	}
}

// anchored refuses a chain that is shorter than it was.
func (c *auditCheck) anchored() error {
	if last := c.chain.Last(); c.anchor.Seq > last.Seq {
		return &AuditError{
			Entry: AuditEntry{Project: c.report.Project, Seq: c.anchor.Seq}, Problem: fmt.Sprintf("it is missing: the log ends with entry %d", last.Seq),
		}
	}
	return nil
}

// thread checks a thread's own chain, of which the project has the entries up to last.
func (c *auditCheck) thread(ctx context.Context, id string, last AuditEntry) error {
	list, err := c.s.store.ThreadAudit(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return c.removed(ctx, last)
	}
	if err != nil {
		return err
	}
	if err := VerifyThreadAudit(list); err != nil {
		return err
	}
	bad := func(problem string) error { return &AuditError{Entry: last, Problem: problem} }
	if int64(len(list)) < last.ThreadSeq {
		return bad("its thread doesn't have it")
	}
	if own := list[last.ThreadSeq-1]; own.Hash != last.Hash {
		if gone := c.removed(ctx, last); gone == nil { // and another thread has its id
			return nil
		}
		return bad("its thread has another one in its place")
	}
	for _, e := range list[last.ThreadSeq:] { // sealed meanwhile, or waiting
		if e.Seq == 0 {
			c.report.Unsealed++
		}
	}
	return nil
}

// removed accepts that a thread is gone if the chain has gone on since with its removal.
func (c *auditCheck) removed(ctx context.Context, last AuditEntry) error {
	for at := last.Seq; ; {
		batch, err := c.s.store.ProjectAudit(ctx, c.report.Project, at, auditBatch)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			return &AuditError{Entry: last, Problem: "its thread is gone, and the log doesn't say who removed it"}
		}
		for _, e := range batch {
			if at = e.Seq; e.ThreadID == last.ThreadID && e.action() == AuditDeleted {
				return nil
			}
		}
	}
}

// sealed refuses entries that were left out of the project's chain.
func (c *auditCheck) sealed() error {
	for _, e := range c.late {
		if c.chain.threads[e.ThreadID].ThreadSeq < e.ThreadSeq {
			return &AuditError{Entry: e, Problem: "it is older than a minute and not sealed"}
		}
	}
	return nil
}
