package main

import (
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

const prompt = `You help the customers of a small shop. Look into the help pages before you answer.
Pay a refund only for an order that the customer has named.`

// Lookup is what the model fills in to search the help pages.
type Lookup struct {
	Query string `json:"query" jsonschema:"description=What the customer wants to know"`
}

// Refund is what the model fills in to pay money back.
type Refund struct {
	Order string `json:"order" jsonschema:"description=Number of the order,pattern=^[A-Z]-[0-9]+$"`
	Cents int    `json:"cents" jsonschema:"minimum=1,maximum=50000"`
}

// newSupport is the agent: two plain functions as tools, of which a person decides on one.
func newSupport(m model.Model, s *shop) (agent.Agent, error) {
	return react.NewAgent(react.Config{
		Name:   "support",
		Model:  m,
		Prompt: prompt,
		Tools: []tool.Tool{
			tool.Func("search_help", "Searches the help pages.", s.search, tool.AtLeastOnce()),
			tool.Func("pay_refund", "Pays money back for an order.", s.refund, tool.Timeout(30*time.Second)),
		},
		Review: hitl.Config{Policy: hitl.Policy{"pay_refund": {Decisions: hitl.All()}}},
		Limits: react.Limits{Steps: 12, Tokens: 100_000},
	})
}

func (s *shop) search(_ tool.CallContext, l Lookup) (string, error) {
	return s.page(l.Query), nil
}

// refund runs once: the result is stored before anything else happens, and the bank is
// given a key by which it knows repeats.
func (s *shop) refund(ctx tool.CallContext, r Refund) (string, error) {
	ctx.Progress("Talking to the bank …")
	receipt, err := s.pay(ctx, r.Order, r.Cents, ctx.IdempotencyKey())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Paid %d cents for order %s. Receipt: %s", r.Cents, r.Order, receipt), nil
}
