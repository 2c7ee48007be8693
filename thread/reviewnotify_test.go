package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// postbox is a Mailer that keeps what it is given.
type postbox struct {
	mu   sync.Mutex
	fail error
	got  []thread.Mail
}

func (p *postbox) SendMail(_ context.Context, m thread.Mail) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return p.fail
	}
	p.got = append(p.got, m)
	return nil
}

func (p *postbox) mails() []thread.Mail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// notices are those that a receiver got, each once, by event.
func notices(t *testing.T, r *receiver) map[string]thread.ReviewNotice {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]thread.ReviewNotice{}
	for _, body := range r.bodies {
		var n thread.ReviewNotice
		require.NoError(t, json.Unmarshal(body, &n))
		require.NotContains(t, all, n.Event)
		all[n.Event] = n
	}
	return all
}

// D-97: every change of a review is announced, signed, and by mail.
func TestChangesOfReviewsAreAnnounced(t *testing.T) {
	t.Parallel()
	hook, box := newReceiver(t, 0), &postbox{}
	client := hook.Client()
	t.Cleanup(client.CloseIdleConnections)
	late := refund
	late.Expiry = &agent.Expiry{After: 24 * time.Hour}
	b := reviewers(t, []agent.Agent{claims(late)}, with(func(o *thread.Options) {
		o.Notify, o.PublicURL = []string{hook.URL, "mailto:rita@example.org"}, "https://parley.example.org/"
		o.WebhookSecret, o.HTTPClient, o.Mailer = "secret", client, box
	}))
	r := b.ask("claims", "alice")
	_, err := b.svc.ClaimReview(as("rita"), r.ID, 0)
	require.NoError(t, err)
	_, err = b.svc.CommentReview(as("rita"), r.ID, "hm")
	require.NoError(t, err)
	_, err = b.svc.ExtendReview(as("rita"), r.ID, time.Hour, time.Time{})
	require.NoError(t, err)
	b.decide(as("rita"), r.ID, "approve", "fine")
	want := []string{thread.AuditRequested, thread.AuditClaimed, thread.AuditExtended, thread.AuditDecided}
	eventually(t, "the announcements", func() bool { return hook.got() >= len(want) && len(box.mails()) >= len(want) })

	got := notices(t, hook)
	for _, event := range want {
		n, ok := got[event]
		require.True(t, ok, event)
		require.Equal(t, "https://parley.example.org/reviews/"+r.ID, n.Link)
		require.Equal(t, r.ID, n.Review.ID)
		require.Equal(t, r.ThreadID, n.Review.ThreadID)
		require.Equal(t, "claims", n.Review.Agent)
		require.Equal(t, "Above the limit", n.Review.Reason)
		require.Equal(t, []string{"Approve", "Reject"}, n.Review.AllowedDecisions)
		require.NotEmpty(t, n.Review.ExpiresAt)
	}
	require.Len(t, got, len(want))
	decided := got[thread.AuditDecided].Review
	require.Equal(t, thread.ReviewDecided, decided.Status)
	require.Equal(t, "Approve", decided.Decision)
	require.Equal(t, "rita", decided.DecidedBy)
	for i, body := range hook.bodies {
		require.Equal(t, thread.Sign("secret", hook.heads[i].Get(thread.TimestampHeader), body), hook.heads[i].Get(thread.SignatureHeader))
		require.NotContains(t, string(body), "CLM-4821", "what is under review is for reviewers")
	}
	subjects := map[string]bool{}
	for _, m := range box.mails() {
		require.Equal(t, "rita@example.org", m.To)
		require.Contains(t, m.Text, "https://parley.example.org/reviews/"+r.ID)
		require.NotContains(t, m.Text, "CLM-4821")
		subjects[m.Subject] = true
	}
	require.True(t, subjects["Review waits for a decision: claims"], subjects)
	require.True(t, subjects["Review was decided: claims"], subjects)
}

// D-95, D-96: warnings and ends are announced.
func TestDeadlinesAreAnnounced(t *testing.T) {
	t.Parallel()
	hook, clock := newReceiver(t, 0), newManualClock()
	client := hook.Client()
	t.Cleanup(client.CloseIdleConnections)
	late := refund
	late.Expiry = &agent.Expiry{After: 10 * time.Hour}
	b := reviewers(t, []agent.Agent{claims(late)}, withClock(clock), with(func(o *thread.Options) {
		o.Notify, o.HTTPClient = []string{hook.URL}, client
	}))
	r := b.ask("claims", "alice")
	clock.advance(9 * time.Hour)
	b.passing("the warning", func() bool { return b.review(r.ID).WarnAt.IsZero() })
	clock.advance(time.Hour)
	b.ended(r.ID)
	b.passing("the announcements", func() bool { return hook.got() >= 3 })
	got := notices(t, hook)
	require.Len(t, got, 3)
	require.Empty(t, got[thread.AuditRequested].Link, "nobody said where the server is")
	require.Contains(t, got, thread.AuditExpiring)
	require.Equal(t, "expired", got[thread.AuditExpired].Review.Decision)
	require.Empty(t, got[thread.AuditExpired].Review.DecidedBy)
}

