package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// sessionSuspended is the server's code for an invocation of a session that waits for a decision.
const sessionSuspended = "SESSION_SUSPENDED"

// told says of a refusal what to do about it on the command line.
func (s *session) told(ctx context.Context, err error) error {
	var api *APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.Code {
	case sessionSuspended:
		api.Detail = fmt.Sprintf("the session %s waits for a decision", s.w.session)
		api.Fields = append(api.Fields, fmt.Sprintf(`decide it: parley invoke %s --session %s --resume '{"decision": …}'`, s.cmd.Agent, s.w.session))
		for _, id := range api.ReviewIDs {
			api.Fields = append(api.Fields, "or: parley reviews decide "+id+"; reviews show tells what is asked")
		}
	case agentNotFound:
		return s.c.withAgents(ctx, api)
	}
	return err
}

// moreThanAWord adds to the refusal of a flat decision how a whole answer is given.
func moreThanAWord(err error, reviews []string) error {
	var api *APIError
	if errors.As(err, &api) && (api.Status == http.StatusBadRequest || api.Status == http.StatusUnprocessableEntity) {
		for _, id := range reviews {
			api.Fields = append(api.Fields, "parley reviews show "+id+" tells what is asked, parley reviews decide "+id+" --answer '{…}' gives a whole answer")
		}
	}
	return err
}

// nothingWaits refuses a decision of a session that waits for none, and says who was faster.
func (s *session) nothingWaits(ctx context.Context) error {
	text := fmt.Sprintf("the session %s waits for no decision", s.w.session)
	var list struct {
		Executions []*execution `json:"executions"`
	}
	query := url.Values{"session_id": {s.w.session}, "workspace_id": {s.c.Workspace}, "limit": {"1"}}
	if err := s.c.call(ctx, http.MethodGet, s.c.project("executions"), query, nil, &list); err != nil {
		return err
	}
	if len(list.Executions) > 0 {
		query = url.Values{"execution_id": {list.Executions[0].ID}, "status": {"decided", "expired"}, "limit": {"1"}}
		newest, _, err := s.c.reviews(ctx, query)
		if err != nil {
			return err
		}
		for _, r := range newest {
			if r.Decided != nil {
				text += fmt.Sprintf(": %s by %s at %s", or(r.Decided.Decision, "answered"), r.decider(), r.Decided.At)
			}
		}
	}
	return &ExitError{ExitConflict, errors.New(text)}
}
