package thread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// ReviewStatus is the status of a review (decisions 20).
type ReviewStatus string

// The statuses of a review. A claimed one is pending, too, and has an assignee.
const (
	ReviewPending    ReviewStatus = "pending"
	ReviewClaimed    ReviewStatus = "claimed"
	ReviewDecided    ReviewStatus = "decided"
	ReviewExpired    ReviewStatus = "expired"
	ReviewSuperseded ReviewStatus = "superseded"
)

// Open reports whether a decision is still awaited.
func (s ReviewStatus) Open() bool { return s == ReviewPending || s == ReviewClaimed }

// Review is a question that waits, or waited, for a person (design 8). A thread
// has one for each interrupt. When another run asks an open one again, or shows
// something else, it is requested anew: it gets the new generation's id, is found
// under the old ones still, and keeps its assignee, its deadline and the time
// since which it waits (Review.AskAgain). One that ended superseded and is asked
// again begins from the start, under all its ids.
type Review struct {
	// ID is ReviewID of thread, interrupt and generation.
	ID           string
	ThreadID     string
	InterruptID  string
	RunID        string // the run that asked (last); "" for an edit or a copy
	NS           string
	CheckpointID string
	Generation   int64
	// Payload and ResponseSchema are the interrupt's value and the schema of its answers.
	Payload        json.RawMessage
	ResponseSchema json.RawMessage
	ReviewDraft
	// Status is derived, by the store's clock (Review.AsOf). One whose deadline has come is open until
	// the deadline's own answer is stored (ResumeAdmission.Expired), though nobody else's is accepted.
	Status ReviewStatus
	// CreatedAt is when it was first asked. UpdatedAt is the last change's time, in the end that of its end. Store times.
	CreatedAt time.Time
	UpdatedAt time.Time
	ReviewTerms
	// Decided is set once it is decided or expired.
	Decided *Outcome
	// Version is 1 at first and grows with each change; ReviewChange compares it.
	Version int64
}

