package conformance

import (
	"time"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// style is how the scripted agents of a suite speak (spec/conformance-frontends.md 3).
type style struct {
	// echo agents stream their answers and add what their tools said; others give them whole.
	echo bool
	// ids keeps the configured message ids.
	ids bool
	// toolDelay is how long the research tools take.
	toolDelay time.Duration
}

// Styles: React's agents are scripted, those of the others echo, Svelte's with ids.
var (
	scriptStyle = style{ids: true}
	echoStyle   = style{echo: true, toolDelay: 100 * time.Millisecond}
	svelteStyle = style{echo: true, ids: true, toolDelay: 100 * time.Millisecond}
)

func (s style) model(calls, final message.Message) model.Model {
	if !s.ids {
		calls.ID, final.ID = "", ""
	}
	return exchange{calls: calls, final: final, echo: s.echo}
}

func (s style) options() []model.Option {
	if s.echo {
		return nil
	}
	return []model.Option{model.Unstreamed()}
}
