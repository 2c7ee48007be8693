package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// protocol talks to one thread by commands.
type protocol struct {
	*client
	thread string
	next   int
}

func newProtocol(t *testing.T, o server.Options) *protocol {
	t.Helper()
	return &protocol{serveTest(t, o), uuid.NewString(), 0}
}

// send sends a command with params and returns the reply.
func (p *protocol) send(method, params string) map[string]any {
	p.t.Helper()
	p.next++
	a := p.post("/threads/"+p.thread+"/commands", fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, p.next, method, params)).ok()
	reply := a.json()
	require.EqualValues(p.t, p.next, reply["id"])
	return reply
}

// success wants a success and returns its result.
func (p *protocol) success(method, params string) map[string]any {
	p.t.Helper()
	reply := p.send(method, params)
	require.Equal(p.t, "success", reply["type"], reply)
	require.Equal(p.t, p.thread, reply["meta"].(map[string]any)["thread_id"])
	return reply["result"].(map[string]any)
}

// refused wants a protocol error with a code and returns the reply.
func (p *protocol) refused(code, method, params string) map[string]any {
	p.t.Helper()
	reply := p.send(method, params)
	require.Equal(p.t, "error", reply["type"], reply)
	require.Equal(p.t, code, reply["error"], reply)
	require.NotEmpty(p.t, reply["message"])
	return reply
}

// ended waits for the thread's runs to end and returns the state.
func (p *protocol) ended() map[string]any {
	p.t.Helper()
	p.until("the runs end", func() bool { return p.get("/threads/" + p.thread).ok().json()["status"] != "busy" })
	return p.get("/threads/" + p.thread + "/state").ok().json()
}

// question is the id of the only open interrupt.
func (p *protocol) question() string {
	p.t.Helper()
	tasks := p.ended()["tasks"].([]any)
	return tasks[0].(map[string]any)["interrupts"].([]any)[0].(map[string]any)["id"].(string)
}

func TestRunStartMakesTheThread(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	result := p.success("run.start", `{"assistant_id":"echo","input":{"note":"x"},"metadata":{"team":"blue"},"config":{"configurable":{"thread_id":"`+p.thread+`"}}}`) // M-11, M-12
	require.NotEmpty(t, result["run_id"])
	state := p.ended()
	require.Equal(t, "x", state["values"].(map[string]any)["note"])
	require.Equal(t, "blue", p.get("/threads/" + p.thread).ok().json()["metadata"].(map[string]any)["team"]) // M-13
}

