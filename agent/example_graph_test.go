package agent_test

import (
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Trip is the state of a travel agent.
type Trip struct {
	Messages message.List `json:"messages"`                // add-messages reducer
	City     string       `json:"city"`                    // the last write wins
	Sights   []string     `json:"sights" agent:"append"`   // writes are appended; [] at first
	Days     int          `json:"days" agent:"default=1"`  // 1 until written
	Budget   int          `json:"budget" agent:"-output"`  // not in the output schema
	Draft    string       `json:"draft" agent:"untracked"` // never stored
}

// NewTrip finds a city and, for long trips, sights.
func NewTrip() *agent.Graph {
	return agent.NewGraph[Trip]("trip").
		Node("choose", choose).
		Node("explore", explore).
		Node("answer", answer).
		Edge(agent.Start, "choose").
		Branch("choose", func(s Trip) string {
			if s.Days > 1 {
				return "explore"
			}
			return "answer"
		}, "explore", "answer").
		Edge("explore", "answer").
		Edge("answer", agent.End).
		MustCompile()
}

func choose(_ agent.Context, _ Trip) (agent.Update, error) {
	return agent.Set("city", "Lisbon"), nil
}

func explore(_ agent.Context, s Trip) (agent.Update, error) {
	return agent.Values{
		"sights": []string{"the castle of " + s.City, "the river"},
		"draft":  "something that only this run needs",
	}, nil
}

func answer(_ agent.Context, s Trip) (agent.Update, error) {
	text := fmt.Sprintf("Go to %s for %d days and see %d sights.", s.City, s.Days, len(s.Sights))
	return agent.Set("messages", []message.Message{message.NewAI(text)}), nil
}
