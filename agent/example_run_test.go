package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// Run a graph in a test: agenttest keeps the thread in memory.
func Example() {
	ctx := context.Background()
	thread := agenttest.New(NewTrip())
	if _, err := thread.Run(ctx, map[string]any{"days": 3}); err != nil {
		fmt.Println(err)
		return
	}
	state, err := thread.State(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	last, _ := state.State.Messages()["messages"].Last()
	fmt.Println(last.Text())
	// Output: Go to Lisbon for 3 days and see 2 sights.
}

// A run stops at a question and goes on with the answer.
func ExampleInterrupt() {
	ctx := context.Background()
	thread := agenttest.New(NewPost())
	run, err := thread.Run(ctx, map[string]any{"text": "Parley is here."})
	fmt.Println(run.Suspended, err)
	fmt.Println(string(thread.Pending()[0].Value))

	_, err = thread.Resume(ctx, "yes")
	fmt.Println("refused:", err != nil, "still open:", len(thread.Pending()))

	run, err = thread.Resume(ctx, map[string]any{"approved": true})
	fmt.Println(run.Status, err)
	fmt.Println(stateKey(ctx, thread, "url"))
	// Output:
	// true <nil>
	// {"question":"May I publish this?","text":"Parley is here."}
	// refused: true still open: 1
	// success <nil>
	// "https://example.com/posts/1"
}

// One task per question, their answers in the order of the questions.
func ExampleSend() {
	ctx := context.Background()
	thread := agenttest.New(NewSurvey())
	_, err := thread.Run(ctx, map[string]any{"questions": []string{"A", "B"}})
	fmt.Println(stateKey(ctx, thread, "answers"), err)
	// Output: ["the answer to A","the answer to B"] <nil>
}

// A graph as a node of another one.
func ExampleBuilder_Subgraph() {
	ctx := context.Background()
	thread := agenttest.New(NewDesk())
	_, err := thread.Run(ctx, map[string]any{"messages": []string{"Why do I pay?"}})
	fmt.Println(err)
	state, _ := thread.State(ctx, "")
	last, _ := state.State.Messages()["messages"].Last()
	fmt.Println(last.Text())
	// Output:
	// <nil>
	// It is about invoice 2026-117.
}

// A streamed answer is the concatenation of its chunks.
func ExampleStreamMessage() {
	ctx := context.Background()
	thread := agenttest.New(NewChat())
	run, err := thread.Run(ctx, map[string]any{"messages": []string{"good day"}})
	for _, e := range run.Events {
		if d, ok := e.Payload.(agent.Delta); ok {
			fmt.Printf("%q ", d.Text)
		}
	}
	state, _ := thread.State(ctx, "")
	last, _ := state.State.Messages()["messages"].Last()
	fmt.Println(last.Text(), last.UsageMetadata.TotalTokens, err)
	// Output: "You " "said: " "good " "day" You said: good day 8 <nil>
}

// What a node finds beside its state.
func ExampleContextOf() {
	ctx := context.Background()
	thread := agenttest.New(NewGreeter())
	thread.Clock().AutoAdvance = true
	items := &agenttest.Items{}
	thread.Items = items
	err := items.Put(ctx, []string{"users"}, "u1", json.RawMessage(`"Ada"`))
	thread.Config = agent.Config{
		Configurable: map[string]json.RawMessage{"user_id": json.RawMessage(`"u1"`)},
		Context:      json.RawMessage(`{"language":"de"}`),
	}
	run, runErr := thread.Run(ctx, map[string]any{"messages": []string{"Hi"}})
	for _, e := range run.Events {
		if c, ok := e.Payload.(agent.Custom); ok {
			fmt.Println(string(c.Value))
		}
	}
	state, _ := thread.State(ctx, "")
	last, _ := state.State.Messages()["messages"].Last()
	fmt.Println(last.Text(), err, runErr)
	// Output:
	// {"progress":"looking you up"}
	// Hallo, Ada <nil> <nil>
}

// A reducer folds what nodes write; a factory builds the graph for each configuration.
func ExampleReducer() {
	ctx := context.Background()
	cfg := agent.Config{Configurable: map[string]json.RawMessage{"shelf": json.RawMessage(`"top"`)}}
	graph, err := NewStock().Graph(ctx, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	thread := agenttest.New(graph)
	run, err := thread.Run(ctx, map[string]any{"count": 41})
	for _, e := range run.Events {
		if u, ok := e.Payload.(agent.UpdatesNote); ok {
			fmt.Println(u.Node, string(u.Data))
		}
	}
	fmt.Println(stateKey(ctx, thread, "count"), err)
	run, err = thread.Run(ctx, map[string]any{"count": -43})
	fmt.Println(run.Status, run.Err, err)
	// Output:
	// top {"count":1}
	// 42 <nil>
	// error &{InvalidUpdateError Invalid update for channel "count": there is nothing left} <nil>
}

// stateKey is a key of the newest state as JSON.
func stateKey(ctx context.Context, thread *agenttest.Thread, key string) string {
	state, err := thread.State(ctx, "")
	if err != nil {
		return err.Error()
	}
	v, ok := state.State.Value(key)
	if !ok {
		return "none"
	}
	return string(v.AppendJSON(nil))
}
