package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
)

// admitResume admits a run that answers interrupts: one fenced transition
// (design 3.2, decisions 8). It is accepted while the asking run is still active
// and then waits behind it.
func (s *Service) admitResume(ctx context.Context, d *draft) (Admitted, error) {
	unlock := s.admission.lock(d.thread.ID)
	defer unlock()
	for range admissionTries {
		if err := s.reload(ctx, d); err != nil {
			return Admitted{}, err
		}
		if run, ok, err := s.plainRepeat(ctx, d); err != nil || ok {
			return Admitted{Run: run, Repeat: true}, err
		}
		head, err := s.head(ctx, d.thread.ID)
		if err != nil {
			return Admitted{}, err
		}
		plan, err := s.checkCommand(ctx, d, head)
		if err != nil {
			return s.refused(ctx, d, err)
		}
		reviews, err := s.reviewed(ctx, d, plan.Answers)
		if err != nil {
			return Admitted{}, err
		}
		admitted, err := s.submit(ctx, d, s.resumeAdmission(ctx, d, head, plan, reviews))
		if !errors.Is(err, ErrConflict) {
			return admitted, notFound(err, "thread", d.thread.ID)
		}
	}
	return Admitted{}, ErrConflict
}

// resumeAdmission is what the store is asked for a run with answers.
func (s *Service) resumeAdmission(ctx context.Context, d *draft, head *agent.Tuple, plan *agent.ResumePlan, reviews []*Review) Admission {
	d.run.Warnings = plan.Warnings
	d.run.Resumes = nil
	for i := range plan.Answers {
		a := &plan.Answers[i]
		a.By, a.At, a.RunID = d.request.Principal, s.clock.Now(), d.run.ID
		d.run.Resumes = append(d.run.Resumes, a.InterruptID)
	}
	a := d.admission()
	a.Resume = &ResumeAdmission{
		ExpectGeneration: d.thread.Generation,
		Answers:          plan.Answers, Writes: plan.Writes,
		Fingerprint: answersFingerprint(d.request.Principal, plan.Answers),
		Outcomes:    outcomes(ctx, d, plan.Answers, reviews),
		Expired:     d.request.expired, RespectClaims: d.request.respectClaims,
	}
	if head != nil {
		a.Resume.ExpectHead = head.Checkpoint.ID
		if i := slices.IndexFunc(head.Tasks, func(t agent.TaskRecord) bool { return t.TaskID == agent.NullTask }); i >= 0 {
			a.Resume.Merged = &head.Tasks[i]
		}
	}
	return a
}

// checkCommand validates the draft's command against the head; a nil head is loaded.
func (s *Service) checkCommand(ctx context.Context, d *draft, head *agent.Tuple) (*agent.ResumePlan, error) {
	if d.create != nil {
		return d.graph.CheckCommand(ctx, s.resumeRequest(d, nil, nil))
	}
	var err error
	if head == nil {
		if head, err = s.head(ctx, d.thread.ID); err != nil {
			return nil, err
		}
	}
	pending, err := s.openQuestions(ctx, d, head)
	if err != nil {
		return nil, err
	}
	if d.resumes() && d.request.CheckpointID != "" && (head == nil || head.Checkpoint.ID != d.request.CheckpointID) {
		return nil, superseded(d.command.Resume, pending)
	}
	if d.resumes() && d.request.ExpectGeneration > 0 && d.request.ExpectGeneration != d.thread.Generation {
		return nil, superseded(d.command.Resume, pending)
	}
	return d.graph.CheckCommand(ctx, s.resumeRequest(d, head, pending))
}

func (s *Service) resumeRequest(d *draft, head *agent.Tuple, pending []agent.InterruptInfo) agent.ResumeRequest {
	above := ""
	if head != nil {
		above = head.Checkpoint.ID
	}
	return agent.ResumeRequest{
		ThreadID: d.thread.ID, Head: head, Pending: pending, Command: *d.command, Trusted: d.request.expired, Config: d.config,
		Reader: s.reader(d.thread.ID), Clock: s.clock, IDs: newThreadIDs(s.clock, above),
	}
}

// superseded refuses a resume of a checkpoint or suspension that isn't the newest.
func superseded(resume json.RawMessage, pending []agent.InterruptInfo) error {
	return &agent.ResumeError{
		Code: agent.InterruptNotPending, IDs: resumeIDs(resume), Pending: pending,
		Message: "the thread has moved past the state that this answer was given for",
	}
}

