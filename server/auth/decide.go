package auth

import (
	"context"
	"net/http"
	"slices"

	"github.com/parley-dev/parley/thread"
)

// DecisionRules say who may decide a review.
type DecisionRules struct {
	// SelfApproval lets whoever started a run decide what it asks. Default: somebody
	// else has to, as soon as callers say who they are (D-102). Anonymous callers,
	// among whom nobody can be told from another, and users of the deployment's own
	// hooks without roles are not held to it.
	SelfApproval bool
}

// Codes of refused decisions, in Error.Code.
const (
	CodeAgent        = "agent_cannot_decide"
	CodeSelfApproval = "self_approval"
	CodeNotReviewer  = "not_a_reviewer"
)

// MayDecide reports whether an actor may answer a review, by whatever API: nil, or
// an *Error with status 403. It is made for thread.Options.MayDecide.
func (d DecisionRules) MayDecide(_ context.Context, a thread.Actor, r thread.Review) error {
	roles := Roles(a.Roles)
	switch {
	case a.Kind == KindAgent:
		return AgentsDecideNothing
	case a.Kind == "" || a.Kind == "system": // the program itself, and deadlines
		return nil
	case a.Kind == KindUser && len(roles) == 0:
		return nil // its hooks have allowed it
	case r.Role != "" && !roles.covers(r.Role):
		return denied(CodeNotReviewer, "The review was escalated to the role "+r.Role+".")
	case !roles.Reviews(r.Agent, toolsOf(r)...):
		return denied(CodeNotReviewer, "Your roles don't cover this review.")
	case a.Kind != KindAnonymous && !d.SelfApproval && r.Requester != "" && r.Requester == a.Principal:
		return denied(CodeSelfApproval, "You started the run that asks: somebody else has to decide (the server's flag --self-approval allows it).")
	case a.Kind != KindAnonymous && !d.SelfApproval && slices.Contains(r.SteeredBy, a.Principal):
		return denied(CodeSelfApproval, "An update of yours came before this question: somebody else has to decide (the server's flag --self-approval allows it).")
	}
	return nil
}

// AgentsDecideNothing refuses decisions of programs.
var AgentsDecideNothing = denied(CodeAgent, "An agent can't decide a review: a person has to.")

func denied(code, message string) *Error {
	return &Error{Status: http.StatusForbidden, Code: code, Message: message}
}
