package main

import (
	"fmt"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Refund is the state of a claim.
type Refund struct {
	Messages message.List `json:"messages"`
	Order    string       `json:"order"`
	Cents    int          `json:"cents"`
	Decision *Decision    `json:"decision" agent:"-input"`
	Receipt  string       `json:"receipt" agent:"-input"`
}

// Card is what the reviewer sees.
type Card struct {
	Title string `json:"title"`
	Order string `json:"order"`
	Cents int    `json:"cents"`
}

// Decision is the reviewer's answer.
type Decision struct {
	Approved bool `json:"approved"`
	// Cents, when above 0, is what the reviewer grants instead of the amount claimed.
	Cents int    `json:"cents,omitempty"`
	Note  string `json:"note,omitempty"`
}

// decisionSchema refuses other answers before they are stored.
const decisionSchema = `{
  "type": "object",
  "required": ["approved"],
  "properties": {
    "approved": {"type": "boolean"},
    "cents": {"type": "integer", "minimum": 1},
    "note": {"type": "string"}
  }
}`

// smallAmount is paid without asking.
const smallAmount = 50_00

func newRefund(b *bank) agent.Agent {
	return agent.NewGraph[Refund]("refund").
		Node("assess", assess).
		Node("review", review).
		Node("pay", b.pay).
		Node("tell", tell).
		Edge(agent.Start, "assess").
		Branch("assess", func(s Refund) string {
			switch {
			case s.Order == "" || s.Cents <= 0:
				return "tell"
			case s.Decision != nil:
				return "pay"
			}
			return "review"
		}, "pay", "review", "tell").
		Branch("review", func(s Refund) string {
			if s.Decision.Approved {
				return "pay"
			}
			return "tell"
		}, "pay", "tell").
		Edge("pay", "tell").
		Edge("tell", agent.End).
		MustCompile()
}

// assess grants small claims at once and clears what an earlier claim left.
func assess(_ agent.Context, s Refund) (agent.Update, error) {
	update := agent.Values{"decision": nil, "receipt": ""}
	if s.Cents <= smallAmount {
		update.Set("decision", Decision{Approved: true})
	}
	return update, nil
}

func review(ctx agent.Context, s Refund) (agent.Update, error) {
	d, err := agent.Interrupt[Decision](ctx,
		Card{Title: "Pay this refund?", Order: s.Order, Cents: s.Cents},
		agent.ResponseSchema([]byte(decisionSchema)))
	if err != nil {
		return nil, err // suspended: no goroutine waits, the node starts again with the answer
	}
	return agent.Set("decision", d), nil
}

func (b *bank) pay(ctx agent.Context, s Refund) (agent.Update, error) {
	cents := s.Cents
	if s.Decision.Cents > 0 {
		cents = s.Decision.Cents
	}
	receipt, err := agent.Step(ctx, "transfer", func(step agent.StepContext) (string, error) {
		return b.transfer(step, s.Order, cents, step.IdempotencyKey())
	})
	if err != nil {
		return nil, err
	}
	return agent.Set("receipt", receipt), nil
}

func tell(_ agent.Context, s Refund) (agent.Update, error) {
	text := fmt.Sprintf("The refund for order %s is paid. Receipt: %s", s.Order, s.Receipt)
	switch {
	case s.Order == "" || s.Cents <= 0:
		text = `Which order, and how much? The input is a claim: {"order": "A-17", "cents": 9000}`
	case !s.Decision.Approved:
		text = strings.TrimSpace(fmt.Sprintf("The refund for order %s was refused. %s", s.Order, s.Decision.Note))
	}
	return agent.Set("messages", []message.Message{message.NewAI(text)}), nil
}
