package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// resumeTool is the name of the tool that answers interrupts.
const resumeTool = "resume"

const resumeSchema = `{"type":"object","required":["thread_id"],"additionalProperties":false,"properties":{
	"thread_id":{"type":"string","format":"uuid","description":"The thread that waits."},
	"interrupt_id":{"type":"string","description":"Which question is answered; may be left out if there is one."},
	"answer":{"description":"The answer, in the form that the question wants. Of a review of tool calls: {\"decisions\":[{\"type\":\"approve\"}]}, one decision for each action."},
	"decision":{"type":"string","enum":["approve","reject"],"description":"Instead of answer: the same decision for each action of a review."},
	"message":{"type":"string","description":"With decision reject: why, for the agent."}}}`

func newResumeTool() *mcp.Tool {
	yes := true
	return &mcp.Tool{
		Name: resumeTool, Title: "Answer an agent",
		Description: "Answers what an agent asks a person (status \"interrupted\"), and goes on with its run. Ask the person first; don't decide for them.",
		InputSchema: json.RawMessage(resumeSchema), OutputSchema: json.RawMessage(runSchema),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
	}
}

// callResume answers an interrupt, by the same transition as input.respond.
func (s *Server) callResume(c *mcpCall) (*mcp.CallToolResult, error) {
	f, err := objectOf(rawOr(c.req.Params.Arguments, "{}"))
	if err != nil {
		return nil, err
	}
	if err := f.unambiguous(); err != nil {
		return nil, err
	}
	f.require("thread_id")
	threadID, interruptID, decision := f.uuid("thread_id"), f.str("interrupt_id"), f.enum("decision", "", "", "approve", "reject")
	answer, reason := f.raw("answer"), f.str("message")
	if err := f.err(); err != nil {
		return nil, err
	}
	if (answer == nil) == (decision == "") {
		return nil, invalid("Give either answer or decision", "answer")
	}
	t, err := s.shown(c.echo, threadID)
	if err != nil {
		return nil, err
	}
	open, err := s.svc.Store().PendingInterrupts(c.ctx(), threadID)
	if err != nil {
		return nil, err
	}
	if interruptID == "" {
		if interruptID, err = onlyOne(open); err != nil {
			return nil, err
		}
	}
	if decision != "" {
		answer = decided(question(open, interruptID), decision, reason)
	}
	var assistant string
	if json.Unmarshal(t.Metadata["assistant_id"], &assistant) != nil || assistant == "" {
		return nil, &textError{http.StatusConflict, "Thread has no active assistant."}
	}
	if name, err := s.graphOf(c, assistant); err != nil || !s.offersMCP(name) {
		return nil, noAssistant(assistant)
	}
	r := mcpRun(assistant)
	r.Command = encode(map[string]any{"resume": map[string]json.RawMessage{interruptID: answer}})
	return s.runMCP(c, threadID, r)
}

// graphOf is the name of an assistant's agent.
func (s *Server) graphOf(c *mcpCall, assistant string) (string, error) {
	a, err := s.svc.Assistant(c.ctx(), assistant)
	return a.GraphID, err
}

// onlyOne is the id of the question when there is no doubt which one is meant.
func onlyOne(open []thread.OpenInterrupt) (string, error) {
	switch len(open) {
	case 0:
		return "", &textError{http.StatusConflict, "The thread doesn't wait for an answer."}
	case 1:
		return open[0].ID, nil
	}
	ids := make([]string, len(open))
	for i, q := range open {
		ids[i] = q.ID
	}
	return "", &textError{http.StatusConflict, "Several questions are open; name one as interrupt_id: " + strings.Join(ids, ", ")}
}

// question is an open question; the zero value if it isn't open.
func question(open []thread.OpenInterrupt, id string) agent.InterruptInfo {
	for _, q := range open {
		if q.ID == id {
			return q.InterruptInfo
		}
	}
	return agent.InterruptInfo{}
}

// decided makes the answer of one decision: as many as a review has actions (spec/runtime.md 6.2), or
// a single one for any other question.
func decided(q agent.InterruptInfo, decision, reason string) json.RawMessage {
	one := map[string]string{"type": decision}
	if reason != "" {
		one["message"] = reason
	}
	var review struct {
		Camel []json.RawMessage `json:"actionRequests"`
		Snake []json.RawMessage `json:"action_requests"`
	}
	if json.Unmarshal(q.Value, &review) != nil || len(review.Camel)+len(review.Snake) == 0 {
		return encode(one)
	}
	all := make([]map[string]string, len(review.Camel)+len(review.Snake))
	for i := range all {
		all[i] = one
	}
	return encode(map[string]any{"decisions": all})
}
