package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// thinker thinks aloud before it answers, and tells what that took.
func thinker() agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name: "thinker",
		Model: scripted.Script{Choose: scripted.Always(scripted.Turn{
			Reasoning: "Six times seven is what is asked for.", Text: "The answer is **42**.",
			Usage: &message.Usage{InputTokens: 1200, OutputTokens: 34, TotalTokens: 1234},
		})},
	}))
}

// builder calls a tool that tells how far it is and waits for the item gates/<thread> to go on, then one that fails.
func builder() agent.Agent {
	type nothing struct {
		Target string `json:"target"`
	}
	build := tool.Func("build", "Builds it.", func(ctx tool.CallContext, _ nothing) (map[string]int, error) {
		for _, line := range []string{"compiled 1 of 2", "compiled 2 of 2"} {
			ctx.Progress(line)
		}
		return map[string]int{"warnings": 3}, opened(ctx, ctx.Items(), ctx.ThreadID())
	})
	publish := tool.Func("publish", "Publishes it.", func(tool.CallContext, nothing) (string, error) {
		return "", errors.New("the registry is closed")
	})
	turns := scripted.Sequence(
		scripted.CallTool("", "build", `{"target":"linux"}`), scripted.CallTool("", "publish", `{"target":"linux"}`),
		scripted.Say("Built, but not published."))
	return react.Must(react.New(react.Options[react.State]{
		Name: "builder", Model: scripted.Script{Choose: turns}, Tools: []tool.Tool{build, publish},
	}))
}

// opened waits until a test puts the item.
func opened(ctx context.Context, items agent.Items, key string) error {
	for {
		item, err := items.Get(ctx, []string{"gates"}, key)
		if err != nil || item != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type talk struct {
	Messages message.List `json:"messages"`
}

// moody fails the first time that a process runs it in a thread.
func moody() agent.Agent {
	var seen sync.Map
	return agent.NewGraph[talk]("moody").
		Node("answer", func(ctx agent.Context, _ talk) (agent.Update, error) {
			if _, again := seen.LoadOrStore(ctx.ThreadID(), true); !again {
				return nil, errors.New("the weather service is down")
			}
			return agent.Set("messages", []message.Message{message.NewAI("It is sunny.")}), nil
		}).
		Edge(agent.Start, "answer").
		MustCompile()
}

// courier delivers once at most, and hangs in its first attempt.
func courier() agent.Agent {
	return agent.NewGraph[talk]("courier").
		Node("deliver", func(ctx agent.Context, _ talk) (agent.Update, error) {
			receipt, err := agent.Step(ctx, "deliver", func(step agent.StepContext) (json.RawMessage, error) {
				if step.Attempt() == 1 {
					<-step.Done()
					return nil, step.Err()
				}
				return json.RawMessage(`"delivered"`), nil
			}, agent.AtMostOnce())
			if err != nil {
				return nil, err
			}
			return agent.Set("messages", []message.Message{message.NewAI(fmt.Sprintf("Parcel: %s", receipt))}), nil
		}).
		Edge(agent.Start, "deliver").
		MustCompile()
}
