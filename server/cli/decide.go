package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// allowedIn are the decisions that a suspension's context allows; empty: any.
func allowedIn(suspension json.RawMessage) []string {
	var c struct {
		Allowed []string `json:"allowed_decisions"`
	}
	_ = json.Unmarshal(suspension, &c) // an object or nothing
	return c.Allowed
}

// choice is what a person decided.
type choice struct{ decision, notes string }

// askDecision asks for one of the allowed decisions, or for any where none is listed, and for notes.
func askDecision(ctx context.Context, a *asker, allowed []string) (c choice, err error) {
	if len(allowed) == 0 {
		c.decision, err = a.insist(ctx, "Decision: ")
	} else {
		c.decision, err = a.option(ctx, "Select a decision:", allowed)
	}
	if err != nil {
		return c, err
	}
	c.notes, err = askNotes(ctx, a)
	return c, err
}

// settle has a person decide all that an execution waits for, and returns it as it goes on.
func (s *session) settle(ctx context.Context, e *execution) (*execution, error) {
	for _, id := range e.ReviewIDs {
		r, err := s.c.review(ctx, id)
		if err != nil {
			return e, err
		}
		if len(e.ReviewIDs) == 1 && questionOf(r) == nil && oneDecision(e.SuspendContext) {
			return s.settleFlat(ctx, e)
		}
		if err := s.settleReview(ctx, r); err != nil {
			return e, err
		}
	}
	return s.c.execution(ctx, e.ID)
}

// oneDecision reports whether one word settles a suspension: several calls are decided each, and an edit has arguments.
func oneDecision(suspension json.RawMessage) bool {
	var c struct {
		Actions []json.RawMessage `json:"action_requests"`
	}
	_ = json.Unmarshal(suspension, &c) // an object or nothing
	return len(c.Actions) < 2 && !slices.ContainsFunc(allowedIn(suspension), isEdit)
}

func isEdit(decision string) bool { return strings.EqualFold(decision, "edit") }

// settleFlat decides by the executions API.
func (s *session) settleFlat(ctx context.Context, e *execution) (*execution, error) {
	if err := showSuspension(s.out, e.SuspendReason, e.SuspendContext); err != nil {
		return e, err
	}
	for {
		c, err := askDecision(ctx, s.ask, allowedIn(e.SuspendContext))
		if err != nil {
			return e, err
		}
		now, err := s.c.resume(ctx, e.ID, decision{c.decision, c.notes, e.Generation})
		if err == nil {
			return now, s.say("Execution resumed.\n")
		}
		gone, err := s.refused(err)
		if err != nil {
			return e, err
		}
		if gone {
			return s.c.execution(ctx, e.ID)
		}
	}
}

// settleReview decides by the reviews API: one of several reviews, one whose arguments may be edited, or a question
// that takes more than a word.
func (s *session) settleReview(ctx context.Context, r *review) error {
	if err := showSuspension(s.out, r.SuspendReason, r.SuspendContext); err != nil {
		return err
	}
	q := questionOf(r)
	if q != nil {
		if err := s.say(q.hint()); err != nil {
			return err
		}
	}
	for {
		body, err := askReview(ctx, s.ask, r, q)
		if err != nil {
			return err
		}
		if _, err = s.c.decide(ctx, r.ID, body); err == nil {
			return s.say("Execution resumed.\n")
		}
		if gone, err := s.refused(err); err != nil || gone {
			return err
		}
	}
}

// refused tells a person of a refusal; gone reports that there is nothing to decide any more.
func (s *session) refused(err error) (gone bool, _ error) {
	var api *APIError
	if !errors.As(err, &api) || api.Status != http.StatusConflict && api.Status != http.StatusBadRequest && api.Status != http.StatusUnprocessableEntity {
		return false, err
	}
	return api.Status == http.StatusConflict, s.say(printable(api.Error()) + "\n")
}

func (s *session) say(text string) error {
	_, err := fmt.Fprint(s.out, text)
	return err
}

// askReview asks for what a review takes: q's answer, where that isn't nil, or a decision for each action, or one.
func askReview(ctx context.Context, a *asker, r *review, q *question) (map[string]any, error) {
	if q != nil {
		return q.ask(ctx, a)
	}
	if len(r.Actions) == 0 {
		c, err := askDecision(ctx, a, r.Allowed)
		return map[string]any{"decision": c.decision, "notes": c.notes, "suspend_generation": r.Generation}, err
	}
	body := map[string]any{"suspend_generation": r.Generation}
	list := make([]map[string]any, len(r.Actions))
	for i, action := range r.Actions {
		title := "Select a decision:"
		if len(r.Actions) > 1 {
			title = fmt.Sprintf("Select a decision for %s (%d of %d):", oneLine(action.Name), i+1, len(r.Actions))
		}
		d, err := askAction(ctx, a, title, action)
		if err != nil {
			return nil, err
		}
		list[i] = d
	}
	notes, err := askNotes(ctx, a)
	for _, d := range list {
		if d["type"] == "reject" && notes != "" { // the agent is told
			d["message"] = notes
		}
	}
	body["decisions"], body["notes"] = list, notes
	return body, err
}

func askNotes(ctx context.Context, a *asker) (string, error) {
	return a.line(ctx, "Reviewer notes (optional): [default: ] ")
}

func askAction(ctx context.Context, a *asker, title string, act action) (map[string]any, error) {
	chosen, err := a.option(ctx, title, act.Allowed)
	if err != nil {
		return nil, err
	}
	d := map[string]any{"type": chosen}
	switch chosen {
	case "edit":
		args, err := askArguments(ctx, a, act.Args)
		if err != nil {
			return nil, err
		}
		d["edited_action"] = map[string]any{"name": act.Name, "args": args}
	case "respond":
		if d["message"], err = a.insist(ctx, "Response: "); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// askArguments asks for other arguments; an empty line keeps them.
func askArguments(ctx context.Context, a *asker, args json.RawMessage) (json.RawMessage, error) {
	for {
		given, err := a.line(ctx, "Arguments (JSON): [default: "+compact(args)+"] ")
		if err != nil || given == "" {
			return args, err
		}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(given), &object) == nil && object != nil {
			return json.RawMessage(given), nil
		}
		if _, err := fmt.Fprintln(a.out, "Please give a JSON object."); err != nil {
			return nil, err
		}
	}
}

// compact is JSON on one line.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return printable(string(raw))
	}
	return printable(b.String())
}
