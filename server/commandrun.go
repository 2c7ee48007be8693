package server

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// protocolModes are the classic modes in which runs of the thread protocol can be joined.
var protocolModes = []string{"values", "updates", "messages-tuple", "tools", "custom", "tasks", "checkpoints"}

// protocolRun drafts a run with the params that all run-starting commands share.
func protocolRun(cmd commandRequest) thread.StartRun {
	p := cmd.Params
	strategy := "enqueue"
	for _, key := range []string{"multitask_strategy", "multitaskStrategy"} {
		switch given := p.str(key); given {
		case "reject", "rollback", "interrupt", "enqueue": // others count as absent
			strategy = given
		}
	}
	checkConfig(p)
	return thread.StartRun{
		AssistantID: p.str("assistant_id"), Config: p.object("config"), Metadata: p.metadata(), Langsmith: tracer(p),
		StreamMode: protocolModes, StreamSubgraphs: true, StreamResumable: true,
		MultitaskStrategy: strategy, OnDisconnect: "continue", OnCompletion: "keep", CreateThread: true,
		CommandID: strconv.FormatInt(cmd.ID, 10), MetadataToThread: true,
	}
}

// runStart is run.start: input for the graph, or, while interrupts wait, the answer to them.
func (s *Server) runStart(c echo.Context, threadID string, cmd commandRequest) (any, error) {
	p := cmd.Params
	r := protocolRun(cmd)
	r.CheckpointID, _ = startAt(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	if r.AssistantID == "" {
		return nil, refuse(codeInvalid, "run.start requires an assistant_id.")
	}
	r.Input, r.HasInput = p.raw("input"), true
	if r.Input == nil {
		r.Input = json.RawMessage("null")
	} else if waits, err := s.waiting(c, threadID); err != nil {
		return nil, err
	} else if waits {
		if err := cmd.body.unambiguous(); err != nil {
			return nil, err
		}
		return s.answerByStart(c, threadID, r)
	}
	return s.begin(c, threadID, r)
}

// answerByStart resumes with the input (spec/streaming-protocol.md 2.1). When
// the question is gone by then, the input is input.
func (s *Server) answerByStart(c echo.Context, threadID string, r thread.StartRun) (any, error) {
	answer := r
	answer.Input, answer.HasInput, answer.CheckpointID = nil, false, ""
	answer.Config = withoutCheckpoint(r.Config)
	answer.Command = encode(map[string]json.RawMessage{"resume": r.Input})
	result, err := s.begin(c, threadID, answer)
	var resume *agent.ResumeError
	if errors.As(err, &resume) && resume.Code == agent.NothingPending {
		return s.begin(c, threadID, r)
	}
	return result, err
}

// inputRespond is input.respond: answers by interrupt id, with update and goto in the same superstep.
func (s *Server) inputRespond(c echo.Context, threadID string, cmd commandRequest) (any, error) {
	if err := cmd.body.unambiguous(); err != nil {
		return nil, err
	}
	answers, err := answersOf(cmd.Params)
	if err != nil {
		return nil, err
	}
	t, err := s.shown(c, threadID)
	if err != nil {
		if errors.Is(err, thread.ErrNotFound) {
			return nil, refuse(codeNoRun, "No interrupted run is bound to this thread.")
		}
		return nil, err
	}
	r := protocolRun(cmd)
	r.CreateThread = false
	if r.AssistantID == "" {
		_ = json.Unmarshal(t.Metadata["assistant_id"], &r.AssistantID)
	}
	if err := cmd.Params.err(); err != nil {
		return nil, err
	}
	if r.AssistantID == "" {
		return nil, refuse(codeNoRun, "Thread has no active assistant; call run.start first.")
	}
	r.Config = withoutCheckpoint(r.Config)
	command := map[string]json.RawMessage{"resume": encode(answers)}
	for _, key := range []string{"update", "goto"} {
		if raw := cmd.Params.raw(key); raw != nil {
			command[key] = raw
		}
	}
	r.Command = encode(command)
	if waits, err := s.waiting(c, threadID); err != nil {
		return nil, err
	} else if !waits && t.Status != thread.Busy {
		// Repeats of an answered question still reach the service, which knows them.
		result, err := s.begin(c, threadID, r)
		var resume *agent.ResumeError
		if errors.As(err, &resume) && resume.Code == agent.InterruptNotPending && len(resume.Pending) == 0 {
			resume.Code = agent.NothingPending
		}
		return result, err
	}
	return s.begin(c, threadID, r)
}

// answersOf reads the one or many answers of input.respond.
func answersOf(p *fields) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	take := func(f *fields, missing string) error {
		id := f.str("interrupt_id")
		if id == "" {
			return refuse(codeInvalid, missing)
		}
		if _, twice := answers[id]; twice {
			return refuse(codeInvalid, "input.respond answers interrupt "+id+" twice.")
		}
		answers[id] = json.RawMessage("null")
		if v := f.raw("response"); v != nil {
			answers[id] = v
		}
		return nil
	}
	if kindOf(p.values["responses"]) != "array" {
		return answers, take(p, "input.respond requires an interrupt_id.")
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(p.values["responses"], &entries); err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, refuse(codeInvalid, "input.respond requires at least one response.")
	}
	for _, raw := range entries {
		const missing = "input.respond responses entries require an interrupt_id."
		f, ok := newFields(raw)
		if !ok {
			return nil, refuse(codeInvalid, missing)
		}
		if err := take(f, missing); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// inputInject is input.inject: a message for the conversation, taken up by a run
// behind the active one, or by one of its own on an idle thread.
func (s *Server) inputInject(c echo.Context, threadID string, cmd commandRequest) (any, error) {
	message := cmd.Params.object("message")
	if message == nil {
		return nil, refuse(codeInvalid, "input.inject requires a message.")
	}
	t, err := s.shown(c, threadID)
	if err != nil {
		if errors.Is(err, thread.ErrNotFound) {
			return nil, refuse(codeNoRun, "No active run is bound to this thread.")
		}
		return nil, err
	}
	r := protocolRun(cmd)
	r.CreateThread, r.MultitaskStrategy = false, "enqueue"
	_ = json.Unmarshal(t.Metadata["assistant_id"], &r.AssistantID)
	if r.AssistantID == "" {
		return nil, refuse(codeNoRun, "No active run is bound to this thread.")
	}
	if waits, err := s.waiting(c, threadID); err != nil || waits {
		if waits {
			err = refuse(codeInvalid, "The thread waits for an answer; use input.respond.")
		}
		return nil, err
	}
	r.HasInput, r.Input = true, encode(map[string]any{"messages": []json.RawMessage{message}})
	return s.begin(c, threadID, r)
}

// stateFork is state.fork: a run from an older checkpoint.
func (s *Server) stateFork(c echo.Context, threadID string, cmd commandRequest) (any, error) {
	p := cmd.Params
	r := protocolRun(cmd)
	r.CheckpointID = p.uuid("checkpoint_id")
	if err := p.err(); err != nil {
		return nil, err
	}
	if r.CheckpointID == "" {
		return nil, refuse(codeInvalid, "state.fork requires a checkpoint_id.")
	}
	t, err := s.shown(c, threadID)
	if err != nil {
		return nil, err
	}
	found, err := s.svc.History(c.Request().Context(), threadID, thread.HistoryQuery{CheckpointID: r.CheckpointID, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, refuse(codeNoCheckpoint, "Checkpoint "+r.CheckpointID+" not found")
	}
	if r.AssistantID == "" {
		_ = json.Unmarshal(t.Metadata["assistant_id"], &r.AssistantID)
	}
	r.CreateThread, r.HasInput, r.Input = false, true, rawOr(p.raw("input"), "null")
	result, err := s.begin(c, threadID, r)
	if err != nil {
		return nil, err
	}
	return map[string]string{"run_id": result.(map[string]string)["run_id"], "thread_id": threadID}, nil
}

// begin starts the run and answers with its id as soon as it is accepted.
func (s *Server) begin(c echo.Context, threadID string, r thread.StartRun) (any, error) {
	started, err := s.admit(c, threadID, r)
	if err != nil {
		return nil, err
	}
	return map[string]string{"run_id": started.Run.ID}, nil
}

// waiting reports whether interrupts of the thread wait for an answer. A
// breakpoint is none, and neither is a cancelled run (M-56).
func (s *Server) waiting(c echo.Context, threadID string) (bool, error) {
	open, err := s.svc.Store().PendingInterrupts(c.Request().Context(), threadID)
	if errors.Is(err, thread.ErrNotFound) {
		return false, nil
	}
	return len(open) > 0, err
}

// withoutCheckpoint takes the checkpoint out of a config: a resume runs on the head.
func withoutCheckpoint(config json.RawMessage) json.RawMessage {
	f, ok := newFields(config)
	if !ok {
		return config
	}
	inner, ok := newFields(f.values["configurable"])
	if !ok {
		return config
	}
	delete(inner.values, "checkpoint_id")
	f.values["configurable"] = encode(inner.values)
	return encode(f.values)
}
