package main

import (
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/message"
)

// labels asks by a form of a type that no page knows, with a field of every type.
func labels() agent.Agent {
	type label struct {
		To      string  `json:"to"`
		Weight  float64 `json:"weight"`
		Worth   float64 `json:"worth"`
		Speed   string  `json:"speed"`
		Day     string  `json:"day"`
		Fragile bool    `json:"fragile"`
		Remark  string  `json:"remark"`
	}
	least, most := 0.1, 31.5
	return asking("labels", func(ctx agent.Context) (string, error) {
		a, err := form.Ask[label](ctx, form.Card{
			FormType: "shipping-label", Title: "Print a label", Description: "The parcel leaves today.",
			Context: map[string]any{"order": "4711"}, ApproveLabel: "Print", RejectLabel: "Don't print",
			Fields: []form.Field{
				{Name: "to", Label: "Recipient", Type: form.Text, Required: true, MaxLength: 40, Help: "As on the order"},
				{Name: "weight", Label: "Weight in kg", Type: form.Number, Required: true, Min: &least, Max: &most},
				{Name: "worth", Label: "Insured for", Type: form.Currency, Currency: "USD", Default: 1250.5},
				{Name: "speed", Label: "Speed", Type: form.Select, Options: []form.Option{{Value: "slow", Label: "Slow"}, {Value: "fast", Label: "Fast"}}, Default: "slow"},
				{Name: "day", Label: "Day", Type: form.Date, Default: "2026-12-24"},
				{Name: "fragile", Label: "Fragile", Type: form.Checkbox, Default: true},
				{Name: "remark", Label: "Remark", Type: form.Textarea, MaxLength: 200},
			},
		})
		switch {
		case err != nil:
			return "", err
		case !a.Approved:
			return "No label: " + a.Message, nil
		}
		v := a.Values
		return fmt.Sprintf("Label for %s: %.1f kg, %.2f USD, %s, %s, fragile %t", v.To, v.Weight, v.Worth, v.Speed, v.Day, v.Fragile), nil
	})
}

// claims asks for a decision by name, until a deadline.
func claims() agent.Agent {
	return asking("claims", func(ctx agent.Context) (string, error) {
		d, err := agent.Review(ctx, agent.ReviewRequest{
			Reason: "The refund is above the limit.", Context: map[string]any{"claim_id": "CLM-4821", "amount": 240},
			AllowedDecisions: []string{"approve", "ask the customer", "reject"}, Expiry: &agent.Expiry{After: 3 * time.Hour},
		})
		return fmt.Sprintf("Claim: %s (%s)", d.Decision, d.Notes), err
	})
}

// survey asks a question of its own, whose answer has a schema.
func survey() agent.Agent {
	type opinion struct {
		Stars int    `json:"stars" jsonschema:"minimum=1,maximum=5"`
		Why   string `json:"why" jsonschema:"minLength=3"`
	}
	return asking("survey", func(ctx agent.Context) (string, error) {
		o, err := agent.Interrupt[opinion](ctx, "How was it?")
		return fmt.Sprintf("%d stars: %s", o.Stars, o.Why), err
	})
}

// payout asks by a value of its own shape that has a title.
func payout() agent.Agent {
	return asking("payout", func(ctx agent.Context) (string, error) {
		type payment struct {
			Title string `json:"title"`
			Order string `json:"order"`
		}
		paid, err := agent.Interrupt[bool](ctx, payment{"Pay this refund?", "A-17"})
		return fmt.Sprintf("Paid: %t", paid), err
	})
}

// asking is an agent that says what came of its question.
func asking(name string, ask func(agent.Context) (string, error)) agent.Agent {
	return agent.NewGraph[talk](name).
		Node("ask", func(ctx agent.Context, _ talk) (agent.Update, error) {
			text, err := ask(ctx)
			if err != nil {
				return nil, err
			}
			return agent.Set("messages", []message.Message{message.NewAI(text)}), nil
		}).
		Edge(agent.Start, "ask").
		MustCompile()
}
