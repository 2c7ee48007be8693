package react

import (
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// Limits bound what one turn, from a human message to the next, may take. They are looked at
// before each call of the model: what is under way isn't cut off, and tools that have run are
// answered. Zero fields are no limit.
type Limits struct {
	// Steps is the number of calls of the model.
	Steps int
	// Tokens is the sum of what all calls of the model read and wrote. A model that reports
	// no usage is counted by the length of its messages, four bytes a token.
	Tokens int
	// Cost is the price of those tokens, by Prices; it needs them.
	Cost float64
	// Prices are those of the models, by the name that they report (model.Info.Name).
	Prices map[string]Price
	// WallTime is the time that runs of the turn take. Time in which the thread
	// waits for a person is not counted.
	WallTime time.Duration
	// ErrorOnLimit ends the run with a LimitError. Default: the agent says that it has to
	// stop, and the turn ends as any other.
	ErrorOnLimit bool
}

// Price is what a model's tokens cost, for a million of them, in any currency.
type Price struct {
	Input, Output float64
	// CachedInput is the price of input that the provider had in its cache. Default: that of Input.
	CachedInput float64
}

// LimitError is the name of the error that ErrorOnLimit ends a run with.
const LimitError = "LimitError"

// some tells whether there is any limit.
func (m Limits) some() bool { return m.Steps > 0 || m.Tokens > 0 || m.Cost > 0 || m.WallTime > 0 }

// check finds limits that can't be held.
func (m Limits) check(used model.Model) error {
	if m.Steps < 0 || m.Tokens < 0 || m.Cost < 0 || m.WallTime < 0 {
		return fmt.Errorf("a limit is negative")
	}
	return m.priced(used)
}

// priced tells whether a model's calls can be held to the limit of cost.
func (m Limits) priced(used model.Model) error {
	if _, ok := m.Prices[used.Info().Name]; !ok && m.Cost > 0 {
		return fmt.Errorf("the cost is limited, and there is no price for model %q", used.Info().Name)
	}
	return nil
}

// reached says which limit a turn has come to, "" for none.
func (m Limits) reached(t *turn) string {
	switch {
	case t == nil:
		return ""
	case m.Steps > 0 && t.Calls >= m.Steps:
		return fmt.Sprintf("%d steps", m.Steps)
	case m.Tokens > 0 && t.Tokens >= m.Tokens:
		return fmt.Sprintf("%d tokens", m.Tokens)
	case m.Cost > 0 && t.Cost >= m.Cost:
		return fmt.Sprintf("a cost of %g", m.Cost)
	case m.WallTime > 0 && t.elapsed() >= m.WallTime:
		return m.WallTime.String()
	}
	return ""
}

// stopAt ends the turn at a limit.
func (l *loop[S]) stopAt(ctx agent.Context, reached string) (agent.Update, error) {
	if l.o.Limits.ErrorOnLimit {
		return nil, &agent.NamedError{Name: LimitError, Message: fmt.Sprintf("The agent has reached its limit of %s for a turn.", reached)}
	}
	m := message.NewAI(fmt.Sprintf("I have to stop here: I have reached my limit of %s for a turn.", reached))
	m.ID, m.Name, m.ResponseMetadata = ctx.NewID(), l.speaker, []byte(`{"finish_reason":"limit"}`)
	return agent.Set(messagesKey, []message.Message{m}), nil
}
