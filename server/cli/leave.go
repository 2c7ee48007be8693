package cli

import (
	"errors"
	"fmt"
	"strings"
)

// parted is the end of a conversation by the person, or by a signal: it says what still waits, or goes on. Other
// errors stay as they are.
func (s *session) parted(err error) error {
	var by *interrupted
	signalled := errors.As(err, &by)
	switch {
	case err == nil || !signalled && !errors.Is(err, errNoMore):
		return err
	case s.waiting != nil:
		session := fmt.Sprintf("parley invoke %s --session %s", oneLine(s.cmd.Agent), oneLine(s.w.session))
		return &ExitError{ExitSuspended, stillWaits(s.waiting.ReviewIDs, session)}
	case !signalled:
		return nil
	case s.running:
		return &ExitError{by.exitCode(), fmt.Errorf("%w: the execution goes on in the session %s", by, oneLine(s.w.session))}
	}
	return &ExitError{Code: by.exitCode()}
}

// stillWaits says of reviews that they are as open as before, and how they can be decided; again is a command that asks once more.
func stillWaits(ids []string, again string) error {
	what := "the review still waits; decide it"
	if len(ids) > 1 {
		what = "the reviews still wait; decide them"
	}
	ways := []string{}
	if again != "" {
		ways = append(ways, again)
	}
	for _, id := range ids {
		ways = append(ways, "parley reviews decide "+id)
	}
	return errors.New(what + " with " + strings.Join(ways, ", or "))
}
