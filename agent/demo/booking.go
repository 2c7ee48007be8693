package demo

import (
	"fmt"

	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/tool"
)

type flight struct {
	From string `json:"from,omitempty" jsonschema_description:"City of departure"`
	To   string `json:"to,omitempty" jsonschema_description:"City of arrival"`
	Day  string `json:"day,omitempty" jsonschema_description:"Day of travel, YYYY-MM-DD"`
}

// booking is what the person fills in.
type booking struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Day     string `json:"day"`
	Cabin   string `json:"cabin"`
	Luggage bool   `json:"luggage"`
	Wishes  string `json:"wishes"`
}

func bookFlight() tool.Tool {
	return tool.New("book_flight", "Book a flight. A person completes the booking first.", func(ctx tool.Context, f flight) (any, error) {
		answer, err := form.Ask[booking](ctx, form.Card{
			FormType: "flight-booking", Title: "Book a flight", Description: "Complete the booking. Nothing is bought before you confirm.",
			Context: f, ApproveLabel: "Book", RejectLabel: "Don't book",
			Fields: []form.Field{
				{Name: "from", Label: "From", Type: form.Text, Required: true, Default: given(f.From)},
				{Name: "to", Label: "To", Type: form.Text, Required: true, Default: given(f.To)},
				{Name: "day", Label: "Day", Type: form.Date, Required: true, Default: given(f.Day)},
				{Name: "cabin", Label: "Cabin", Type: form.Select, Options: choices("Economy", "Premium economy", "Business"), Default: "economy"},
				{Name: "luggage", Label: "With a suitcase", Type: form.Checkbox, Default: false},
				{Name: "wishes", Label: "Wishes", Type: form.Textarea, MaxLength: 500},
			},
		})
		if err != nil {
			return nil, err
		}
		if !answer.Approved {
			return refused(ctx, "The booking", answer.Message), nil
		}
		receipt, err := once(ctx, "book_flight")
		if err != nil {
			return nil, err
		}
		b := answer.Values
		text := fmt.Sprintf("Flight from %s to %s on %s booked, %s", b.From, b.To, b.Day, b.Cabin)
		if b.Luggage {
			text += ", with a suitcase"
		}
		return text + ". Receipt: " + receipt, nil
	})
}

// given is a default that is left out when there is none.
func given(text string) any {
	if text == "" {
		return nil
	}
	return text
}
