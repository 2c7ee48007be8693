package conformance

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// weatherReport gives the same weather everywhere, after a while.
func weatherReport() tool.Tool {
	type report struct {
		City      string `json:"city"`
		TempF     int    `json:"temp_f"`
		Condition string `json:"condition"`
	}
	return tool.New("get_weather", "Get weather for a city", func(ctx tool.Context, args struct {
		City string `json:"city"`
	}) (any, error) {
		return report{args.City, 64, "Foggy"}, ctx.Sleep(200 * time.Millisecond)
	})
}

// webSearch finds the same two pages for everything.
func webSearch(delay time.Duration) tool.Tool {
	type page struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	type found struct {
		Status  string `json:"status"`
		Query   string `json:"query"`
		Results []page `json:"results"`
	}
	return tool.New("search_web", "Search the web for information on a topic", func(ctx tool.Context, args struct {
		Query string `json:"query" jsonschema_description:"The search query"`
	}) (any, error) {
		return found{"success", args.Query, []page{
			{"Result for: " + args.Query, "https://example.com/1"},
			{"More on: " + args.Query, "https://example.com/2"},
		}}, ctx.Sleep(delay)
	})
}

// databaseQuery finds the same records in every table, and answers by a Command.
func databaseQuery(delay time.Duration) tool.Tool {
	type record struct {
		ID    int    `json:"id"`
		Name  string `json:"name"`
		Value int    `json:"value"`
	}
	type found struct {
		Status  string   `json:"status"`
		Table   string   `json:"table"`
		Records []record `json:"records"`
		Count   int      `json:"count"`
	}
	return tool.New("query_database", "Query a database table with optional filters", func(ctx tool.Context, args struct {
		Table string `json:"table" jsonschema_description:"The table name"`
	}) (any, error) {
		if err := ctx.Sleep(delay); err != nil {
			return nil, err
		}
		text, err := json.Marshal(found{"success", args.Table, []record{{1, "Record A", 42}, {2, "Record B", 87}}, 2})
		return tool.Answer(ctx.ToolCall(), string(text)), err
	})
}

// approvalRequest asks a person and returns the answer as it is.
func approvalRequest() tool.Tool {
	return tool.New("request_approval", "Request human approval before proceeding.", func(ctx tool.Context, _ struct{}) (any, error) {
		answer, err := agent.Interrupt[json.RawMessage](ctx, map[string]string{"prompt": "Approve subagent tool action?"})
		if isNull(answer) {
			answer = json.RawMessage(`{"approved":true}`)
		}
		return answer, err
	})
}

// reviewCard is a question in the form of a message, which clients show as a card.
type reviewCard struct {
	Type             string           `json:"type"`
	Content          string           `json:"content"`
	ResponseMetadata reviewCardExtras `json:"response_metadata"`
}

type reviewCardExtras struct {
	Cards struct {
		Kind    string   `json:"kind"`
		Action  string   `json:"action"`
		Buttons []string `json:"buttons"`
	} `json:"cards"`
}

// reviewedAction is carried out, slowly, if a person says so (spec/conformance-frontends.md 4.2).
func reviewedAction() tool.Tool {
	return tool.New("review_action", "Perform a sensitive action that requires human approval.", func(ctx tool.Context, args struct {
		ToolArg string `json:"toolArg"`
	}) (any, error) {
		card := reviewCard{Type: "ai", Content: `Please review the "` + args.ToolArg + `" action.`}
		card.ResponseMetadata.Cards.Kind = "tool_validation"
		card.ResponseMetadata.Cards.Action = args.ToolArg
		card.ResponseMetadata.Cards.Buttons = []string{"approve", "reject"}
		answer, err := agent.Interrupt[json.RawMessage](ctx, card)
		if err != nil {
			return nil, err
		}
		if !approves(answer) {
			return "User has rejected the toolcall", nil
		}
		return `Executed "` + args.ToolArg + `".`, ctx.Sleep(time.Second)
	})
}

// approves tells whether an answer is true, or an object whose key approved is.
func approves(answer json.RawMessage) bool {
	var decision map[string]json.RawMessage
	if json.Unmarshal(answer, &decision) == nil && decision != nil {
		answer = decision["approved"]
	}
	return string(bytes.TrimSpace(answer)) == "true"
}

// clientLocation is carried out by the client (spec/conformance-frontends.md 4.3).
func clientLocation() tool.Tool {
	type arguments struct {
		HighAccuracy bool `json:"highAccuracy,omitempty"`
	}
	return tool.Headless[arguments]("get_location", "Get the user's current GPS location")
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}
