package thread

import (
	"context"
	"encoding/json"
	"time"
)

// AuditBody is the content of an audit entry: who did what to which review, and
// what they saw. Its canonical JSON (keys sorted, no spaces) is what is hashed and
// kept, to the byte.
type AuditBody struct {
	// Action is one of the Audit… constants.
	Action string `json:"action"`
	Actor  Actor  `json:"actor"`
	// What it was about; "" where it doesn't apply.
	ReviewID    string `json:"review_id,omitempty"`
	InterruptID string `json:"interrupt_id,omitempty"`
	RunID       string `json:"run_id,omitempty"`
	ExecutionID string `json:"execution_id,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Tool        string `json:"tool,omitempty"`
	// Tools are all tools that a review of several is about, Tool is the first; nil for one tool.
	Tools      []string `json:"tools,omitempty"`
	Generation int64    `json:"generation,omitempty"`
	// Digest identifies what was shown, Shown is its snapshot.
	Digest string          `json:"digest,omitempty"`
	Shown  json.RawMessage `json:"shown,omitempty"`
	// Decision, Notes and Answer are what was decided.
	Decision string          `json:"decision,omitempty"`
	Notes    string          `json:"notes,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	// Cause says why (superseded, reopened and requested: a Cause… constant; refused: the error's code).
	Cause string `json:"cause,omitempty"`
	// Detail is whatever else the action has to say, e.g. a key's roles or a policy's digest.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// The actions of audit entries.
const (
	AuditRequested  = "review.requested"
	AuditClaimed    = "review.claimed"
	AuditReleased   = "review.released"
	AuditExtended   = "review.extended"
	AuditCommented  = "review.commented"
	AuditExpiring   = "review.expiring" // the warning before a deadline
	AuditEscalated  = "review.escalated"
	AuditDecided    = "review.decided"
	AuditExpired    = "review.expired"
	AuditSuperseded = "review.superseded"
	AuditReopened   = "review.reopened" // the run that delivered the answer was rolled back
	AuditRefused    = "review.refused"  // an attempt that was not allowed, or wrong
	AuditExecuted   = "tool.executed"
	AuditDeleted    = "thread.deleted"
	AuditKeyCreated = "key.created"
	AuditKeyRevoked = "key.revoked"
	AuditPolicy     = "policy.changed" // of Agent and Tool, from Detail's before to its after
)

// Why the store itself ended, reopened or made a review.
const (
	CauseInput    = "input"    // new input dropped the pending superstep
	CauseEdit     = "edit"     // a state update replaced the checkpoint that asked
	CauseRun      = "run"      // the run that asked, or another one, went on without the answer
	CauseCancel   = "cancel"   // the execution was cancelled
	CauseRollback = "rollback" // the run that asked, or answered, was rolled back
	CauseDelete   = "delete"   // it, or the thread, was removed
	CauseCopy     = "copy"     // requested because the thread was copied
)

// Actor is who did something, as the server authenticated them.
type Actor struct {
	// Principal is the identity; "" for the system itself (deadlines).
	Principal string `json:"principal,omitempty"`
	// Kind is key, token, user (of auth hooks), anonymous, agent or system.
	Kind      string   `json:"kind,omitempty"`
	Roles     []string `json:"roles,omitempty"`
	Address   string   `json:"address,omitempty"`
	RequestID string   `json:"request_id,omitempty"`
	// Via is the route's dialect: classic, v2, executions, reviews, audit, keys, mcp; deadline; cron; serve; command line; run, of
	// what the principal's run did.
	Via string `json:"via,omitempty"`
}

type actorKey struct{}

// WithActor returns a context whose transitions are audited as this actor's.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorFrom is the actor of a context; the zero value without one.
func ActorFrom(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}

// AuditEntry is a line of the audit log. Entries of a thread form a chain, in
// the transition that they belong to; a sealer appends each to the chain of the
// project, in which those without a thread stand alone (decisions 4). All of a
// thread's entries belong to the project that its first one named.
//
//	BodyHash = sha256(Body)
//	Hash     = sha256(Prev "\n" ThreadSeq "\n" At in µs "\n" BodyHash)      prev of the first: ""
//	Seal     = sha256(Seal of Seq-1 "\n" Seq "\n" ThreadID "\n" Hash)        all in lower-case hex
//
// An entry without a thread has ThreadSeq 0 and Prev "". VerifyThreadAudit and
// VerifyProjectAudit check all of this.
type AuditEntry struct {
	Project  string
	Seq      int64 // in the project, 1, 2, 3 …; 0 while it isn't sealed
	Seal     string
	ThreadID string
	// ThreadSeq numbers the thread's entries 1, 2, 3 …
	ThreadSeq int64
	At        time.Time // store time, in whole microseconds
	Prev      string
	Hash      string
	Body      json.RawMessage // AuditBody.Canonical
}

// Audit is the audit log. Transitions write it (Commit.Audit, AnswerOutcome.Audit, ReviewChange.Audit,
// and of themselves what they request, supersede and reopen); nothing changes or removes an entry, also not
// the thread's removal, before which its entries are sealed. The removal of a thread that has a chain ends
// it with an AuditDeleted entry; a later thread of the same id begins a new one. Project "" is DefaultProject.
type Audit interface {
	// AppendAudit adds an entry to a thread's chain outside of a transition (a refused attempt), or, with threadID
	// "", to the project's. A body without an actor gets ActorFrom(ctx). *NotFoundError for an unknown thread.
	AppendAudit(ctx context.Context, project, threadID string, body AuditBody) error
	// ThreadAudit lists the chain of a thread that exists, from its start; *NotFoundError. Its newest entries may be unsealed.
	ThreadAudit(ctx context.Context, threadID string) ([]AuditEntry, error)
	// ProjectAudit lists sealed entries with Seq > after, in order, at most limit, those of removed threads too.
	ProjectAudit(ctx context.Context, project string, after int64, limit int) ([]AuditEntry, error)
	// AuditEnd is the Seq of the project's newest sealed entry; 0 for none.
	AuditEnd(ctx context.Context, project string) (int64, error)
	// Unsealed lists entries that are older than the given time and stand in no project's chain yet; at most limit.
	Unsealed(ctx context.Context, before time.Time, limit int) ([]AuditEntry, error)
	// SealAudit seals what waits, each thread's entries in their order; it returns how many. Stores that seal in the
	// transition return 0.
	SealAudit(ctx context.Context) (int, error)
}
