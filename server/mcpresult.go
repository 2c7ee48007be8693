package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/thread"
)

// runSchema is the schema of mcpOutcome.
const runSchema = `{"type":"object","required":["thread_id","run_id","status","interrupts"],"properties":{
	"thread_id":{"type":"string","description":"Goes on with the conversation."},
	"run_id":{"type":"string"},
	"status":{"type":"string","enum":["success","interrupted","error","timeout","cancelled","running"]},
	"error":{"type":"string"},
	"interrupts":{"type":"array","description":"What is asked, of status interrupted.","items":{"type":"object","required":["interrupt_id","value"],"properties":{
		"interrupt_id":{"type":"string"},"value":{"description":"The question."},"response_schema":{"description":"The JSON Schema of an answer, if there is one."}}}}}}`

// mcpOutcome is the structured part of a result.
type mcpOutcome struct {
	ThreadID   string         `json:"thread_id"`
	RunID      string         `json:"run_id"`
	Status     string         `json:"status"`
	Error      string         `json:"error,omitempty"`
	Interrupts []mcpInterrupt `json:"interrupts"`
}

type mcpInterrupt struct {
	InterruptID    string          `json:"interrupt_id"`
	Value          json.RawMessage `json:"value"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// failedResult is a result that tells of a failure.
func failedResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// runMCP starts a run, tells of its progress and waits for its end. A call that is
// cancelled cancels the run.
func (s *Server) runMCP(c *mcpCall, threadID string, r thread.StartRun) (*mcp.CallToolResult, error) {
	started, err := s.admit(c.echo, threadID, r)
	if err != nil {
		return nil, err
	}
	run := started.Run
	ctx, cancel := s.untilShutdown(c.ctx())
	defer cancel()
	told := make(chan struct{})
	go func() { defer close(told); s.tellProgress(ctx, c, run) }()
	ended, err := s.svc.WaitRun(ctx, run.ThreadID, run.ID)
	cancel()
	<-told
	switch {
	case err == nil:
		return s.mcpResult(c, ended)
	case c.ctx().Err() != nil:
		s.abandon(c.echo.Request(), run)
		return nil, err
	case s.isStopping():
		o := mcpOutcome{ThreadID: run.ThreadID, RunID: run.ID, Status: "running", Interrupts: []mcpInterrupt{}}
		res := failedResult("The server is shutting down; the run goes on when it is back.")
		res.StructuredContent = o
		return res, nil
	}
	return nil, runError(err, r.AssistantID)
}

// mcpResult is the result of a run that has ended.
func (s *Server) mcpResult(c *mcpCall, run thread.Run) (*mcp.CallToolResult, error) {
	o := mcpOutcome{ThreadID: run.ThreadID, RunID: run.ID, Status: string(run.Status), Interrupts: []mcpInterrupt{}}
	switch run.Status {
	case thread.RunInterrupted:
		o.Status = "cancelled"
	case thread.RunError:
		o.Error = "The run failed."
		if f := run.Failure(); f != nil {
			o.Error = f.Name + ": " + f.Message
		}
	case thread.RunSuccess:
		open, err := s.svc.Store().PendingInterrupts(c.ctx(), run.ThreadID)
		if err != nil && !errors.Is(err, thread.ErrNotFound) {
			return nil, err
		}
		for _, q := range open {
			o.Status = "interrupted"
			o.Interrupts = append(o.Interrupts, mcpInterrupt{q.ID, rawOr(q.Value, "null"), shownSchema(q.ResponseSchema)})
		}
	}
	text, err := s.mcpText(c.ctx(), o)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: o,
		IsError: o.Status == "error" || o.Status == "timeout",
	}, nil
}

// shownSchema leaves out a schema that says nothing.
func shownSchema(schema json.RawMessage) json.RawMessage {
	if s := string(schema); s == "null" || s == "true" || s == "{}" {
		return nil
	}
	return schema
}

// mcpText is what a run says: the last words of the agent, or what it asks.
func (s *Server) mcpText(ctx context.Context, o mcpOutcome) (string, error) {
	switch o.Status {
	case "error", "timeout":
		return cmp.Or(o.Error, "The run took too long."), nil
	case "cancelled":
		return "The run was cancelled.", nil
	case "interrupted":
		text := "The agent waits for a person's answer; give it with the tool resume."
		for _, q := range o.Interrupts {
			text += fmt.Sprintf("\nQuestion %s: %s", q.InterruptID, q.Value)
		}
		return text, nil
	}
	snapshot, err := s.svc.State(ctx, o.ThreadID, thread.StateQuery{})
	if err != nil {
		return "", err
	}
	list, ok := snapshot.State.Messages()[messagesKey]
	if !ok {
		return string(snapshot.State.JSON()), nil
	}
	for _, m := range list.Backward() {
		if m.Type == message.AI {
			return m.Text(), nil
		}
	}
	return "", nil
}
