package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Mailer sends an announcement to a person.
type Mailer interface {
	// SendMail sends a message. id is the same for each attempt at one message. Errors are tried again, with
	// pauses, unless they wrap ErrMailRefused.
	SendMail(ctx context.Context, m Mail) error
}

// ErrMailRefused says that no further attempt will succeed.
var ErrMailRefused = errors.New("the mail was refused for good")

// Mail is an announcement as people read it.
type Mail struct {
	// ID is the same for each attempt at one message.
	ID      string
	To      string
	Subject string
	Text    string
	At      time.Time
}

// ReviewNotice is what a webhook tells of a review; it is signed as other webhooks are (SignatureHeader).
type ReviewNotice struct {
	// Event is what became of the review: an Audit… action, e.g. review.requested.
	Event  string       `json:"event"`
	Review NoticeReview `json:"review"`
	// Link is where people find the review; "" without Options.PublicURL.
	Link string `json:"link,omitempty"`
	// At is when the notice was made, from the review as it is then: a later event may have followed.
	At string `json:"at"`
}

// NoticeReview is a review in a ReviewNotice, without what only reviewers may see of it: arguments and answers.
type NoticeReview struct {
	ID               string       `json:"review_id"`
	Project          string       `json:"project_id"`
	Workspace        string       `json:"workspace_id"`
	ThreadID         string       `json:"thread_id"`
	RunID            string       `json:"run_id"`
	ExecutionID      string       `json:"execution_id"`
	InterruptID      string       `json:"interrupt_id"`
	Agent            string       `json:"agent"`
	Tool             string       `json:"tool,omitempty"`
	Tools            []string     `json:"tools,omitempty"`
	Kind             string       `json:"kind"`
	Reason           string       `json:"reason"`
	AllowedDecisions []string     `json:"allowed_decisions"`
	Digest           string       `json:"digest"`
	Generation       int64        `json:"generation"`
	Status           ReviewStatus `json:"status"`
	Assignee         string       `json:"assignee,omitempty"`
	Role             string       `json:"role,omitempty"`
	CreatedAt        string       `json:"created_at"`
	ExpiresAt        string       `json:"expires_at,omitempty"`
	WaitingSeconds   int64        `json:"waiting_seconds"`
	// Decision, DecidedBy and DecidedAt are set once it was decided or has expired; By is "" then.
	Decision  string `json:"decision,omitempty"`
	DecidedBy string `json:"decided_by,omitempty"`
	DecidedAt string `json:"decided_at,omitempty"`
}

const mailto = "mailto:"

// checkNotify refuses addresses that nothing could be sent to.
func checkNotify(o Options) error {
	for _, address := range o.Notify {
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return fmt.Errorf("thread: Notify: %w", err)
		case strings.HasPrefix(address, mailto):
			if o.Mailer == nil {
				return fmt.Errorf("thread: Notify: %s needs a Mailer", address)
			}
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return fmt.Errorf("thread: Notify: %q is neither a URL nor mailto:name@example.org", address)
		case o.WebhookAllow != nil:
			if err := o.WebhookAllow(address); err != nil {
				return fmt.Errorf("thread: Notify: %s is not allowed: %w", address, err)
			}
		}
	}
	return nil
}

// ReviewLink is where people find a review; "" without Options.PublicURL.
func (s *Service) ReviewLink(id string) string {
	if s.opts.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(s.opts.PublicURL, "/") + "/reviews/" + id
}

// notice makes what a delivery tells of its review. Errors: *NotFoundError when the thread is gone.
func (s *Service) notice(ctx context.Context, d Delivery) (ReviewNotice, error) {
	list, err := s.ThreadReviews(ctx, d.ThreadID)
	if err != nil {
		return ReviewNotice{}, err
	}
	for _, r := range list {
		if r.InterruptID == d.InterruptID {
			return s.noticeOf(d.Event, r), nil
		}
	}
	return ReviewNotice{}, &NotFoundError{Kind: "review", ID: d.InterruptID}
}

func (s *Service) noticeOf(event string, r Review) ReviewNotice {
	q, now := read(r.Payload, r.ResponseSchema), s.clock.Now()
	n := NoticeReview{
		ID: r.ID, Project: r.Project, Workspace: r.Workspace, ThreadID: r.ThreadID, RunID: r.RunID, ExecutionID: r.ExecutionID,
		InterruptID: r.InterruptID, Agent: r.Agent, Tool: r.Tool, Tools: r.Tools, Kind: r.Kind, Reason: q.reason,
		AllowedDecisions: orEmpty(r.AllowedDecisions), Digest: r.Digest, Generation: r.Generation, Status: r.Status,
		Assignee: r.Assignee, Role: r.Role, CreatedAt: stamp(r.CreatedAt), ExpiresAt: stamp(r.ExpiresAt),
	}
	until := now
	if r.Decided != nil {
		until = r.Decided.At
		n.Decision, n.DecidedBy, n.DecidedAt = r.Decided.Decision, r.Decided.By, stamp(r.Decided.At)
	} else if !r.Status.Open() {
		until = r.UpdatedAt
	}
	n.WaitingSeconds = int64(max(0, until.Sub(r.CreatedAt)) / time.Second)
	return ReviewNotice{Event: event, Review: n, Link: s.ReviewLink(r.ID), At: stamp(now)}
}

// noticeBody is a webhook's.
func (s *Service) noticeBody(ctx context.Context, d Delivery) ([]byte, error) {
	n, err := s.notice(ctx, d)
	if err != nil {
		return nil, err
	}
	return json.Marshal(n)
}

// mailNotice sends a notice to a person.
func (s *Service) mailNotice(ctx context.Context, d Delivery) error {
	if s.opts.Mailer == nil {
		return fmt.Errorf("no mailer to send to %s with", d.URL)
	}
	n, err := s.notice(ctx, d)
	if err != nil {
		return err
	}
	return s.opts.Mailer.SendMail(ctx, n.mail(d, s.clock.Now()))
}

// headlines say in a few words what became of a review.
var headlines = map[string]string{
	AuditRequested: "waits for a decision", AuditClaimed: "is being looked at", AuditReleased: "is free again",
	AuditExtended: "has a later deadline", AuditDecided: "was decided", AuditExpiring: "expires soon",
	AuditExpired: "has expired", AuditEscalated: "was escalated", AuditSuperseded: "needs no decision any more",
	AuditReopened: "waits for a decision again",
}

// mail puts a notice into words.
func (n ReviewNotice) mail(d Delivery, at time.Time) Mail {
	r, headline := n.Review, headlines[n.Event]
	if headline == "" {
		headline = n.Event
	}
	subject := r.Agent
	if r.Tool != "" {
		subject += ": " + strings.Join(r.Tools, ", ")
	}
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", label+":", value)
		}
	}
	fmt.Fprintf(&b, "A review %s.\n\n", headline)
	line("Agent", r.Agent)
	line("Tools", strings.Join(r.Tools, ", "))
	line("Reason", r.Reason)
	line("Status", string(r.Status))
	line("Decision", r.Decision)
	line("By", r.DecidedBy)
	line("Assignee", r.Assignee)
	line("Role", r.Role)
	line("Since", r.CreatedAt)
	line("Expires", r.ExpiresAt)
	line("Review", r.ID)
	if n.Link != "" {
		b.WriteString("\n" + n.Link + "\n")
	}
	to, _, _ := strings.Cut(strings.TrimPrefix(d.URL, mailto), "?")
	return Mail{ID: d.ID, To: to, Subject: oneLine("Review " + headline + ": " + subject), Text: b.String(), At: at}
}

// oneLine makes a text fit for a header.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
