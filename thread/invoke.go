package thread

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"

	"github.com/google/uuid"
)

// SessionKey is the metadata key of a thread's session.
const SessionKey = "session_id"

// sessionName is what sessions can be named (spec/executions.md 4).
var sessionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// SessionThread is the id of the thread of a project's session (decisions 19).
func SessionThread(project, session string) string {
	if project == "" {
		project = DefaultProject
	}
	return uuid.NewSHA1(systemNamespace, []byte(project+"/"+session)).String()
}

// sessionSpares is how many other ids a session's thread can have.
const sessionSpares = 2

// sessionThreads are the ids that a session's thread can have, SessionThread's first.
func sessionThreads(project, session string) []string {
	ids := []string{SessionThread(project, session)}
	for n := range sessionSpares {
		ids = append(ids, SessionThread(project, session+"/"+strconv.Itoa(n+1))) // no session's name
	}
	return ids
}

// SessionThread is the id of the thread that a project's session has, or would begin: that of the function, but
// another one while that id is another project's, who can find it out and make a thread of that id. Whatever
// becomes of that thread, the session keeps its own. Errors: *InvalidInputError when all its ids are others'.
func (s *Service) SessionThread(ctx context.Context, project, session string) (string, error) {
	project = cmp.Or(project, DefaultProject)
	free := ""
	for _, id := range sessionThreads(project, session) {
		t, err := s.store.GetThread(ctx, id)
		switch owner, _ := ScopeOf(t.Metadata); {
		case errors.Is(err, ErrNotFound):
			free = cmp.Or(free, id)
		case err != nil:
			return "", err
		case owner == project:
			return id, nil
		}
	}
	if free == "" {
		return "", &InvalidInputError{Path: []string{SessionKey}, Message: "this session id can't be used, choose another one"}
	}
	return free, nil
}

// Invocation begins an execution.
type Invocation struct {
	// Project and Workspace default to the ones that always exist.
	Project, Workspace string
	// Session names the conversation: 1 to 128 letters, digits, _ and -. Default: a new one.
	Session string
	// Agent is the name of an agent or the id of an assistant.
	Agent string
	Input json.RawMessage
	// SealedContext are named values that agent.Header gives every run of the execution, also those that go on after a
	// suspension or in another process, where the request that began the run has no custom header of that name. They are
	// stored encrypted (Options.ContextKeys) and are nowhere else. Up to MostSealed, each up to LongestSealed.
	SealedContext map[string]string
	// IdempotencyKey makes the invocation repeatable.
	IdempotencyKey string
	// Run completes the run: principal, custom headers, user, stream modes. What the fields above say isn't looked at.
	Run StartRun
}

// Invoke begins an execution and returns it as it is then; Await waits for what becomes of it. A session that is suspended
// takes no invocation. Errors: those of StartRun (*NotFoundError of kind agent), *SessionSuspendedError, *SessionScopeError.
func (s *Service) Invoke(ctx context.Context, i Invocation) (e Execution, repeat bool, err error) {
	if i.Project == "" {
		i.Project = DefaultProject
	}
	if i.Workspace == "" {
		i.Workspace = DefaultWorkspace
	}
	known := i.Session != ""
	if !known {
		i.Session = newID()
	}
	if !sessionName.MatchString(i.Session) {
		return Execution{}, false, &InvalidInputError{Path: []string{SessionKey}, Message: "a session id has 1 to 128 letters, digits, _ and -"}
	}
	if err := s.checkSealed(i.SealedContext); err != nil {
		return Execution{}, false, err
	}
	start := i.Run
	start.sealed = i.SealedContext
	start.ThreadID, start.AssistantID = SessionThread(i.Project, i.Session), i.Agent
	if known {
		if start.ThreadID, err = s.SessionThread(ctx, i.Project, i.Session); err != nil {
			return Execution{}, false, err
		}
	}
	start.Project, start.Workspace = i.Project, i.Workspace
	start.Input, start.HasInput, start.Command = i.Input, true, nil
	start.CreateThread, start.OnCompletion, start.keepsPending = true, "keep", true
	if i.IdempotencyKey != "" {
		start.IdempotencyKey = "invoke " + i.IdempotencyKey
		run, ok, err := s.runOfKey(ctx, start.ThreadID, start.Principal, start.IdempotencyKey)
		if err != nil {
			return Execution{}, false, err
		}
		if ok {
			e, err := s.Execution(ctx, run.ExecutionID)
			return e, true, err
		}
	}
	started, err := s.begin(ctx, i, start)
	var waits *InputWhileInterruptedError
	if errors.As(err, &waits) { // it was suspended just now
		err = cmp.Or(s.invokable(ctx, i, start), err)
	}
	if err != nil {
		return Execution{}, false, err
	}
	if !started.Repeat {
		e = begunBy(started.Run)
		e.conclude()
		return e, false, nil
	}
	e, err = s.Execution(ctx, started.Run.ExecutionID)
	return e, true, err
}

