package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/r3labs/sse/v2"
)

type watchReviews struct {
	listReviews
}

// Run implements the command.
func (cmd *watchReviews) Run(s *Streams) error {
	ctx, stop := untilSignal()
	defer stop()
	err := cmd.watch(ctx, s.Out)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return coded(err)
}

// watch prints each review of the list when it is new or has changed. The feed only says that the list is to be
// read again; a feed that breaks is opened anew, and the list read, so that nothing is missed.
func (cmd *watchReviews) watch(ctx context.Context, w io.Writer) error {
	if err := checkAddress(cmd.BaseURL); err != nil {
		return err
	}
	c, known := cmd.client(), map[string]string{}
	for {
		// The subscription begins with a hint for what was there before.
		hints := make(chan struct{}, 1)
		hints <- struct{}{}
		ended := make(chan error, 1)
		feed, leave := context.WithCancel(ctx)
		go func() {
			ended <- c.subscribe(feed, c.project("reviews", "stream"), func(*sse.Event) {
				select {
				case hints <- struct{}{}:
				default: // it will be read again anyway
				}
			})
		}()
		err := cmd.print(ctx, c, w, known, hints, ended)
		leave()
		var refused *APIError
		if errors.As(err, &refused) && refused.Status != 0 && refused.Status < http.StatusInternalServerError || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, againAfter); err != nil {
			return err
		}
	}
}

// print reads the list after each hint, until the feed has ended.
func (cmd *watchReviews) print(ctx context.Context, c *client, w io.Writer, known map[string]string, hints <-chan struct{}, ended <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case <-hints:
		}
		list, _, err := c.reviews(ctx, cmd.query(""))
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, r := range list {
			there[r.ID] = true
			state := r.Status + " " + r.Assignee + " " + r.ExpiresAt + " " + r.Role
			if known[r.ID] == state {
				continue
			}
			known[r.ID] = state
			if err := cmd.line(w, r); err != nil {
				return err
			}
		}
		for id := range known {
			if there[id] {
				continue
			}
			delete(known, id)
			r, err := c.review(ctx, id)
			if err != nil {
				return err
			}
			if err := cmd.line(w, r); err != nil {
				return err
			}
		}
	}
}

// line prints a review on one line.
func (cmd *watchReviews) line(w io.Writer, r *review) error {
	if cmd.JSON {
		b, err := json.Marshal(r.raw) // compact
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", escapeJSON(b))
		}
		return err
	}
	text := fmt.Sprintf("%s  %-10s  %s: %s", r.ID, r.Status, oneLine(r.Agent), oneLine(r.what()))
	if r.Role != "" {
		text += " (for the role " + oneLine(r.Role) + ")"
	}
	if r.Status == "claimed" {
		text += " (" + oneLine(r.Assignee) + ")"
	}
	if d := r.Decided; d != nil {
		text += fmt.Sprintf(" (%s by %s)", oneLine(or(d.Decision, "answered")), oneLine(r.decider()))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
