package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Settings are what a caller sends as "context" with a run.
type Settings struct {
	Language string `json:"language" jsonschema:"enum=de,enum=en"`
}

// greet uses what a node can reach beside its state.
func greet(ctx agent.Context, _ Chat) (agent.Update, error) {
	settings, err := agent.ContextOf[Settings](ctx)
	if err != nil {
		return nil, err
	}
	ctx.Write(map[string]string{"progress": "looking you up"}) // the custom stream
	name := "stranger"
	if ctx.Items() != nil { // the long-term store, shared by all threads
		item, err := ctx.Items().Get(ctx, []string{"users"}, ctx.Config().String("user_id"))
		if err != nil {
			return nil, err
		}
		if item != nil {
			if err := json.Unmarshal(item.Value, &name); err != nil {
				return nil, err
			}
		}
	}
	if err := ctx.Sleep(10 * time.Millisecond); err != nil { // ends early when the run is cancelled
		return nil, err
	}
	greeting := "Hello, " + name
	if settings.Language == "de" {
		greeting = "Hallo, " + name
	}
	return agent.Set("messages", []message.Message{message.NewAI(greeting)}), nil
}

// NewGreeter tries a failing node again, but no longer than it helps.
func NewGreeter() *agent.Graph {
	return agent.NewGraph[Chat]("greeter", agent.ContextType[Settings]()).
		Node("greet", greet,
			agent.Timeout(5*time.Second),
			agent.Retry(agent.RetryPolicy{MaxAttempts: 2, RetryOn: func(err error) bool {
				return errors.Is(err, context.DeadlineExceeded)
			}})).
		Edge(agent.Start, "greet").
		Edge("greet", agent.End).
		MustCompile()
}

// Stock counts things; its reducer adds up.
type Stock struct {
	Count int `json:"count"`
}

// NewStock has a node whose name depends on the run's configuration.
func NewStock() agent.Agent {
	return agent.Factory{ID: "stock", Build: func(_ context.Context, cfg agent.Config) (*agent.Graph, error) {
		node := "count"
		if shelf := cfg.String("shelf"); shelf != "" {
			node = shelf
		}
		sum := agent.Reducer("count", func() int { return 0 }, func(old, update int) (int, error) {
			if old+update < 0 {
				return 0, errors.New("there is nothing left")
			}
			return old + update, nil
		})
		return agent.NewGraph[Stock]("stock", sum).
			Node(node, func(agent.Context, Stock) (agent.Update, error) { return agent.Set("count", 1), nil }).
			Edge(agent.Start, node).
			Edge(node, agent.End).
			Compile()
	}}
}
