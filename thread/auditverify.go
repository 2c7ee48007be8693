package thread

import (
	"encoding/json"
	"fmt"
)

// AuditError says which entry of an audit log is the first bad one, and why.
type AuditError struct {
	Entry   AuditEntry
	Problem string
}

func (e *AuditError) Error() string {
	if e.Entry.ThreadID == "" {
		return fmt.Sprintf("audit entry %d of project %s: %s", e.Entry.Seq, e.Entry.Project, e.Problem)
	}
	return fmt.Sprintf("audit entry %d of thread %s (%d of project %s): %s", e.Entry.ThreadSeq, e.Entry.ThreadID, e.Entry.Seq, e.Entry.Project, e.Problem)
}

// VerifyThreadAudit checks the whole chain of a thread, as Audit.ThreadAudit lists
// it. The error is the *AuditError of the first entry that is wrong.
func VerifyThreadAudit(list []AuditEntry) error {
	var prev AuditEntry
	for i, e := range list {
		bad := func(problem string) error { return &AuditError{Entry: e, Problem: problem} }
		switch {
		case e.ThreadID == "":
			return bad("it is of no thread")
		case i > 0 && e.ThreadID != prev.ThreadID:
			return bad("it is of another thread than those before")
		case i > 0 && e.Project != prev.Project:
			return bad("it is of another project than those before")
		case e.Seq != 0 && i > 0 && e.Seq <= prev.Seq:
			return bad("its place in the project is out of order")
		case e.Seq != 0 && i > 0 && prev.Seq == 0:
			return bad("it is sealed, but the one before isn't")
		}
		if err := e.follows(prev); err != nil {
			return err
		}
		prev = e
	}
	return nil
}

// VerifyProjectAudit checks the whole chain of a project, from its first entry, as
// Audit.ProjectAudit lists it. For one that comes in pages use AuditVerifier.
func VerifyProjectAudit(list []AuditEntry) error {
	var v AuditVerifier
	for _, e := range list {
		if err := v.Add(e); err != nil {
			return err
		}
	}
	return nil
}

// AuditVerifier checks the chain of a project, entry by entry from the first. The
// zero value is ready.
type AuditVerifier struct {
	last    AuditEntry
	threads map[string]AuditEntry // the last entry of each
}

// Add checks the next entry. The error is its *AuditError; what comes after a bad
// one can't be checked.
func (v *AuditVerifier) Add(e AuditEntry) error {
	bad := func(problem string) error { return &AuditError{Entry: e, Problem: problem} }
	switch {
	case v.last.Seq > 0 && e.Project != v.last.Project:
		return bad("it is of another project than those before")
	case e.Seq != v.last.Seq+1:
		return bad(fmt.Sprintf("it comes behind entry %d", v.last.Seq))
	case e.Seal != AuditSeal(v.last.Seal, e.Seq, e.ThreadID, e.Hash):
		return bad("its seal is wrong")
	}
	if err := e.follows(v.threads[e.ThreadID]); err != nil {
		return err
	}
	if v.threads == nil {
		v.threads = map[string]AuditEntry{}
	}
	switch {
	case e.action() == AuditDeleted: // a thread of the same id begins a chain of its own
		delete(v.threads, e.ThreadID)
	case e.ThreadID != "":
		v.threads[e.ThreadID] = e
	}
	v.last = e
	return nil
}

// Last is the newest entry that was checked; the zero value before the first.
func (v *AuditVerifier) Last() AuditEntry { return v.last }

// follows checks what an entry says of itself and of the one before it in its thread.
func (e AuditEntry) follows(prev AuditEntry) error {
	bad := func(problem string) error { return &AuditError{Entry: e, Problem: problem} }
	switch {
	case e.ThreadID == "" && (e.ThreadSeq != 0 || e.Prev != ""):
		return bad("it is of no thread, but has a place in one")
	case e.ThreadID != "" && e.ThreadSeq != prev.ThreadSeq+1:
		return bad(fmt.Sprintf("it comes behind entry %d of its thread", prev.ThreadSeq))
	case e.ThreadID != "" && e.Prev != prev.Hash:
		return bad("it doesn't name the hash of the one before in its thread")
	case e.Hash != AuditHash(e.Prev, e.ThreadSeq, e.At, e.Body):
		return bad("its hash is wrong")
	case !json.Valid(e.Body):
		return bad("its body is no JSON")
	}
	return nil
}

func (e AuditEntry) action() string {
	var b struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(e.Body, &b) != nil {
		return ""
	}
	return b.Action
}
