package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/parley-dev/parley/agent"
)

// StartRun says what run to create.
type StartRun struct {
	ThreadID          string // "" = stateless
	AssistantID       string // assistant UUID or graph id
	Input             json.RawMessage
	HasInput          bool // false: absent
	Command           json.RawMessage
	Metadata          Metadata
	Config            json.RawMessage
	Context           json.RawMessage
	StreamMode        []string // default ["values"]
	StreamSubgraphs   bool
	StreamResumable   bool
	CheckpointID      string
	CheckpointNS      string // runs start in the root graph: not used
	InterruptBefore   json.RawMessage
	InterruptAfter    json.RawMessage
	MultitaskStrategy string // default reject
	OnDisconnect      string // default continue
	OnCompletion      string // stateless: delete (default) or keep
	CreateThread      bool   // if_not_exists: create
	AfterSeconds      float64
	Webhook           string
	FeedbackKeys      []string
	Langsmith         LangsmithTracer
	Durability        string // sync, async (default), exit
	IdempotencyKey    string
	// CommandID is the id of the v2 command that asks; it makes a repeat recognisable (decisions 9).
	CommandID string
	Principal string
	// Headers are request headers copied into configurable (lower-case names).
	Headers map[string]string
	// AuthUser goes to configurable as langgraph_auth_user.
	AuthUser json.RawMessage
	// Filter is the auth filter that the thread must match (else ErrNotFound).
	Filter Filter
	// ThreadMetadata is set by auth on a thread that the run creates.
	ThreadMetadata Metadata
	// MetadataToThread merges the run's own metadata into the thread's, too (spec/streaming-protocol.md 2.1).
	MetadataToThread bool
	// ExpectGeneration, when above 0, is the generation of the suspension that the
	// reviewer saw; a resume of another one is refused with ErrConflict.
	ExpectGeneration int64
	// Project and Workspace scope the run; default: those of the execution that it goes on with, else those that the
	// thread's metadata marks (ScopeOf).
	Project, Workspace string
	// CustomHeaders are what agent.Header gives this run. They are kept in memory only, and lost if another
	// process than this one carries the run out.
	CustomHeaders map[string]string

	// TraceParent is the request's place in a distributed trace, as agent.ParseTraceParent has it. Default: an answer's run
	// has that of the run which asks, others none.
	TraceParent string

	// respectClaims and expired: see ResumeAdmission.
	respectClaims, expired bool
	// keepsPending refuses a thread on which questions wait, with *InputWhileInterruptedError.
	keepsPending bool
	// sealed is Invocation.SealedContext.
	sealed map[string]string
	// notes are a reviewer's beside an answer that has none; see ReviewDecision.
	notes string
}

// LangsmithTracer is copied to configurable for graphs that report to a tracer.
type LangsmithTracer struct{ ProjectName, ExampleID string }

// Started is a created or repeated run.
type Started struct {
	Run    Run
	Repeat bool
}

// keyTTL is how long an Idempotency-Key names its first result.
const keyTTL = 24 * time.Hour

// repeatWindow is how long a run can be recognised as a repeat without a key (decisions 9).
const repeatWindow = 10 * time.Second

// admissionTries bounds how often an admission is validated again because the
// thread moved in between.
const admissionTries = 16

