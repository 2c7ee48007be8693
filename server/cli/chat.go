package cli

import (
	"context"
	"errors"
	"fmt"
)

// chat talks with the agent until the input ends. When the run suspends, the decision is asked for
// inline, and the conversation goes on.
func (s *session) chat(ctx context.Context) error {
	if err := s.c.knows(ctx, s.cmd.Agent); err != nil {
		return s.parted(err)
	}
	if err := s.say(fmt.Sprintf("Session %s with %s. An empty input (Ctrl-D) or /exit ends it.\n", oneLine(s.w.session), oneLine(s.cmd.Agent))); err != nil {
		return err
	}
	if err := s.goOn(ctx); err != nil {
		return s.parted(err)
	}
	for {
		text, err := s.ask.line(ctx, "> ")
		if err != nil {
			return s.parted(err)
		}
		if text == "" {
			continue
		}
		body := map[string]any{"agent": s.cmd.Agent, "message": text}
		if err := s.exchange(ctx, s.invoked(body)); err != nil {
			return s.parted(err)
		}
	}
}

// goOn takes up a session that waits for a decision.
func (s *session) goOn(ctx context.Context) error {
	if s.cmd.Session == "" {
		return nil
	}
	return s.takeUp(ctx)
}

func (s *session) takeUp(ctx context.Context) error {
	e, err := s.c.suspendedIn(ctx, s.w.session)
	if err != nil || e == nil {
		return err
	}
	return s.exchange(ctx, func(context.Context, func(string)) (*execution, error) { return e, nil })
}

// exchange is a turn of a chat: what the server refuses, and runs that fail, are told, and the chat goes on.
func (s *session) exchange(ctx context.Context, begin step) error {
	e, err := s.turn(ctx, begin)
	var api *APIError
	switch {
	case errors.As(err, &api) && api.Code == sessionSuspended: // somebody else's message has led to a question
		return errors.Join(s.say(printable(api.Detail)+"\n"), s.takeUp(ctx))
	case errors.As(err, &api) && coded(err) == err: //nolint:errorlint // unchanged: a refusal of this message only
		return s.say(printable(api.Error()) + "\n")
	case err != nil:
		return err
	case e.Status == failed:
		return s.say("The execution failed: " + e.failure() + "\n")
	}
	return nil
}