func TestRunStartRefusals(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	require.Equal(t, "run.start requires an assistant_id.", p.refused("invalid_argument", "run.start", `{"input":{}}`)["message"])
	p.post("/threads/"+p.thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"missing_graph","input":{}}}`).
		text(http.StatusNotFound, `No assistant found for "missing_graph". Make sure the assistant ID is for a valid assistant or a valid graph ID.`) // M-3
	p.get("/threads/" + p.thread).is(http.StatusNotFound)
	p.refused("unknown_command", "run.fly", `{}`)
	p.refused("not_supported", "subscription.subscribe", `{"channels":["values"]}`)
	p.post("/threads/"+p.thread+"/commands", `{"id":1}`).fault("method")
	p.post("/threads/"+p.thread+"/commands", `{"id":-1,"method":"state.get"}`).fault("id")
	p.post("/threads/"+p.thread+"/commands", `{"id":1,`).text(http.StatusBadRequest, "Malformed JSON in request body")
	p.post("/threads/"+p.thread+"/commands", `{"id":1,"method":"state.get"}`).text(http.StatusNotFound, "Thread with ID "+p.thread+" not found")
}

func TestInputRespondIsOneSuperstepWithUpdateAndGoto(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	p.success("run.start", `{"assistant_id":"ask","input":{}}`)
	id := p.question()
	before := len(p.get("/threads/" + p.thread + "/history").ok().list())
	result := p.success("input.respond", `{"namespace":[],"interrupt_id":"`+id+`","response":{"ok":true},`+
		`"update":{"messages":[{"type":"ai","id":"card-1","content":"card","response_metadata":{"cards":{"a":1}}}],"note":"pushed"}}`) // M-15
	require.NotEmpty(t, result["run_id"])
	state := p.ended()
	values := state["values"].(map[string]any)
	require.Equal(t, map[string]any{"ok": true}, values["answer"])
	require.Equal(t, "pushed", values["note"])
	messages := values["messages"].([]any)
	require.Len(t, messages, 2)
	require.Equal(t, map[string]any{"cards": map[string]any{"a": 1.0}}, messages[0].(map[string]any)["response_metadata"])
	require.Len(t, p.get("/threads/"+p.thread+"/history").ok().list(), before+2, "the answer's superstep and the one after it")
}

func TestInputRespondRefusals(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	respond := func(code, params, message string) {
		t.Helper()
		reply := p.refused(code, "input.respond", params)
		if message != "" {
			require.Equal(t, message, reply["message"])
		}
	}
	unknown := "00000000000000000000000000000000"
	respond("no_such_run", `{"interrupt_id":"`+unknown+`"}`, "No interrupted run is bound to this thread.")
	respond("invalid_argument", `{}`, "input.respond requires an interrupt_id.")
	respond("invalid_argument", `{"responses":[]}`, "input.respond requires at least one response.")
	respond("invalid_argument", `{"responses":[{"response":1}]}`, "input.respond responses entries require an interrupt_id.")
	p.success("run.start", `{"assistant_id":"checked","input":{}}`)
	id := p.question()
	respond("no_such_interrupt", `{"interrupt_id":"`+unknown+`","response":1}`, "")
	respond("invalid_argument", `{"interrupt_id":"`+id+`","response":{"approved":"perhaps"}}`, "")
	respond("invalid_argument", `{"interrupt_id":"`+id+`","response":{"approved":true},"goto":"nowhere"}`, "")
	require.Equal(t, id, p.question(), "a refused answer leaves the question open")
	p.success("input.respond", `{"interrupt_id":"`+id+`","response":{"approved":true}}`)
	p.ended()
	respond("invalid_argument", `{"interrupt_id":"`+unknown+`","response":1}`, "input.respond can only be used while the run is interrupted.")
	reply := p.refused("no_such_interrupt", "input.respond", `{"interrupt_id":"`+id+`","response":{"approved":false}}`)
	require.Equal(t, map[string]any{"approved": true}, reply["meta"].(map[string]any)["decision"], "who comes late learns what was decided")
}

func TestAnswersOneByOneAndTogether(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{true, false} {
		p := newProtocol(t, server.Options{})
		p.success("run.start", `{"assistant_id":"two","input":{}}`)
		var ids []string
		for _, task := range p.ended()["tasks"].([]any) {
			ids = append(ids, task.(map[string]any)["interrupts"].([]any)[0].(map[string]any)["id"].(string))
		}
		require.Len(t, ids, 2)
		if together {
			p.success("input.respond", `{"responses":[{"interrupt_id":"`+ids[0]+`","response":1},{"interrupt_id":"`+ids[1]+`","response":2}]}`)
		} else {
			p.success("input.respond", `{"interrupt_id":"`+ids[1]+`","response":2}`)
			require.Equal(t, ids[0], p.question())
			p.success("input.respond", `{"interrupt_id":"`+ids[0]+`","response":1}`)
		}
		values := p.ended()["values"].(map[string]any)
		require.Equal(t, []any{1.0, 2.0}, []any{values["a"], values["b"]})
	}
}

func TestRunStartAnswersWhileAnInterruptWaits(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	p.success("run.start", `{"assistant_id":"ask","input":{"note":"x"}}`)
	p.question()
	p.success("run.start", `{"assistant_id":"ask","input":"yes"}`)
	require.Equal(t, "yes", p.ended()["values"].(map[string]any)["answer"])
	p.success("run.start", `{"assistant_id":"ask","input":{"note":"y"}}`)
	p.question()
	require.Equal(t, "y", p.get("/threads/" + p.thread + "/state").ok().json()["values"].(map[string]any)["note"], "nothing waits: input is input")
}

func TestInputAfterACancelIsInput(t *testing.T) { // M-56
	t.Parallel()
	p := newProtocol(t, server.Options{})
	run := p.success("run.start", `{"assistant_id":"slow","input":{"wait":30}}`)["run_id"].(string)
	p.post("/threads/"+p.thread+"/runs/"+run+"/cancel", "").is(http.StatusAccepted) // M-18
	p.ended()
	p.success("run.start", `{"assistant_id":"slow","input":{"wait":0,"note":"again"}}`)
	require.Equal(t, "again", p.ended()["values"].(map[string]any)["note"])
}

func TestRunStartStrategies(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	first := p.success("run.start", `{"assistant_id":"slow","input":{"wait":0.3,"note":"1"}}`)["run_id"].(string)
	p.refused("invalid_argument", "run.start", `{"assistant_id":"slow","input":{"note":"2"},"multitaskStrategy":"reject"}`)
	second := p.success("run.start", `{"assistant_id":"slow","input":{"wait":0,"note":"3"}}`)["run_id"].(string)
	require.NotEqual(t, first, second, "enqueue is the default")
	require.Equal(t, []any{"waited", "waited"}, p.ended()["values"].(map[string]any)["log"])
	third := p.success("run.start", `{"assistant_id":"slow","input":{"wait":30}}`)["run_id"].(string)
	p.success("run.start", `{"assistant_id":"slow","input":{"wait":0,"note":"4"},"multitask_strategy":"rollback"}`) // M-55
	values := p.ended()["values"].(map[string]any)
	require.Equal(t, "4", values["note"])
	p.get("/threads/" + p.thread + "/runs/" + third).is(http.StatusNotFound)
}

func TestEqualCommandsInAFlightAreOneRun(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	body := `{"id":7,"method":"run.start","params":{"assistant_id":"slow","input":{"wait":1}}}`
	p.post("/threads", `{"thread_id":"`+p.thread+`"}`).ok()
	runs := make([]string, 8)
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			var reply struct {
				Result struct {
					RunID string `json:"run_id"`
				}
			}
			a := p.post("/threads/"+p.thread+"/commands", body)
			if json.Unmarshal([]byte(a.body), &reply) == nil {
				runs[i] = reply.Result.RunID
			}
		})
	}
	all.Wait()
	for _, r := range runs {
		require.Equal(t, runs[0], r, "a retry after a lost reply starts nothing anew")
	}
	require.NotEmpty(t, runs[0])
}

func TestStateCommands(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	p.success("run.start", `{"assistant_id":"echo","input":{"note":"x"}}`)
	p.ended()
	got := p.success("state.get", `{"namespace":[],"keys":["note"]}`)
	require.Equal(t, map[string]any{"note": "x"}, got["values"])
	require.NotEmpty(t, got["checkpoint"].(map[string]any)["id"])
	p.refused("no_such_namespace", "state.get", `{"namespace":["child:1"]}`)

	list := p.success("state.listCheckpoints", `{"limit":10}`)["checkpoints"].([]any)
	require.Len(t, list, 3)
	steps := make([]any, 0, 3)
	for _, c := range list {
		steps = append(steps, c.(map[string]any)["step"])
	}
	require.Equal(t, []any{1.0, 0.0, -1.0}, steps)
	newest := list[0].(map[string]any)["id"].(string)
	require.Len(t, p.success("state.listCheckpoints", `{"before":"`+newest+`"}`)["checkpoints"], 2)

	oldest := list[2].(map[string]any)["id"].(string)
	forked := p.success("state.fork", `{"checkpoint_id":"`+oldest+`","input":{"note":"forked"}}`)
	require.Equal(t, p.thread, forked["thread_id"])
	state := p.ended()
	require.Equal(t, "forked", state["values"].(map[string]any)["note"])
	require.Len(t, state["values"].(map[string]any)["messages"], 1, "the first branch's message is not in it")
	p.refused("no_such_checkpoint", "state.fork", `{"checkpoint_id":"`+missingID+`"}`)
}

func TestTreeOfARun(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	p.refused("no_such_run", "agent.getTree", `{}`)
	p.success("run.start", `{"assistant_id":"echo","input":{}}`)
	p.ended()
	tree := p.success("agent.getTree", `{}`)["tree"].(map[string]any)
	require.Equal(t, "completed", tree["status"])
	require.Equal(t, "echo", tree["graph_name"])
	child := tree["children"].([]any)[0].(map[string]any)
	require.Equal(t, "say", child["graph_name"])
	require.Equal(t, "completed", child["status"])
}

func TestInjectedMessagesWaitForTheActiveRun(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	p.refused("no_such_run", "input.inject", `{"namespace":[],"message":{"role":"user","content":"hi"}}`)
	p.success("run.start", `{"assistant_id":"slow","input":{"wait":0.2}}`)
	p.success("input.inject", `{"namespace":[],"message":{"role":"user","content":"hi"}}`)
	values := p.ended()["values"].(map[string]any)
	require.Equal(t, "hi", values["messages"].([]any)[0].(map[string]any)["content"])
	require.Equal(t, []any{"waited", "waited"}, values["log"])
}

func TestBarrierLiesBetweenOldAndNewQuestions(t *testing.T) { // M-17
	t.Parallel()
	p := newProtocol(t, server.Options{})
	seqOf := func(reply map[string]any) float64 {
		return reply["meta"].(map[string]any)["applied_through_seq"].(float64)
	}
	first := seqOf(p.send("run.start", `{"assistant_id":"ask","input":{}}`))
	require.Zero(t, first)
	id := p.question()
	second := seqOf(p.send("input.respond", `{"interrupt_id":"`+id+`","response":1}`))
	require.Greater(t, second, first, "the first question lies at or below it")
	p.ended()
	require.Greater(t, seqOf(p.send("state.get", `{}`)), second, "what the resumed run said lies above it")
}
