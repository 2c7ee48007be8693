package thread

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// Bounds of what an audit entry keeps of an attempt that was refused, in bytes.
const (
	longestRefusedAnswer = 4 << 10
	longestRefusal       = 512
)

// auditRefusal notes that a resume was refused, if it was for an open review.
func (s *Service) auditRefusal(ctx context.Context, d *draft, refusal error) {
	if d.request.expired || refusalCode(refusal) == "" {
		return
	}
	ids := resumeIDs(d.command.Resume)
	if len(ids) == 0 && len(d.open) == 1 {
		ids = []string{d.open[0].ID}
	}
	var about *MayNotDecideError
	if errors.As(refusal, &about) {
		ids = []string{about.InterruptID}
	}
	for _, id := range ids {
		r, err := s.reviewOf(ctx, d, id)
		if err != nil {
			s.complain(ctx, "find the review of a refused answer", err)
			return
		}
		if r != nil {
			s.auditRefused(ctx, *r, d.command.Resume, refusal)
			return // one entry, however many questions it named
		}
	}
}

// auditRefused notes an attempt on an open review that was not allowed, or wrong.
func (s *Service) auditRefused(ctx context.Context, r Review, answer json.RawMessage, refusal error) {
	code := refusalCode(refusal)
	if code == "" || !r.Status.Open() {
		return
	}
	body := auditOf(ctx, AuditRefused, r)
	body.Cause = code
	if len(answer) <= longestRefusedAnswer {
		body.Answer = answer
	}
	message := refusal.Error()
	if len(message) > longestRefusal {
		message = strings.ToValidUTF8(message[:longestRefusal], "") + "…"
	}
	body.Detail = encodeJSON(map[string]string{"message": message})
	if err := s.store.AppendAudit(ctx, r.Project, r.ThreadID, body); err != nil {
		s.complain(ctx, "audit a refused answer", err)
	}
}

// refusalCode is the code of a refusal that is audited; "" for faults of the server and repeats.
func refusalCode(err error) string {
	var (
		resume     *agent.ResumeError
		command    *agent.InvalidCommandError
		decision   *DecisionError
		generation *GenerationError
		expired    *ReviewExpiredError
		claimed    *ClaimedError
		forbidden  *MayNotDecideError
	)
	switch {
	case errors.As(err, &resume):
		return resume.Code
	case errors.As(err, &command):
		return "invalid_command"
	case errors.As(err, &decision):
		return decision.Code
	case errors.As(err, &generation):
		return "generation"
	case errors.As(err, &expired):
		return "review_expired"
	case errors.As(err, &claimed):
		return "claimed"
	case errors.As(err, &forbidden):
		return "forbidden"
	}
	return ""
}
