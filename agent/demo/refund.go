package demo

import (
	"fmt"

	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/tool"
)

type refund struct {
	Order    string  `json:"order" jsonschema_description:"Number of the order"`
	Amount   float64 `json:"amount,omitempty" jsonschema:"minimum=0" jsonschema_description:"What the customer asks for"`
	Currency string  `json:"currency,omitempty" jsonschema_description:"ISO 4217 code"`
}

// grant is what the person allows.
type grant struct {
	Amount float64 `json:"amount"`
	Reason string  `json:"reason"`
	Notify bool    `json:"notify"`
	Note   string  `json:"note"`
}

// mostRefunded bounds a refund.
var mostRefunded = 1000.0

func refundOrder() tool.Tool {
	return tool.New("refund_order", "Refund an order. A person decides on the amount.", func(ctx tool.Context, r refund) (any, error) {
		if r.Currency == "" {
			r.Currency = "EUR"
		}
		least := 0.01
		card := form.Card{
			FormType: "refund-approval", Title: "Refund order " + r.Order,
			Description: "The customer gets the amount back on the way in which they paid.",
			Context:     r, ApproveLabel: "Refund", RejectLabel: "Refuse",
			Fields: []form.Field{
				{Name: "amount", Label: "Amount", Type: form.Currency, Currency: r.Currency, Required: true, Min: &least, Max: &mostRefunded},
				{Name: "reason", Label: "Reason", Type: form.Select, Required: true, Options: choices("Damaged", "Late", "Goodwill")},
				{Name: "notify", Label: "Tell the customer", Type: form.Checkbox, Default: true},
				{Name: "note", Label: "Note for the records", Type: form.Textarea, MaxLength: 1000},
			},
		}
		if r.Amount > 0 {
			card.Fields[0].Default = r.Amount
		}
		answer, err := form.Ask[grant](ctx, card)
		if err != nil {
			return nil, err
		}
		if !answer.Approved {
			return refused(ctx, "The refund", answer.Message), nil
		}
		receipt, err := once(ctx, "refund_order")
		if err != nil {
			return nil, err
		}
		g := answer.Values
		text := fmt.Sprintf("Order %s: %.2f %s refunded (%s)", r.Order, g.Amount, r.Currency, g.Reason)
		if g.Notify {
			text += ", the customer is told"
		}
		return text + ". Receipt: " + receipt, nil
	})
}
