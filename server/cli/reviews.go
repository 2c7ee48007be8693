package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Reviews are the commands of reviewers (D-108).
type Reviews struct {
	List    listReviews   `cmd:"" help:"List reviews, those that wait longest first."`
	Show    showReview    `cmd:"" help:"Show all there is to a review."`
	Approve approveReview `cmd:"" help:"Approve a review."`
	Reject  rejectReview  `cmd:"" help:"Reject a review."`
	Decide  decideReview  `cmd:"" help:"Decide a review: asked in a terminal, or by flags."`
	Claim   claimReview   `cmd:"" help:"Take a review on, so that others leave it alone."`
	Release releaseReview `cmd:"" help:"Give a review back."`
	Extend  extendReview  `cmd:"" help:"Put the deadline off."`
	Comment commentReview `cmd:"" help:"Add a remark."`
	Watch   watchReviews  `cmd:"" help:"Print reviews as they come and change, until interrupted."`
}

// output is the form of what is printed.
type output struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type listReviews struct {
	Connection
	output
	Status   []string      `help:"open (default), pending, claimed, decided, expired, superseded." default:"open"`
	Agent    string        `help:"Of this agent only."`
	Tool     string        `help:"Of calls of this tool only."`
	Assignee string        `help:"Claimed by this principal; me is the caller."`
	Thread   string        `help:"Asked on this thread." placeholder:"ID"`
	MinAge   time.Duration `help:"That wait at least so long."`
	Search   string        `short:"q" help:"That contain this text."`
	Limit    int           `help:"At most so many." default:"50"`
}

func (cmd *listReviews) query(cursor string) url.Values {
	q := url.Values{"status": cmd.Status, "limit": {strconv.Itoa(min(cmd.Limit, 200))}}
	for k, v := range map[string]string{"agent": cmd.Agent, "tool": cmd.Tool, "assignee": cmd.Assignee, "thread_id": cmd.Thread, "q": cmd.Search, "cursor": cursor} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if cmd.MinAge > 0 {
		q.Set("min_age", cmd.MinAge.String())
	}
	return q
}

// Run implements the command.
func (cmd *listReviews) Run(s *Streams) error {
	c, cursor, all := cmd.client(), "", []*review{}
	for {
		list, next, err := c.reviews(context.Background(), cmd.query(cursor))
		if err != nil {
			return coded(err)
		}
		all = append(all, list[:min(len(list), cmd.Limit-len(all))]...)
		if cursor = next; cursor == "" || len(all) >= cmd.Limit {
			break
		}
	}
	if cmd.JSON {
		return writeReviews(s.Out, all)
	}
	if len(all) == 0 {
		none := "No pending reviews."
		if !slices.Equal(cmd.Status, []string{"open"}) {
			none = "No reviews."
		}
		_, err := fmt.Fprintln(s.Out, none)
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tAGENT\tWHAT\tSTATUS\tWAITING\tDEADLINE\tASSIGNEE") // Flush has the error
	for _, r := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, oneLine(r.Agent), oneLine(r.what()), r.Status, r.waited(), or(r.ExpiresAt, "never"), or(oneLine(r.Assignee), "-"))
	}
	return w.Flush()
}

