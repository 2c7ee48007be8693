package demo

import (
	"fmt"

	"github.com/parley-dev/parley/agent/form"
	"github.com/parley-dev/parley/agent/tool"
)

type content struct {
	Text string `json:"text" jsonschema_description:"The text to publish"`
}

// edition is the text as the person lets it go.
type edition struct {
	Text     string `json:"text"`
	Audience string `json:"audience"`
	Checked  bool   `json:"checked"`
}

func publishContent() tool.Tool {
	return tool.New("publish_content", "Publish a text. A person reviews and may change it first.", func(ctx tool.Context, c content) (any, error) {
		answer, err := form.Ask[edition](ctx, form.Card{
			FormType: "content-review", Title: "Review the text", Description: "It is published as it stands in the form.",
			Context: c, ApproveLabel: "Publish", RejectLabel: "Hold back",
			Fields: []form.Field{
				{Name: "text", Label: "Text", Type: form.Textarea, Required: true, Default: given(c.Text), MaxLength: 5000},
				{Name: "audience", Label: "Audience", Type: form.Select, Options: choices("Everybody", "Customers", "Colleagues"), Default: "customers"},
				{Name: "checked", Label: "The facts were checked", Type: form.Checkbox, Default: false},
			},
		})
		if err != nil {
			return nil, err
		}
		if !answer.Approved {
			return refused(ctx, "The publication", answer.Message), nil
		}
		receipt, err := once(ctx, "publish_content")
		if err != nil {
			return nil, err
		}
		return fmt.Sprintf("Published for %s: %q. Receipt: %s", answer.Values.Audience, answer.Values.Text, receipt), nil
	})
}
