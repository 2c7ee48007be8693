package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
)

// Review is the review of the question with the same id.
type Review struct {
	Interrupt string `json:"interrupt"`
	// IDs are all that it ever had, sorted.
	IDs     []string `json:"ids"`
	Status  string   `json:"status"` // pending (claimed or not), decided, expired, superseded
	Draft   Raw      `json:"draft"`  // thread.ReviewDraft, JSON
	Created int64    `json:"created"`
	Updated int64    `json:"updated"`
	Version int64    `json:"version"`

	Assignee     string `json:"assignee,omitempty"`
	ClaimedUntil int64  `json:"claimed_until,omitempty"`
	Expires      int64  `json:"expires,omitempty"`
	Warn         int64  `json:"warn,omitempty"`
	Role         string `json:"role,omitempty"`
	Escalations  int64  `json:"escalations,omitempty"`
	Comments     Raw    `json:"comments,omitempty"` // []thread.Comment, JSON
	Outcome      Raw    `json:"outcome,omitempty"`  // EncodeOutcome; decided and expired ones
}

// Audit is an entry of the audit log, as thread.AuditEntry has it.
type Audit struct {
	Project   string `json:"project"`
	Seq       int64  `json:"seq"`
	Seal      string `json:"seal"`
	Thread    string `json:"thread,omitempty"`
	ThreadSeq int64  `json:"thread_seq,omitempty"`
	At        int64  `json:"at"`
	Prev      string `json:"prev,omitempty"`
	Hash      string `json:"hash"`
	Body      Raw    `json:"body"`
}

// APIKey is an API key.
type APIKey struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	Created int64  `json:"created"`
	Revoked int64  `json:"revoked,omitempty"`
	Doc     Raw    `json:"doc"` // EncodeKey
}

// AuditOf is an audit entry as a dump has it.
func AuditOf(e thread.AuditEntry) *Audit {
	return &Audit{Project: e.Project, Seq: e.Seq, Seal: e.Seal, Thread: e.ThreadID, ThreadSeq: e.ThreadSeq, At: e.At.UnixMicro(), Prev: e.Prev,
		Hash: e.Hash, Body: Raw(e.Body)}
}

// Entry is the audit entry as stores keep it.
func (a *Audit) Entry() thread.AuditEntry {
	return thread.AuditEntry{Project: a.Project, Seq: a.Seq, Seal: a.Seal, ThreadID: a.Thread, ThreadSeq: a.ThreadSeq, At: time.UnixMicro(a.At).UTC(),
		Prev: a.Prev, Hash: a.Hash, Body: json.RawMessage(a.Body)}
}

// ReviewOf is a review as a dump has it, and stores may keep it: with its terms as
// they were stored (not as Review.AsOf reads them). ids are all that it ever had.
func ReviewOf(r thread.Review, ids []string) (*Review, error) {
	out := &Review{Interrupt: r.InterruptID, IDs: ids, Status: string(r.Status), Created: micros(r.CreatedAt), Updated: micros(r.UpdatedAt),
		Version: r.Version, Assignee: r.Assignee, ClaimedUntil: micros(r.ClaimedUntil), Expires: micros(r.ExpiresAt), Warn: micros(r.WarnAt),
		Role: r.Role, Escalations: int64(r.Escalations)}
	if r.Status == thread.ReviewClaimed {
		out.Status = string(thread.ReviewPending)
	}
	var err error
	if out.Draft, err = encode(r.ReviewDraft); err != nil {
		return nil, err
	}
	if len(r.Comments) > 0 {
		if out.Comments, err = encode(r.Comments); err != nil {
			return nil, err
		}
	}
	if r.Decided != nil {
		out.Outcome, err = EncodeOutcome(*r.Decided)
	}
	return out, err
}

// Take fills in what a dump has of a review; the rest of r stays: it is the question's.
func (v *Review) Take(r *thread.Review) error {
	r.InterruptID, r.Status, r.Version = v.Interrupt, thread.ReviewStatus(v.Status), v.Version
	r.CreatedAt, r.UpdatedAt = timeOf(v.Created), timeOf(v.Updated)
	if err := json.Unmarshal(v.Draft, &r.ReviewDraft); err != nil {
		return fmt.Errorf("transfer: review of %s: %w", v.Interrupt, err)
	}
	r.ReviewTerms = thread.ReviewTerms{Assignee: v.Assignee, ClaimedUntil: timeOf(v.ClaimedUntil), ExpiresAt: timeOf(v.Expires), WarnAt: timeOf(v.Warn),
		Role: v.Role, Escalations: int(v.Escalations)}
	if len(v.Comments) > 0 {
		if err := json.Unmarshal(v.Comments, &r.Comments); err != nil {
			return fmt.Errorf("transfer: review of %s: %w", v.Interrupt, err)
		}
	}
	r.Decided = nil
	if len(v.Outcome) == 0 {
		return nil
	}
	o, err := DecodeOutcome(v.Outcome)
	if err != nil {
		return fmt.Errorf("transfer: review of %s: %w", v.Interrupt, err)
	}
	r.Decided = &o
	return nil
}

// outcome is thread.Outcome in JSON; the answer is a text, so that it stays as it is.
type outcome struct {
	By       string `json:"by,omitempty"`
	At       int64  `json:"at"`
	Decision string `json:"decision,omitempty"`
	Notes    string `json:"notes,omitempty"`
	Answer   Raw    `json:"answer,omitempty"`
	Run      string `json:"run,omitempty"`
}

// EncodeOutcome is an outcome in JSON.
func EncodeOutcome(o thread.Outcome) (Raw, error) {
	return encode(outcome{By: o.By, At: micros(o.At), Decision: o.Decision, Notes: o.Notes, Answer: Raw(o.Answer), Run: o.RunID})
}

// DecodeOutcome is the outcome that EncodeOutcome encoded.
func DecodeOutcome(b Raw) (thread.Outcome, error) {
	var o outcome
	err := json.Unmarshal(b, &o)
	return thread.Outcome{By: o.By, At: timeOf(o.At), Decision: o.Decision, Notes: o.Notes, Answer: json.RawMessage(o.Answer), RunID: o.Run}, err
}

// KeyOf is an API key as a dump has it.
func KeyOf(k thread.Key) (*APIKey, error) {
	out := &APIKey{ID: k.ID, Project: k.Project, Created: micros(k.CreatedAt), Revoked: micros(k.RevokedAt)}
	k.ID, k.Project, k.CreatedAt, k.RevokedAt = "", "", time.Time{}, time.Time{}
	var err error
	out.Doc, err = encode(k)
	return out, err
}

// Key is the API key as stores keep it.
func (k *APIKey) Key() (thread.Key, error) {
	var out thread.Key
	if err := json.Unmarshal(k.Doc, &out); err != nil {
		return out, fmt.Errorf("transfer: key %s: %w", k.ID, err)
	}
	out.ID, out.Project, out.CreatedAt, out.RevokedAt = k.ID, k.Project, timeOf(k.Created), timeOf(k.Revoked)
	if !out.ExpiresAt.IsZero() {
		out.ExpiresAt = out.ExpiresAt.UTC()
	}
	return out, nil
}

// encode is JSON in which nothing is escaped that needn't be.
func encode(v any) (Raw, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return Raw(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(m int64) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m).UTC()
}
