package thread

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// calls counts the calls of models and tools that a recorder's run makes, as stepFold does, so that one of them can
// be aborted by its number. The recorder guards it.
type calls struct {
	begun int
	open  map[string]int // number by kind and id
	// armed is the call that strike aborts as soon as it begins; 0 for none. due is set once it has.
	armed  int
	due    bool
	strike func()
}

func (c *calls) see(e agent.Event) {
	switch v := e.Payload.(type) {
	case agent.MessageStart:
		if v.Type == message.AI && v.Streamed {
			c.start(StepModel + v.ID)
		}
	case agent.MessageFinish:
		delete(c.open, StepModel+v.ID)
	case agent.MessageError:
		delete(c.open, StepModel+v.ID)
	case agent.ToolNote:
		switch e.Kind {
		case agent.ToolStarted:
			c.start(StepTool + v.CallID)
		case agent.ToolFinished, agent.ToolFailed:
			delete(c.open, StepTool+v.CallID)
		}
	}
}

func (c *calls) start(key string) {
	if _, again := c.open[key]; again {
		return
	}
	if c.open == nil {
		c.open = map[string]int{}
	}
	c.begun++
	c.open[key] = c.begun
	c.due = c.due || c.armed == c.begun
}

// take returns strike, once, if the armed call has begun.
func (c *calls) take() func() {
	if !c.due {
		return nil
	}
	strike := c.strike
	c.armed, c.due, c.strike = 0, false, nil
	return strike
}

// arm has strike called when the run's n-th call begins. What it returns is InterruptAborted where that call is in
// flight already: then strike isn't kept.
func (r *recorder) arm(n int, strike func()) InterruptOutcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.calls
	switch {
	case r.refusal() != nil:
		return InterruptNoop
	case n <= c.begun:
		for _, number := range c.open {
			if number == n {
				return InterruptAborted
			}
		}
		return InterruptNoop
	case n == c.begun+1 && len(c.open) == 0 && r.counted > 0: // a model that has not said anything yet
		return InterruptAborted
	case n == c.armed:
		return InterruptAlreadyArmed
	}
	c.armed, c.strike = n, strike
	return InterruptArmed
}
