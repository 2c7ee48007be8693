package server_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// D-75: a header belongs to the request that has it. A run that a person lets go
// on has the headers of the answer alone, in both dialects; what shall outlive the
// wait is put into config.configurable, which the thread remembers.
func TestHeadersAreNotKeptOverAWaitAndConfigurableIs(t *testing.T) {
	t.Parallel()
	type report struct {
		Before string         `json:"before"`
		After  map[string]any `json:"after"`
	}
	c := labServer(t, agent.NewGraph[report]("courier").
		Node("ask", func(ctx agent.Context, _ report) (agent.Update, error) {
			if _, err := agent.Interrupt[any](ctx, "go on?"); err != nil {
				return nil, err
			}
			seen := map[string]any{}
			for _, key := range []string{"x-token", "x-other", "region"} {
				if v, ok := ctx.Config().Configurable[key]; ok {
					seen[key] = string(v)
				}
			}
			return agent.Set("after", seen), nil
		}).Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile())
	first := c.as(map[string]string{"X-Token": "of the first request"})
	plain := c.as(map[string]string{"X-Other": "of the answer"})
	want := map[string]any{"x-other": `"of the answer"`, "region": `"eu"`}

	id := c.thread()
	first.post("/threads/"+id+"/runs/wait", `{"assistant_id":"courier","input":{},"config":{"configurable":{"region":"eu"}}}`).ok()
	plain.post("/threads/"+id+"/runs/wait", `{"assistant_id":"courier","command":{"resume":true}}`).ok()
	require.Equal(t, want, c.values(id)["after"])
	require.NotContains(t, c.get("/threads/"+id).ok().body, "of the first request", "the thread remembers none")

	p := &protocol{client: first, thread: uuid.NewString()}
	p.success("run.start", `{"assistant_id":"courier","input":{},"config":{"configurable":{"region":"eu"}}}`)
	question := p.question()
	p.client = plain
	p.success("input.respond", `{"interrupt_id":"`+question+`","response":true}`)
	require.Equal(t, want, p.ended()["values"].(map[string]any)["after"])

	// A credential of the API itself reaches no run at all.
	secret := c.as(map[string]string{"X-Api-Key": "sk-secret"})
	run := secret.post("/threads/"+c.thread()+"/runs", `{"assistant_id":"courier","input":{}}`).is(http.StatusOK)
	require.NotContains(t, run.body, "sk-secret")
}
