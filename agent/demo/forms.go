package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// Forms has three tools, each of which asks a person by a form of its own before it
// acts: a booking, a refund and a publication. It speaks by m, or by the script if that is nil.
func Forms(m model.Model) agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name:   "hitl_interrupt_forms",
		Prompt: "You book flights, refund orders and publish texts with your tools. Each asks a person by a form; tell the user what came of it.",
		Model:  orScript(m, player{help: formsHelp, plan: planForms}),
		Tools:  []tool.Tool{bookFlight(), refundOrder(), publishContent()},
	}))
}

const formsHelp = `I can book a flight, refund an order or publish a text, and ask you by a form before I do. For example:
- Book a flight from Berlin to Lisbon on 2026-12-24
- Refund order 4711, 240 EUR
- Publish: We open at nine`

// planForms finds the tools in a request; those joined by "then" are used one after the other.
func planForms(request string) [][]planned {
	var steps [][]planned
	for _, part := range thenWord.Split(request, -1) {
		lower := strings.ToLower(part)
		switch {
		case strings.Contains(lower, "flight") || strings.Contains(lower, "fly"):
			steps = append(steps, []planned{{"book_flight", flight{
				From: wordAfter(part, "from"), To: wordAfter(part, "to"), Day: isoDate.FindString(part),
			}}})
		case strings.Contains(lower, "refund"):
			order := orderNumber.FindString(part)
			amount, currency := amountIn(strings.Replace(part, order, "", 1))
			steps = append(steps, []planned{{"refund_order", refund{Order: order, Amount: amount, Currency: currency}}})
		case strings.Contains(lower, "publish") || strings.Contains(lower, "post"):
			steps = append(steps, []planned{{"publish_content", content{Text: afterColon(part)}}})
		}
	}
	return steps
}

// orderNumber is taken for the number of an order.
var orderNumber = regexp.MustCompile(`\b\d{4,}\b`)

// refused is the answer of a tool whose form was refused: the model is told that nothing was done.
func refused(ctx tool.Context, what, why string) message.Message {
	text := what + " was not done: the reviewer refused."
	if why != "" {
		text = what + " was not done: the reviewer refused, because: " + why
	}
	m := message.NewTool(ctx.ToolCall().ID, ctx.ToolCall().Name, text)
	m.Status = "error"
	return m
}

// once does what was agreed on, in a durable step, and returns its receipt.
func once(ctx tool.Context, what string) (string, error) {
	return agent.Step(ctx, what, func(step agent.StepContext) (string, error) { return receiptOf(step), nil })
}

// receiptOf stands for the call of a real system: that would recognise a repeat by the
// key, and give a receipt.
func receiptOf(step agent.StepContext) string {
	sum := sha256.Sum256([]byte(step.IdempotencyKey()))
	return hex.EncodeToString(sum[:4])
}

// choices makes options whose values are their labels.
func choices(labels ...string) []form.Option {
	all := make([]form.Option, len(labels))
	for i, l := range labels {
		all[i] = form.Option{Value: strings.ToLower(strings.ReplaceAll(l, " ", "_")), Label: l}
	}
	return all
}