func writeReviews(w io.Writer, list []*review) error {
	raw := make([]json.RawMessage, len(list))
	for i, r := range list {
		raw[i] = r.raw
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return writeIndented(w, b)
}

// what is what a review is about: each tool that is asked for once, so that nobody approves one unseen.
func (r *review) what() string {
	var tools []string
	for _, a := range r.Actions {
		if !slices.Contains(tools, a.Name) {
			tools = append(tools, a.Name)
		}
	}
	switch {
	case len(tools) > 0:
		return strings.Join(tools, ", ")
	case r.Tool != "":
		return r.Tool
	case r.SuspendReason != "":
		return r.SuspendReason
	}
	return r.Kind
}

// decisions tells what is expected: for each action, where they differ, and of an answer its parts.
func (r *review) decisions() string {
	all := r.allowed()
	if q := questionOf(r); q != nil {
		return q.decisions()
	}
	if len(r.Actions) == 0 && len(all) == 0 {
		return "Expected: a decision in words of your own (--decision" + map[bool]string{true: ", or --answer with any JSON"}[r.Kind == kindPlain] + ")\n"
	}
	text := "Allowed decisions: " + oneLine(or(strings.Join(all, ", "), "any")) + "\n"
	if !slices.ContainsFunc(r.Actions, func(a action) bool { return len(a.Allowed) > len(all) }) {
		return text
	}
	text = "Allowed decisions, for all together: " + oneLine(or(strings.Join(all, ", "), "none")) + "; by --decisions:\n"
	for _, a := range r.Actions {
		text += "  " + oneLine(a.Name) + ": " + oneLine(strings.Join(a.Allowed, ", ")) + "\n"
	}
	return text
}

// allowed are the decisions that every action of a review takes.
func (r *review) allowed() []string {
	if len(r.Actions) == 1 {
		return r.Actions[0].Allowed
	}
	return r.Allowed
}

// decider is who decided. A person whom the server doesn't know isn't the deadline.
func (r *review) decider() string {
	switch {
	case r.Decided.By != "":
		return r.Decided.By
	case r.Status == "expired":
		return "the deadline"
	}
	return "anonymous"
}

func (r *review) waited() string { return (time.Duration(r.Waiting) * time.Second).String() }

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// one names a review.
type one struct {
	ID string `arg:"" help:"Id of the review."`
	Connection
	output
}

type showReview struct{ one }

// Run implements the command.
func (cmd *showReview) Run(s *Streams) error {
	r, err := cmd.client().review(context.Background(), cmd.ID)
	if err != nil {
		return coded(err)
	}
	return cmd.print(s, r)
}

// print shows a review after a command.
func (o output) print(s *Streams, r *review) error {
	if o.JSON {
		return writeIndented(s.Out, r.raw)
	}
	head := fmt.Sprintf("Review %s: %s\nExecution %s, agent %s, requested by %s\nWaiting since %s (%s), deadline %s\n",
		r.ID, r.Status, or(r.ExecutionID, "-"), oneLine(r.Agent), oneLine(or(r.Requester, "an anonymous caller")), r.CreatedAt, r.waited(), or(r.ExpiresAt, "none"))
	if r.Role != "" {
		head += "Decided by people with the role " + oneLine(r.Role) + "\n"
	}
	if r.Assignee != "" {
		head += "Claimed by " + oneLine(r.Assignee) + "\n"
	}
	if r.Message != "" {
		head += "Original message:\n" + indented(printable(r.Message))
	}
	if _, err := io.WriteString(s.Out, head); err != nil {
		return err
	}
	if err := showSuspension(s.Out, r.SuspendReason, r.SuspendContext); err != nil {
		return err
	}
	tail := r.decisions()
	for _, c := range r.Comments {
		tail += fmt.Sprintf("Comment of %s at %s:\n%s", oneLine(c.By), c.At, indented(printable(c.Text)))
	}
	if d := r.Decided; d != nil {
		tail += fmt.Sprintf("Decided: %s by %s at %s\n", oneLine(or(d.Decision, "answered")), oneLine(r.decider()), d.At)
		if d.Notes != "" {
			tail += "Notes:\n" + indented(printable(d.Notes))
		}
	}
	_, err := io.WriteString(s.Out, tail)
	return err
}

// decided sends a decision and says what became of it.
func (cmd *one) decided(s *Streams, body map[string]any) error {
	r, err := cmd.client().decide(context.Background(), cmd.ID, body)
	if err != nil {
		if _, word := body["decision"]; word {
			err = moreThanAWord(err, []string{cmd.ID})
		}
		return coded(err)
	}
	if cmd.JSON {
		return writeIndented(s.Out, r.raw)
	}
	_, err = fmt.Fprintf(s.Out, "Review %s: %s. The execution %s goes on.\n", r.ID, r.Status, or(r.ExecutionID, r.ThreadID))
	return err
}

type approveReview struct {
	one
	Notes string `help:"Reviewer notes."`
}

// Run implements the command.
func (cmd *approveReview) Run(s *Streams) error {
	return cmd.decided(s, map[string]any{"decision": "approve", "notes": cmd.Notes})
}

type rejectReview struct {
	one
	Notes string `help:"Reviewer notes: the agent is told."`
}

// Run implements the command.
func (cmd *rejectReview) Run(s *Streams) error {
	return cmd.decided(s, map[string]any{"decision": "reject", "notes": cmd.Notes})
}

type decideReview struct {
	one
	Decision  string `help:"One of the allowed decisions, for all that is asked." xor:"what"`
	Decisions string `help:"A decision for each tool call, in their order: [{\"type\": \"approve\"}, {\"type\": \"edit\", \"edited_action\": {\"name\": …, \"args\": …}}]." xor:"what" placeholder:"JSON"`
	Answer    string `help:"The whole answer, as JSON." xor:"what" placeholder:"JSON"`
	Notes     string `help:"Reviewer notes."`
}

// Run implements the command.
func (cmd *decideReview) Run(s *Streams) error {
	body := map[string]any{}
	switch {
	case cmd.Decision != "":
		body["decision"] = cmd.Decision
	case cmd.Decisions != "":
		body["decisions"] = json.RawMessage(cmd.Decisions)
	case cmd.Answer != "":
		body["answer"] = json.RawMessage(cmd.Answer)
	case !s.Interactive:
		return &ExitError{2, errors.New("give --decision, --decisions or --answer")}
	default:
		ctx, stop := untilSignal()
		defer stop()
		r, err := cmd.client().review(ctx, cmd.ID)
		if err != nil {
			return coded(err)
		}
		if err := (output{}).print(s, r); err != nil {
			return err
		}
		if _, err := io.WriteString(s.Out, "/exit leaves it open.\n"); err != nil {
			return err
		}
		body, err = askReview(ctx, newAsker(s), r, questionOf(r))
		if errors.Is(err, errNoMore) || errors.Is(err, context.Canceled) {
			return &ExitError{ExitSuspended, stillWaits([]string{r.ID}, "")}
		}
		if err != nil {
			return err
		}
	}
	for _, given := range []string{cmd.Decisions, cmd.Answer} {
		if given != "" && !json.Valid([]byte(given)) {
			return &ExitError{2, errors.New("--decisions and --answer take JSON")}
		}
	}
	if cmd.Notes != "" {
		body["notes"] = cmd.Notes
	}
	return cmd.decided(s, body)
}

// change posts a change of a review and prints it.
func (cmd *one) change(s *Streams, what string, body any) error {
	c := cmd.client()
	var r *review
	if err := c.call(context.Background(), http.MethodPost, c.project("reviews", cmd.ID, what), nil, body, &r); err != nil {
		return coded(err)
	}
	return cmd.print(s, r)
}

type claimReview struct {
	one
	For time.Duration `help:"How long." default:"15m"`
}

// Run implements the command.
func (cmd *claimReview) Run(s *Streams) error {
	return cmd.change(s, "claim", map[string]any{"for": cmd.For.String()})
}

type releaseReview struct{ one }

// Run implements the command.
func (cmd *releaseReview) Run(s *Streams) error {
	return cmd.change(s, "release", map[string]any{})
}

type extendReview struct {
	one
	By time.Duration `help:"How much longer." required:""`
}

// Run implements the command.
func (cmd *extendReview) Run(s *Streams) error {
	return cmd.change(s, "extend", map[string]any{"by": cmd.By.String()})
}

type commentReview struct {
	one
	Text string `arg:"" help:"The remark."`
}

// Run implements the command.
func (cmd *commentReview) Run(s *Streams) error {
	return cmd.change(s, "comments", map[string]any{"text": cmd.Text})
}
