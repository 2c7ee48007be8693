package thread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// longestReviewText bounds what a search looks through of one review, in bytes.
const longestReviewText = 4 << 10

// asking is the run that asks, and who began its execution.
type asking struct {
	run   Run
	first Run // of the execution; run itself where that began it, or where the first is gone
}

// reviewDraft says what a run's question is, for those who look for it, decide on it and audit it.
func reviewDraft(a asking, q agent.InterruptInfo, notify []string) ReviewDraft {
	s := read(q.Value, q.ResponseSchema)
	d := ReviewDraft{
		InterruptID: q.ID, Project: a.run.Project, Workspace: a.run.Workspace, ExecutionID: a.run.ExecutionID, Agent: a.run.GraphID,
		Tools: s.tools(), Kind: s.kind, Requester: a.first.Principal, SteeredBy: a.run.Kwargs.SteeredBy, AllowedDecisions: s.allowed,
		Digest: payloadDigest(q.Value), Notify: notify,
	}
	if d.Project == "" {
		d.Project = DefaultProject
	}
	if d.Workspace == "" {
		d.Workspace = DefaultWorkspace
	}
	if len(d.Tools) > 0 {
		d.Tool = d.Tools[0]
	}
	d.Text = reviewText(d, s, q.Value, a.first.Kwargs.Input)
	if e := q.Expiry; e != nil {
		d.Expiry = &Expiry{
			After: e.After, Warn: e.Warn, Action: e.Action, Message: e.Message, Role: e.Role, Then: e.End(), Answer: e.Answer,
		}
		if d.Expiry.Action == "" {
			d.Expiry.Action = agent.ExpireReject
		}
	}
	return d
}

// payloadDigest identifies what is shown: SHA-256 of its canonical form, in hex.
func payloadDigest(payload json.RawMessage) string {
	sum := sha256.Sum256(canonical(payload))
	return hex.EncodeToString(sum[:])
}

// reviewText is what a search looks through: names and reason first, then the texts of the question and of the
// message that began it all.
func reviewText(d ReviewDraft, s shown, payload, input json.RawMessage) string {
	w := textWriter{left: longestReviewText}
	w.add(d.Agent)
	for _, name := range d.Tools {
		w.add(name)
	}
	w.add(s.reason)
	w.addAll(decode(payload))
	w.addAll(decode(input))
	return w.b.String()
}

// textWriter gathers texts, each once, up to a size.
type textWriter struct {
	b    strings.Builder
	left int
	seen map[string]bool
}

func (w *textWriter) add(s string) {
	if s = strings.TrimSpace(s); s == "" || w.seen[s] || w.left <= 0 {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[s] = true
	if len(s) > w.left {
		s = strings.ToValidUTF8(s[:w.left], "")
	}
	w.left -= len(s) + 1
	if w.b.Len() > 0 {
		w.b.WriteByte('\n')
	}
	w.b.WriteString(s)
}

// addAll adds the texts within a value, in the order of their keys.
func (w *textWriter) addAll(v any) {
	switch v := v.(type) {
	case string:
		w.add(v)
	case []any:
		for _, e := range v {
			w.addAll(e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch k {
			case "id", "type", "role", "formType": // for programs
			default:
				w.addAll(v[k])
			}
		}
	}
}

// asks reports whether task records hold questions.
func asks(tasks []agent.TaskRecord) bool {
	return slices.ContainsFunc(tasks, func(rec agent.TaskRecord) bool { return len(questions(rec)) > 0 })
}

// questions are those that a task record asks: of a nested graph, its own records have them.
func questions(rec agent.TaskRecord) []agent.InterruptInfo {
	if rec.Nested || rec.TaskID == agent.NullTask || rec.Status == agent.TaskDone {
		return nil
	}
	return rec.Interrupts
}

// drafts makes the drafts of the questions in task records; first is the run that began the execution.
func drafts(run, first Run, tasks []agent.TaskRecord, notify []string) []ReviewDraft {
	var all []ReviewDraft
	for _, rec := range tasks {
		for _, q := range questions(rec) {
			all = append(all, reviewDraft(asking{run, first}, q, notify))
		}
	}
	return all
}

// firstRun is the run that began the execution of a run; the run itself where that was removed.
func (s *Service) firstRun(ctx context.Context, run Run) (first Run, err error) {
	if run.ExecutionID == "" || run.ExecutionID == run.ID {
		return run, nil
	}
	err = persistently(ctx, func() error {
		first, err = s.store.GetRun(ctx, run.ThreadID, run.ExecutionID)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return run, nil
	}
	return first, err
}

// asked acts on questions that were stored.
func (s *Service) asked(run Run, stored []ReviewDraft) {
	if len(stored) == 0 {
		return
	}
	s.reviewsChanged(run.Project)
	if slices.ContainsFunc(stored, func(d ReviewDraft) bool { return d.Expiry != nil }) {
		s.deadlines.wake()
	}
	if len(s.opts.Notify) > 0 {
		s.outbox.wake()
	}
}