// ReviewDraft is what the asking run says of a question beside the question
// itself; stored with it in the same transition. Stores look into nothing but
// what they filter by.
type ReviewDraft struct {
	InterruptID string `json:"-"` // of Commit.Reviews; Review has its own
	// Project and Workspace scope it; stores keep "" as DefaultProject and DefaultWorkspace.
	Project     string `json:"project"`
	Workspace   string `json:"workspace"`
	ExecutionID string `json:"execution_id"`
	Agent       string `json:"agent"`
	// Tool is the tool's name; of several, the first ("a,b" lists all in Tools).
	Tool  string   `json:"tool,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Kind is tool_calls, form, review, unknown_outcome or plain.
	Kind string `json:"kind"`
	// Requester is the principal whose run asked, on a copied thread that of the original's.
	Requester string `json:"requester,omitempty"`
	// SteeredBy are those who, answering what was asked before, put something into the state themselves, and so
	// asked for this, too.
	SteeredBy []string `json:"steered_by,omitempty"`
	// AllowedDecisions is what a flat decision may be; empty: anything, or nothing (decisions 14).
	AllowedDecisions []string `json:"allowed_decisions,omitempty"`
	// Digest identifies what is shown: SHA-256 of the canonical payload, hex.
	Digest string `json:"digest"`
	// Text is what a search looks through: reason, message, names; at most a few KB.
	Text string `json:"text,omitempty"`
	// Expiry is what happens without a decision; nil: it waits for ever.
	Expiry *Expiry `json:"expiry,omitempty"`
	// Notify lists where each change of the review is announced (Delivery.URL), without repeats.
	Notify []string `json:"notify,omitempty"`
}

// Expiry is the policy of a deadline.
type Expiry struct {
	// After is the time from the question to the deadline.
	After time.Duration `json:"after"`
	// Warn is how long before the deadline a warning goes out. Default: a tenth of After, at most 1 h.
	Warn time.Duration `json:"warn,omitempty"`
	// Action is reject (default), respond or escalate.
	Action string `json:"action"`
	// Message is told to the agent (reject, respond).
	Message string `json:"message,omitempty"`
	// Role is who may decide after an escalation, which lasts After again and is followed by Then (reject or respond).
	Role string `json:"role,omitempty"`
	Then string `json:"then,omitempty"`
	// Answer is what the asking node gets when the deadline ends the question.
	Answer json.RawMessage `json:"answer,omitempty"`
}

// ReviewTerms are the parts of a review that reviewers and deadlines change.
type ReviewTerms struct {
	// Assignee has claimed the review until ClaimedUntil, store time. A lapsed claim is none: reads of an open
	// review then give neither. An ended one keeps who had it.
	Assignee     string
	ClaimedUntil time.Time
	// ExpiresAt is the deadline, WarnAt when its warning is due; zero: never, or warned already.
	// They begin as store time + Expiry.After, and Expiry.WarnBefore before that.
	ExpiresAt time.Time
	WarnAt    time.Time
	// Role, when set, is who may decide since the review was escalated; Escalations counts.
	Role        string
	Escalations int
	// Comments grow by ReviewChange; those that come with a zero time get the store's.
	Comments []Comment
}

// Comment is a reviewer's remark.
type Comment struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Outcome is how a review ended.
type Outcome struct {
	By       string // "" for an expired one
	At       time.Time
	Decision string // approve, reject, …; of an answer that names none what it amounts to: approve, reject, submit or respond
	Notes    string
	Answer   json.RawMessage
	RunID    string // the run that delivers it
}

// Reviews are the reads and changes of reviews beside the transitions that
// create (Commit.Reviews, StateEdit.Reviews, CopyThread), decide (AdmitRun),
// supersede and reopen them.
//
// Each transition that changes a review writes its audit entry, in the order of
// the changes: of ActorFrom(ctx) where the caller gave no body, filled in by
// AuditBody.About. For each address of ReviewDraft.Notify it adds a Delivery whose
// Event is the entry's action, due at once; comments, refusals and the removal of
// the thread are not announced. Nothing of this is written by a refused transition,
// nor a second time by a repeated one.
//
// A question without a draft gets no review; asked again without one, it keeps
// the review it has. A draft of no question is left out.
type Reviews interface {
	// GetReview finds a review by any id that it ever had; *NotFoundError of kind "review".
	GetReview(ctx context.Context, id string) (Review, error)
	// ThreadReviews lists a thread's reviews, oldest first, ended ones too; *NotFoundError for an unknown thread.
	ThreadReviews(ctx context.Context, threadID string) ([]Review, error)
	// SearchReviews lists reviews: open ones first, oldest first, then ended ones, newest first, both by CreatedAt.
	// next goes on behind the last; it is "" at the end. What is added, requested anew or changed in between doesn't
	// move the others. *InvalidInputError for a cursor that isn't one.
	SearchReviews(ctx context.Context, q ReviewQuery) (list []Review, next string, err error)
	// ChangeReview stores new terms of an open review, as ReviewChange.Apply has them. ErrConflict when it isn't open, or
	// has another version; *ReviewExpiredError for a claim or an extension once its deadline has come (but not for
	// AuditEscalated); *NotFoundError of kind "review".
	ChangeReview(ctx context.Context, c ReviewChange) (Review, error)
	// DueReviews lists open reviews whose WarnAt or ExpiresAt has come, by the store's clock, earliest first.
	DueReviews(ctx context.Context, limit int) ([]Review, error)
	// NextReviewDue is when the next open one becomes due, or became; zero for never.
	NextReviewDue(ctx context.Context) (time.Time, error)
}

// ReviewQuery filters reviews; empty fields don't.
type ReviewQuery struct {
	Project, Workspace string
	Statuses           []ReviewStatus
	// Tool is any of the review's tools.
	Agent, Tool string
	// Assignee has a claim that hasn't lapsed, or had one when the review ended.
	Assignee    string
	ExecutionID string
	// ThreadID selects those of a thread, found by it; of one that there isn't, none.
	ThreadID string
	// MinAge selects those that wait, or waited, at least so long.
	MinAge time.Duration
	// Text is a case-insensitive substring of ReviewDraft.Text.
	Text string
	// Keep, when set, is asked about each review that passes the other filters; it must not use the store.
	Keep   func(Review) bool
	Limit  int // default 50
	Cursor string
}

// ReviewChange changes the terms of an open review, whole.
type ReviewChange struct {
	ThreadID, InterruptID string
	// Version is the review's as it was read.
	Version int64
	Terms   ReviewTerms
	// ClaimFor, when positive, sets ClaimedUntil to so long from now, store time; Extend does the same with
	// ExpiresAt, and sets WarnAt to Expiry.WarnBefore(Extend) before that.
	ClaimFor time.Duration
	Extend   time.Duration
	// Audit is the entry that goes with it, filled in by AuditBody.About; its time is the store's.
	Audit AuditBody
}

// ReviewStore is what reviews need of a store.
type ReviewStore interface {
	Reviews
	Audit
	Keys
	Executions
	DeadLetters
}

// ReviewID is the id of a review: it names thread, interrupt and generation, and tells nothing of them.
func ReviewID(threadID, interruptID string, generation int64) string {
	sum := sha256.Sum256([]byte(threadID + "\n" + interruptID + "\n" + strconv.FormatInt(generation, 10)))
	return hex.EncodeToString(sum[:16])
}