// refused turns the refusal of a resume into the first result where it is a
// repeat, and into who decided what where somebody else was faster.
func (s *Service) refused(ctx context.Context, d *draft, refusal error) (Admitted, error) {
	var resume *agent.ResumeError
	ids := resumeIDs(d.command.Resume)
	if !errors.As(refusal, &resume) || resume.Code != agent.InterruptNotPending && resume.Code != agent.NothingPending {
		return Admitted{}, refusal
	}
	if len(ids) == 0 {
		return Admitted{}, s.decidedBefore(ctx, d.thread.ID, resume)
	}
	stored, err := s.store.Answers(ctx, d.thread.ID, ids)
	if err != nil {
		return Admitted{}, err
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(d.command.Resume, &given); err != nil {
		return Admitted{}, refusal
	}
	equal, runID := 0, ""
	for _, id := range ids {
		a, ok := stored[id]
		if !ok {
			continue
		}
		if a.By != d.request.Principal || !bytes.Equal(withoutNotes(a.Value), withoutNotes(given[id])) {
			return Admitted{}, &AlreadyDecidedError{InterruptID: id, Answer: a}
		}
		if equal++; runID == "" || runID == a.RunID {
			runID = a.RunID
		} else {
			return Admitted{}, refusal // answered by several runs: no single first result
		}
	}
	if equal < len(ids) {
		return Admitted{}, refusal
	}
	run, err := s.store.GetRun(ctx, d.thread.ID, runID)
	if err != nil { // removed since
		return Admitted{}, refusal
	}
	return Admitted{Run: run, Repeat: true}, nil
}

// decidedBefore adds to a refusal how the thread's last question ended, where that is known.
func (s *Service) decidedBefore(ctx context.Context, threadID string, refusal *agent.ResumeError) error {
	list, err := s.store.ThreadReviews(ctx, threadID)
	if err != nil {
		return refusal // which says enough
	}
	var last *Review
	for i := range list {
		if r := &list[i]; r.Decided != nil && (last == nil || r.Decided.At.After(last.Decided.At)) {
			last = r
		}
	}
	if last == nil {
		return refusal
	}
	return &DecidedBeforeError{Refusal: refusal, Review: *last}
}

// plainRepeat finds the inflight run that the same principal started with an
// equal plain answer. Until it ends, the same answer again is a repeat of it and
// never an answer to a question that the run asked since (decisions 8).
func (s *Service) plainRepeat(ctx context.Context, d *draft) (Run, bool, error) {
	if d.create != nil || d.thread.Status == Idle || len(resumeIDs(d.command.Resume)) > 0 {
		return Run{}, false, nil
	}
	inflight, err := s.store.Inflight(ctx, d.thread.ID)
	if err != nil {
		return Run{}, false, err
	}
	want := withoutNotes(d.command.Resume)
	for _, run := range inflight {
		if len(run.Resumes) == 0 || run.Principal != d.request.Principal {
			continue
		}
		var c struct {
			Resume json.RawMessage `json:"resume"`
		}
		if exactjson.Unmarshal(run.Kwargs.Command, &c) == nil && bytes.Equal(withoutNotes(c.Resume), want) {
			return run, true, nil
		}
	}
	return Run{}, false, nil
}

// resumeIDs lists the interrupt ids that a resume value names: those of an
// object whose keys all have the form of one; none for a plain value.
func resumeIDs(resume json.RawMessage) []string {
	byID, ok := decode(resume).(map[string]any)
	if !ok {
		return nil
	}
	ids := make([]string, 0, len(byID))
	for id := range byID {
		if !isInterruptID(id) {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// isInterruptID reports whether s is 32 lower-case hex digits.
func isInterruptID(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// head loads the newest root checkpoint; nil when there is none.
func (s *Service) head(ctx context.Context, threadID string) (*agent.Tuple, error) {
	return s.reader(threadID).Checkpoint(ctx, "", "")
}

// pending lists the open questions of a thread.
func (s *Service) pending(ctx context.Context, threadID string) ([]agent.InterruptInfo, error) {
	open, err := s.store.PendingInterrupts(ctx, threadID)
	return infosOf(open), err
}

func infosOf(open []OpenInterrupt) []agent.InterruptInfo {
	infos := make([]agent.InterruptInfo, 0, len(open))
	for _, o := range open {
		infos = append(infos, o.InterruptInfo)
	}
	return infos
}

// openQuestions lists what the draft's command may answer, and makes its run
// part of the execution that asks.
func (s *Service) openQuestions(ctx context.Context, d *draft, head *agent.Tuple) ([]agent.InterruptInfo, error) {
	open, err := s.store.PendingInterrupts(ctx, d.thread.ID)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 && d.thread.Generation == 0 {
		return copiedQuestions(head), nil
	}
	if len(open) > 0 && d.resumes() {
		d.open = open
		asking, err := s.store.GetRun(ctx, d.thread.ID, open[0].RunID)
		switch {
		case err == nil:
			d.run.ExecutionID = asking.ExecutionID
			d.run.Project, d.run.Workspace = asking.Project, asking.Workspace
			d.run.Kwargs.SteeredBy = steered(asking.Kwargs.SteeredBy, d)
			d.run.Kwargs.SealedContext = asking.Kwargs.SealedContext
			if _, err := s.unsealed(d.run); err != nil {
				return nil, err // before the answer is consumed
			}
			if d.request.TraceParent == "" {
				d.run.Kwargs.TraceParent = asking.Kwargs.TraceParent
			}
		case !errors.Is(err, ErrNotFound): // a removed run has no execution to go on with
			return nil, err
		}
	}
	return infosOf(open), nil
}

// steered adds who brings more than an answer to those who did so before.
func steered(before []string, d *draft) []string {
	who := d.request.Principal
	if who == "" || len(d.command.Update) == 0 && len(d.command.Goto) == 0 || slices.Contains(before, who) {
		return before
	}
	return append(slices.Clone(before), who)
}

// copiedQuestions are the open questions of a thread on which nothing was asked:
// those that it was copied with, which stand in the task records only.
func copiedQuestions(head *agent.Tuple) []agent.InterruptInfo {
	if head == nil {
		return nil
	}
	var open []agent.InterruptInfo
	for _, task := range head.Tasks {
		if task.Status != agent.TaskInterrupted {
			continue
		}
		for _, q := range task.Interrupts {
			if _, answered := head.Answers[q.ID]; !answered {
				open = append(open, q)
			}
		}
	}
	return open
}