// StartRun validates, admits and queues a run. Errors: *NotFoundError (assistant,
// graph, thread), ErrBusy, *agent.ResumeError, *agent.InvalidCommandError,
// *AlreadyDecidedError, *DecidedBeforeError, *InvalidInputError, *InputWhileInterruptedError, ErrConflict.
func (s *Service) StartRun(ctx context.Context, r StartRun) (Started, error) {
	d, err := s.draft(ctx, r)
	if err != nil {
		return Started{}, err
	}
	var admitted Admitted
	if d.resumes() {
		admitted, err = s.admitResume(ctx, d)
	} else {
		admitted, err = s.admit(ctx, d)
	}
	if err != nil && r.IdempotencyKey != "" && !errors.Is(err, ErrUnconfirmed) && !errors.Is(err, ErrUnavailable) {
		switch first, found := s.keyed(ctx, d); {
		case found == nil:
			return Started{Run: first, Repeat: true}, nil
		case !errors.Is(found, ErrNotFound):
			err = found // it is there perhaps, but nobody may be told so yet
		}
	}
	if err != nil {
		if d.resumes() {
			err = s.named(ctx, d.thread.ID, err)
			s.auditRefusal(ctx, d, err)
		}
		return Started{}, err
	}
	if !admitted.Repeat {
		s.admitted(admitted)
		if d.resumes() || d.thread.Status == Interrupted {
			s.answered(d.run)
		}
	}
	return Started{Run: admitted.Run, Repeat: admitted.Repeat}, nil
}

// draft is a run on its way to admission.
type draft struct {
	request   StartRun
	assistant Assistant
	graph     *agent.Graph
	command   *agent.Command // nil without one
	thread    Thread
	// create is the thread that the admission makes; nil when it exists.
	create    *Thread
	effective effective
	run       Run
	config    agent.Config
	// open are the thread's open questions, when the run answers some.
	open []OpenInterrupt
}

// resumes reports whether the run answers interrupts. A plain null beside an update is no answer.
func (d *draft) resumes() bool {
	return d.command != nil && d.command.HasResume && !isNull(d.command.Resume)
}

// hasInput reports whether the run brings new input (and not: continue).
func (d *draft) hasInput() bool {
	return d.command == nil && d.request.HasInput && !isNull(d.request.Input)
}

