package cli

import (
	"context"
	"errors"
	"fmt"
)

// chat talks with the agent until the input ends. When the run suspends, the decision is asked for
// inline, and the conversation goes on.
func (s *session) chat(ctx context.Context) error {
	if err := s.say(fmt.Sprintf("Session %s with %s. An empty input (Ctrl-D) or /exit ends it.\n", oneLine(s.w.session), oneLine(s.cmd.Agent))); err != nil {
		return err
	}
	if err := s.goOn(ctx); err != nil {
		return ended(err)
	}
	for {
		text, err := s.ask.line(ctx, "> ")
		if err != nil {
			return ended(err)
		}
		switch text {
		case "":
			continue
		case "/exit", "/quit":
			return nil
		}
		body := map[string]any{"agent": s.cmd.Agent, "message": text}
		if err := s.exchange(ctx, s.invoked(body)); err != nil {
			return ended(err)
		}
	}
}

// goOn takes up a session that waits for a decision.
func (s *session) goOn(ctx context.Context) error {
	if s.cmd.Session == "" {
		return nil
	}
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
	case errors.As(err, &api) && coded(err) == err: //nolint:errorlint // unchanged: a refusal of this message only
		return s.say(printable(api.Error()) + "\n")
	case err != nil:
		return err
	case e.Status == failed:
		return s.say("The execution failed: " + e.failure() + "\n")
	}
	return nil
}

// ended is the end of a chat by the person.
func ended(err error) error {
	if errors.Is(err, errNoMore) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
