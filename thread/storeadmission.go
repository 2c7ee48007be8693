package thread

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Admission asks for a run.
type Admission struct {
	Run Run
	// CreateThread, when set, is stored first if the thread does not exist.
	CreateThread *Thread
	// ThreadMetadata and ThreadConfig are merged into the thread.
	ThreadMetadata Metadata
	ThreadConfig   json.RawMessage
	// Strategy decides on inflight runs: reject (ErrBusy), enqueue, interrupt, rollback. A resume ignores it.
	Strategy string
	// Resume, when set, is checked and stored whole.
	Resume *ResumeAdmission
	// DropsPending: new input discards the pending superstep; its interrupts become superseded.
	DropsPending bool
	// KeepsPending: refused with ErrConflict while questions wait on the thread.
	KeepsPending bool
	// IdempotencyKey, when set, makes the admission repeatable for KeyTTL.
	IdempotencyKey string
	KeyTTL         time.Duration
	// Fingerprint and the window make a repeat without a key (decisions 9): equal Fingerprint of the newest
	// run, not ended, at most Window old. "" for never.
	Fingerprint string
	Window      time.Duration
	// Claim, when set, claims the run in the same transition if nothing else of the
	// thread is inflight and the run may start at once (decisions 5).
	Claim *Claim
	// WakeAt is for queues: the run's NotBefore.
}

// ResumeAdmission is the part of an admission that answers interrupts.
type ResumeAdmission struct {
	ExpectHead       string
	ExpectGeneration int64 // 0: not checked
	Answers          []agent.Answer
	// Writes is the command's record (update, goto) on the head; nil for none.
	Writes *agent.TaskRecord
	// Merged is the record in whose place Writes comes, as it was read; nil for none. ErrConflict when there is
	// another one: Writes would undo what came with another answer.
	Merged *agent.TaskRecord
	// Fingerprint identifies equal answers by the same principal (decisions 8, "Repeat").
	Fingerprint string
	// Outcomes say, for each of Answers in their order, what was decided, and the audit entry of it. Without them,
	// and for questions without a review, they are as if empty. The review's Outcome gets the answer's By and Value,
	// the store's time and the run.
	Outcomes []AnswerOutcome
	// Expired marks the answers of deadlines: refused with ErrConflict unless each has a review whose ExpiresAt has come.
	// All other answers to a review whose ExpiresAt has come are refused with *ReviewExpiredError,
	// both by the store's clock (D-103).
	Expired bool
	// RespectClaims refuses, with *ClaimedError, answers to reviews that somebody else than the answer's By has claimed.
	// That a question is decided already, or no longer pending, is said before either.
	RespectClaims bool
}

// AnswerOutcome is what an answer means for its review.
type AnswerOutcome struct {
	Decision string
	Notes    string
	// Audit is the entry: its Action is AuditDecided, or AuditExpired, unless it says otherwise; Decision, Notes,
	// Answer and RunID are this answer's unless set, the rest is AuditBody.About's.
	Audit AuditBody
}

// Admitted is the result of AdmitRun.
type Admitted struct {
	Run    Run
	Thread Thread
	// Repeat: the run existed already; nothing was stored.
	Repeat bool
	// ThreadCreated: CreateThread was stored.
	ThreadCreated bool
	// Lease is set when Admission.Claim was granted. Run still reads as pending, as
	// it was admitted.
	Lease *Lease
	// Cancelled are inflight runs that the strategy ended or marked.
	Cancelled []Run
	// Told is what the log got of them; see Runs.
	Told []Entry
}

// AlreadyDecidedError says that an interrupt was answered before, differently (decisions 8).
type AlreadyDecidedError struct {
	InterruptID string
	Answer      agent.Answer
	// ReviewID and Decision are those of the question's review; the service adds them, where there is one.
	ReviewID, Decision string
}

func (e *AlreadyDecidedError) Error() string {
	return decidedWords(about(e.ReviewID, e.InterruptID), e.Answer.By, e.Decision, e.Answer.At)
}

// Unwrap makes errors.Is(err, ErrConflict) false on purpose: a reload does not help.
func (e *AlreadyDecidedError) Unwrap() error { return nil }

// ReviewExpiredError says that a review's deadline had come before the answer.
type ReviewExpiredError struct {
	InterruptID string
	At          time.Time
	// ReviewID is added by the service.
	ReviewID string
}

func (e *ReviewExpiredError) Error() string {
	return expiredWords(about(e.ReviewID, e.InterruptID), e.At)
}

// ClaimedError says that somebody else has claimed a review.
type ClaimedError struct {
	InterruptID string
	Assignee    string
	Until       time.Time
	// ReviewID is added by the service.
	ReviewID string
}

func (e *ClaimedError) Error() string {
	text := about(e.ReviewID, e.InterruptID) + " is claimed by " + e.Assignee
	if !e.Until.IsZero() {
		text += " until " + stamp(e.Until)
	}
	return text
}
