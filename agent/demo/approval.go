package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
)

type approvalState struct {
	Messages message.List `json:"messages"`
	// Request is what the user asked for, kept apart from the conversation:
	// the frontend may add messages while the reviewer thinks.
	Request string `json:"request" agent:"-input"`
	// CallID is the proposed tool call that is under review.
	CallID string `json:"call_id" agent:"-input"`
	// Decision is what the reviewer said.
	Decision *decision `json:"decision" agent:"-input"`
	// Receipt proves that the action was carried out.
	Receipt string `json:"receipt" agent:"-input"`
}

// action is the tool that the agent wants to use.
const action = "carry_out"

// Approval proposes to do what the user asks, waits for a person's decision,
// does it once, and reports.
func Approval() agent.Agent {
	return agent.NewGraph[approvalState]("approval").
		Node("propose", propose).
		Node("review", review).
		Node("act", act).
		Node("report", report).
		Edge(agent.Start, "propose").
		Branch("propose", func(s approvalState) string {
			if s.Request == "" {
				return agent.End
			}
			return "review"
		}, "review", agent.End).
		Branch("review", func(s approvalState) string {
			if s.Decision.approved() {
				return "act"
			}
			return "report"
		}, "act", "report").
		Edge("act", "report").
		Edge("report", agent.End).
		MustCompile()
}

// propose answers with the tool call that needs a person's consent.
func propose(ctx agent.Context, s approvalState) (agent.Update, error) {
	request := newestRequest(s.Messages)
	update := agent.Values{"request": request, "call_id": "", "decision": nil, "receipt": ""}
	turn := scripted.Say("Tell me what to do. I will ask for approval before I do it.")
	if request != "" {
		args, err := json.Marshal(map[string]string{"request": request})
		if err != nil {
			return nil, err
		}
		call := message.NewToolCall("call_"+ctx.NewID(), action, args)
		turn = scripted.Turn{
			Text:      fmt.Sprintf("You asked me to: %s\nI need approval for that.", request),
			ToolCalls: []message.ToolCall{call},
		}
		update.Set("call_id", call.ID)
	}
	answer, err := speak(ctx, s.Messages, turn)
	if err != nil {
		return nil, err
	}
	return update.Set("messages", []message.Message{answer}), nil
}

// review asks. The question is the JSON of LangChain's human-in-the-loop
// middleware, so that inboxes and chat frontends know how to show it.
func review(ctx agent.Context, s approvalState) (agent.Update, error) {
	d, err := agent.Interrupt[decision](ctx, askAbout(s.Request), agent.ResponseSchema(answerSchema))
	if err != nil {
		return nil, err
	}
	update := agent.Set("decision", d)
	if !d.approved() {
		update.Set("messages", []message.Message{toolResult(s.CallID, "error", d.refusal())})
	}
	return update, nil
}

// act carries the request out, in a durable step: once its receipt is recorded,
// neither a crash nor a repeated resume does it again.
func act(ctx agent.Context, s approvalState) (agent.Update, error) {
	receipt, err := agent.Step(ctx, action, func(step agent.StepContext) (string, error) {
		return carryOut(s.Decision.request(s.Request), step.IdempotencyKey()), nil
	})
	if err != nil {
		return nil, err
	}
	return agent.Values{
		"receipt":  receipt,
		"messages": []message.Message{toolResult(s.CallID, "success", "done, receipt "+receipt)},
	}, nil
}

// carryOut stands for the call of a real system: it gets the key under which
// that system would recognise a repeat, and gives a receipt.
func carryOut(request, idempotencyKey string) string {
	sum := sha256.Sum256([]byte(idempotencyKey + "\n" + request))
	return hex.EncodeToString(sum[:4])
}

func toolResult(callID, status, text string) message.Message {
	m := message.NewTool(callID, action, text)
	m.Status = status
	return m
}

// report tells the user what came of it.
func report(ctx agent.Context, s approvalState) (agent.Update, error) {
	switch {
	case !s.Decision.approved():
		return say(ctx, s.Messages, fmt.Sprintf("I did not do it: %s\n%s", s.Request, sentence(s.Decision.refusal())))
	case s.Decision.request(s.Request) != s.Request:
		return say(ctx, s.Messages, fmt.Sprintf("Done, as the reviewer changed it: %s\nReceipt: %s", s.Decision.request(s.Request), s.Receipt))
	default:
		return say(ctx, s.Messages, fmt.Sprintf("Done: %s\nReceipt: %s", s.Request, s.Receipt))
	}
}