// draft resolves and merges all that an admission needs and that doesn't depend on the thread's head.
func (s *Service) draft(ctx context.Context, r StartRun) (*draft, error) {
	if err := checkRequest(&r); err != nil {
		return nil, err
	}
	if err := s.allowWebhook(r.Webhook); err != nil {
		return nil, err
	}
	d := &draft{request: r}
	var err error
	if d.assistant, err = s.Assistant(ctx, r.AssistantID); err != nil {
		return nil, err
	}
	if err := s.findThread(ctx, d); err != nil {
		return nil, err
	}
	runID := newID()
	id := identity{runID: runID, threadID: d.thread.ID, graphID: d.assistant.GraphID, assistantID: d.assistant.ID}
	if d.effective, err = mergeEffective(d.assistant, d.thread.Config, d.thread.Metadata, r, id); err != nil {
		return nil, err
	}
	d.run = s.rowOf(d, runID)
	d.run.Kwargs.SealedContext = s.seal(d.run, r.sealed)
	d.config = configOf(d.run)
	if d.graph, err = s.graph(ctx, d.assistant.GraphID, d.config); err != nil {
		return nil, err
	}
	if !isNull(r.Command) {
		if d.command, err = agent.ParseCommand(r.Command); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// checkRequest sets defaults and refuses what no thread could accept.
func checkRequest(r *StartRun) error {
	switch r.MultitaskStrategy {
	case "":
		r.MultitaskStrategy = "reject"
	case "reject", "enqueue", "interrupt", "rollback":
	default:
		return &InvalidInputError{Path: []string{"multitask_strategy"}, Message: fmt.Sprintf("unknown multitask strategy %q", r.MultitaskStrategy)}
	}
	if len(r.StreamMode) == 0 {
		r.StreamMode = []string{"values"}
	}
	if r.AfterSeconds < 0 {
		return &InvalidInputError{Path: []string{"after_seconds"}, Message: "after_seconds must not be negative"}
	}
	if r.CheckpointID == "" {
		// config.configurable.checkpoint_id < checkpoint_id < checkpoint (spec/rest-api.md 3.5)
		if c, err := parseConfig("config", r.Config); err == nil {
			_ = json.Unmarshal(c.configurable["checkpoint_id"], &r.CheckpointID)
		}
	}
	return nil
}

// forThread is the part of the run's metadata that the thread gets.
func (r *StartRun) forThread() Metadata {
	if r.MetadataToThread {
		return r.Metadata
	}
	return nil
}

// findThread loads the run's thread, or drafts the one that the admission creates.
func (s *Service) findThread(ctx context.Context, d *draft) error {
	r := d.request
	now := s.clock.Now()
	graph := Metadata{"graph_id": quoted(d.assistant.GraphID), "assistant_id": quoted(d.assistant.ID)}
	fresh := Thread{
		ID: r.ThreadID, CreatedAt: now, UpdatedAt: now, Status: Idle, NextSeq: 1, NextPos: 1,
		Metadata: merged(r.ThreadMetadata, r.forThread(), graph), Config: json.RawMessage("{}"),
	}
	if r.ThreadID == "" {
		fresh.ID = newID()
		if key := d.key(); key != "" { // a repeat has to find the first one's thread
			fresh.ID = uuid.NewSHA1(systemNamespace, []byte(digest(key, r.ownScope()))).String()
		}
		fresh.Temporary = r.OnCompletion != "keep"
		d.thread, d.create = fresh, &fresh
		return nil
	}
	t, err := s.store.GetThread(ctx, r.ThreadID)
	switch {
	case err == nil && r.Filter.Matches(t.Metadata):
		d.thread = t
		return nil
	case err == nil || errors.Is(err, ErrNotFound) && !r.CreateThread:
		return &NotFoundError{Kind: "thread", ID: r.ThreadID}
	case errors.Is(err, ErrNotFound):
		d.thread, d.create = fresh, &fresh
		return nil
	}
	return err
}

// rowOf drafts the run's row.
func (s *Service) rowOf(d *draft, runID string) Run {
	r, now := d.request, s.clock.Now()
	input := r.Input
	if !r.HasInput {
		input = nil
	}
	project, workspace := r.scope(d.thread.Metadata)
	var notBefore time.Time // by its own clock the store would find "now", which is a guess here, not come yet
	if r.AfterSeconds > 0 {
		notBefore = now.Add(Span(r.AfterSeconds, time.Second))
	}
	return Run{
		ID: runID, ThreadID: d.thread.ID, AssistantID: d.assistant.ID, GraphID: d.assistant.GraphID,
		ExecutionID: runID, Status: RunPending, Metadata: d.effective.Metadata, Strategy: r.MultitaskStrategy,
		CreatedAt: now, UpdatedAt: now, NotBefore: notBefore,
		BaseCheckpoint: d.thread.Head, Principal: r.Principal, Project: project, Workspace: workspace,
		Kwargs: RunKwargs{
			Input: input, Command: r.Command, Config: d.effective.json(), Context: d.effective.Context,
			StreamMode: r.StreamMode, InterruptBefore: r.InterruptBefore, InterruptAfter: r.InterruptAfter,
			Webhook: r.Webhook, FeedbackKeys: r.FeedbackKeys, Temporary: d.thread.Temporary,
			Subgraphs: r.StreamSubgraphs, Resumable: r.StreamResumable, Checkpoint: r.CheckpointID,
			Durability: r.Durability, OnDisconnect: r.OnDisconnect, OnCompletion: r.OnCompletion, TraceParent: r.TraceParent,
		},
	}
}

// admit admits a run that answers nothing: input, null input, or a Command of update and goto.
func (s *Service) admit(ctx context.Context, d *draft) (Admitted, error) {
	for range admissionTries {
		if err := s.validate(ctx, d); err != nil {
			return Admitted{}, err
		}
		admitted, err := s.submit(ctx, d, d.admission())
		if !errors.Is(err, ErrConflict) {
			return admitted, notFound(err, "thread", d.thread.ID)
		}
		if err := s.reload(ctx, d); err != nil {
			return Admitted{}, err
		}
	}
	return Admitted{}, ErrConflict
}

// submit asks the store for the run. While a worker is free the run is claimed in
// the same transition.
func (s *Service) submit(ctx context.Context, d *draft, a Admission) (Admitted, error) {
	if d.request.AfterSeconds == 0 && d.thread.Status != Busy {
		a.Claim = s.pool.offer()
	}
	s.pool.keepHeaders(a.Run.ID, d.request.CustomHeaders) // before another worker can find the run
	admitted, err := s.store.AdmitRun(ctx, a)
	if err != nil && !errors.Is(err, ErrUnconfirmed) || admitted.Repeat {
		s.pool.headers(a.Run.ID)
	}
	switch {
	case a.Claim == nil:
	case (err == nil || errors.Is(err, ErrUnconfirmed)) && admitted.Lease != nil:
		s.pool.take(admitted.Run, *admitted.Lease)
	default:
		s.pool.withdraw()
	}
	return admitted, err
}

// validate checks input or command by a dry run.
func (s *Service) validate(ctx context.Context, d *draft) error {
	if d.thread.Status == Interrupted && (s.opts.OnInputWhileInterrupted == "error" || d.request.keepsPending) && d.hasInput() {
		pending, err := s.pending(ctx, d.thread.ID)
		if err != nil {
			return err
		}
		if len(pending) > 0 {
			return &InputWhileInterruptedError{Pending: pending}
		}
	}
	if d.command != nil {
		plan, err := s.checkCommand(ctx, d, nil)
		if err != nil {
			return err
		}
		d.run.Warnings = plan.Warnings
		if len(plan.Command.Update) > 0 {
			d.run.Kwargs.Command = encodeJSON(&plan.Command) // its messages have ids now, for every attempt
		}
		return nil
	}
	if !d.hasInput() {
		return nil
	}
	input, warnings, err := d.graph.CheckInput(ctx, d.request.Input, newThreadIDs(s.clock, d.thread.Head))
	if err != nil {
		return err
	}
	d.run.Kwargs.Input, d.run.Warnings = input, warnings
	return nil
}

// admission is what the store is asked for a run without answers.
func (d *draft) admission() Admission {
	a := Admission{
		Run: d.run, CreateThread: d.create, Strategy: d.request.MultitaskStrategy,
		IdempotencyKey: d.key(), KeyTTL: keyTTL, Window: repeatWindow,
	}
	if d.create == nil {
		a.ThreadMetadata = d.request.forThread()
		if d.thread.Status != Busy {
			a.ThreadMetadata = merged(a.ThreadMetadata, Metadata{"graph_id": quoted(d.run.GraphID), "assistant_id": quoted(d.run.AssistantID)})
		}
	}
	if d.thread.Status != Busy {
		a.ThreadConfig = d.effective.ThreadConfig
	}
	if !d.resumes() {
		a.Fingerprint = runFingerprint(d.request)
		// A busy thread's questions are dropped when this run's own checkpoint replaces theirs.
		a.DropsPending = d.thread.Status == Interrupted && (d.hasInput() || d.command != nil)
		a.KeepsPending = d.request.keepsPending
	}
	return a
}

// reload reads the thread again after it moved.
func (s *Service) reload(ctx context.Context, d *draft) error {
	if d.create != nil {
		t, err := s.store.GetThread(ctx, d.thread.ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		d.create, d.thread = nil, t
	} else {
		t, err := s.store.GetThread(ctx, d.thread.ID)
		if err != nil {
			return notFound(err, "thread", d.thread.ID)
		}
		d.thread = t
	}
	d.run.BaseCheckpoint = d.thread.Head
	return nil
}

// admitted wakes who has to act on a new run.
func (s *Service) admitted(a Admitted) {
	s.tell(a.Run.ThreadID, a.Told)
	for _, c := range a.Cancelled {
		s.cancelled(c)
	}
	if a.Lease != nil {
		return
	}
	if a.Run.NotBefore.After(s.clock.Now()) {
		s.pool.rearm()
		return
	}
	s.pool.wake()
}