// begin starts an invocation's run, if its session takes one.
func (s *Service) begin(ctx context.Context, i Invocation, start StartRun) (Started, error) {
	if err := s.invokable(ctx, i, start); err != nil {
		return Started{}, err
	}
	session := Metadata{SessionKey: quoted(i.Session)}
	start.ThreadMetadata = merged(start.ThreadMetadata, ScopeMetadata(i.Project, i.Workspace), session)
	start.Metadata = merged(start.Metadata, session)
	return s.StartRun(ctx, start)
}

// invokable refuses agents that the project doesn't have and sessions that can't take an invocation.
func (s *Service) invokable(ctx context.Context, i Invocation, start StartRun) error {
	a, err := s.Assistant(ctx, i.Agent)
	var missing *NotFoundError
	if errors.As(err, &missing) {
		return &NotFoundError{Kind: "agent", ID: i.Agent}
	}
	if err != nil {
		return err
	}
	if project, _ := ScopeOf(a.Metadata); project != i.Project && text(a.Metadata["created_by"]) != createdBySystem {
		return &NotFoundError{Kind: "agent", ID: i.Agent}
	}
	t, err := s.store.GetThread(ctx, start.ThreadID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !start.Filter.Matches(t.Metadata) {
		return &NotFoundError{Kind: "session", ID: i.Session}
	}
	if project, workspace := ScopeOf(t.Metadata); project != i.Project || workspace != i.Workspace {
		return &SessionScopeError{SessionID: i.Session}
	}
	switch t.Status {
	case Busy: // it may be about to be suspended
		return ErrBusy
	case Interrupted:
	default:
		return nil
	}
	open, err := s.store.PendingInterrupts(ctx, t.ID)
	if err != nil || len(open) == 0 {
		return err
	}
	refusal := &SessionSuspendedError{SessionID: i.Session}
	for _, q := range open {
		refusal.ReviewIDs = append(refusal.ReviewIDs, ReviewID(t.ID, q.ID, q.Generation))
	}
	return refusal
}

// Await waits until an execution is suspended or has ended. Errors: *NotFoundError, the context's error.
func (s *Service) Await(ctx context.Context, id string) (Execution, error) {
	for {
		e, err := s.Execution(ctx, id)
		if err != nil || e.Status == ExecutionSuspended || e.Status.Ended() {
			return e, err
		}
		for _, run := range e.Runs {
			if run.Status.Ended() {
				continue
			}
			if _, _, err := s.waitOnce(ctx, run.ThreadID, run.ID); err != nil && !errors.Is(err, ErrNotFound) {
				return e, err
			}
			break
		}
	}
}

// runOfKey finds the run that a principal's Idempotency-Key began on a thread.
func (s *Service) runOfKey(ctx context.Context, threadID, principal, key string) (run Run, ok bool, err error) {
	finder, can := s.store.(KeyFinder)
	if !can {
		return Run{}, false, nil
	}
	d := draft{request: StartRun{ThreadID: threadID, Principal: principal, IdempotencyKey: key}}
	run, err = finder.RunByKey(ctx, threadID, d.key())
	if errors.Is(err, ErrNotFound) {
		return Run{}, false, nil
	}
	return run, err == nil, err
}