// What nobody takes is kept, and listed.
func TestAnAnnouncementThatNobodyTakesIsADeadLetter(t *testing.T) {
	t.Parallel()
	hook, clock, box := newReceiver(t, 1000), newManualClock(), &postbox{fail: fmt.Errorf("%w: no such user", thread.ErrMailRefused)}
	client := hook.Client()
	t.Cleanup(client.CloseIdleConnections)
	b := reviewers(t, []agent.Agent{claims(refund)}, withClock(clock), with(func(o *thread.Options) {
		o.Notify, o.HTTPClient, o.Mailer = []string{hook.URL, "mailto:nobody@example.org"}, client, box
	}))
	r := b.ask("claims", "alice")
	var dead []thread.Delivery
	letters := func(n int) func() bool {
		return func() bool {
			var err error
			dead, err = b.svc.ReviewStore().DeadDeliveries(context.Background(), 10)
			require.NoError(t, err)
			if len(dead) < n {
				clock.advance(10 * time.Minute)
			}
			return len(dead) >= n
		}
	}
	eventually(t, "the mail that is refused for good", letters(1))
	require.Equal(t, "mailto:nobody@example.org", dead[0].URL)
	require.Contains(t, dead[0].LastError, "no such user")
	require.Equal(t, thread.AuditRequested, dead[0].Event)
	eventually(t, "the webhook that was tried often enough", letters(2))
	require.Equal(t, hook.URL, dead[0].URL)
	require.Equal(t, r.InterruptID, dead[0].InterruptID)
	require.Equal(t, 12, hook.got())
	require.Contains(t, dead[0].LastError, "503")
	require.True(t, b.review(r.ID).Status.Open(), "the review waits on")
}

func TestAddressesThatCantBeMeantAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]thread.Options{
		"needs a Mailer": {Notify: []string{"mailto:a@b.c"}},
		"neither a URL":  {Notify: []string{"a@b.c"}},
		"is not allowed": {Notify: []string{"http://10.0.0.1/x"}, WebhookAllow: func(string) error { return errors.New("internal") }},
	} {
		o.Store = setup(t, notStarted()).store
		_, err := thread.NewService(o)
		require.ErrorContains(t, err, want)
	}
}

// follower is a Publisher that counts the hints of projects.
type follower struct {
	*audience
	mu    sync.Mutex
	hints map[string]int
}

func (f *follower) ReviewsChanged(project string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hints[project]++
}

func (f *follower) count(project string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hints[project]
}

// decisions 17: each change of a project's reviews is hinted at.
func TestEachChangeIsHintedAt(t *testing.T) {
	t.Parallel()
	f := &follower{audience: newAudience(), hints: map[string]int{}}
	b := reviewers(t, []agent.Agent{claims(refund)}, with(func(o *thread.Options) { o.Publisher = f }))
	change := func(what string, do func()) {
		t.Helper()
		before := f.count("acme")
		do()
		eventually(t, what, func() bool { return f.count("acme") > before })
	}
	id := b.thread()
	start := input(id, "claims", `{"messages":"hi"}`)
	start.Project, start.Workspace = "acme", "north"
	change("a question", func() { b.run(start) })
	r := b.open(id)
	require.Equal(t, "acme", r.Project)
	require.Equal(t, "north", r.Workspace)
	change("a claim", func() { _, err := b.svc.ClaimReview(as("rita"), r.ID, 0); require.NoError(t, err) })
	change("a decision", func() {
		run, _ := b.decide(as("rita"), r.ID, "approve", "")
		require.Equal(t, "acme", run.Project, "a resume belongs where its execution does")
	})
	change("another question", func() { b.run(start) })
	change("new input", func() { b.run(start) })
	change("an edit", func() {
		_, _, _, err := b.svc.UpdateState(context.Background(), id, thread.StateUpdate{Values: json.RawMessage(`{"got":1}`), AsNode: "ask"})
		require.NoError(t, err)
	})
	require.Zero(t, f.count("default"))
}
