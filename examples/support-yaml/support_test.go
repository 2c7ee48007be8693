package supportyaml_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// childEnv makes the test binary the command line.
const childEnv = "PARLEY_TEST_COMMAND"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		os.Args = append([]string{"parley"}, strings.Split(args, " ")...)
		server.Main(server.Options{})
	}
	os.Exit(m.Run())
}

// desk is the service behind the agent's tools.
type desk struct {
	*httptest.Server
	mu      sync.Mutex
	tickets map[string]string // by idempotency key
}

func newDesk(t *testing.T) *desk {
	d := &desk{tickets: map[string]string{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer of-the-test":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPost:
			b, _ := io.ReadAll(r.Body)
			d.mu.Lock()
			d.tickets[r.Header.Get("Idempotency-Key")] = string(b)
			d.mu.Unlock()
			fmt.Fprint(w, `{"filed": true}`)
		default:
			fmt.Fprintf(w, `{"order": %q, "state": "on its way"}`, strings.TrimPrefix(r.URL.Path, "/orders/"))
		}
	}))
	t.Cleanup(d.Close)
	return d
}

// filed are the tickets.
func (d *desk) filed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for key, body := range d.tickets {
		if key != "" {
			all = append(all, body)
		}
	}
	return all
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command is the command line with the example's environment.
func command(t *testing.T, d *desk, args string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+args, "DESK_URL="+d.URL, "DESK_TOKEN=of-the-test")
	return cmd
}

// serve starts the example as its readers do and returns its address.
func serve(t *testing.T, d *desk, data string) (string, *exec.Cmd) {
	t.Helper()
	cmd := command(t, d, "serve --config agents.yaml --port 0 --data "+data)
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.NoError(t, cmd.Wait())
		}
	})
	var url string
	require.Eventually(t, func() bool {
		url = regexp.MustCompile(`http://[^ ]+`).FindString(out.String())
		return url != ""
	}, time.Minute, 10*time.Millisecond, "%s", &out)
	return url, cmd
}

func post(t *testing.T, url, body string) map[string]any {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(b))
	var v map[string]any
	require.NoError(t, json.Unmarshal(b, &v))
	return v
}

func ask(t *testing.T, thread, text string) map[string]any {
	t.Helper()
	return post(t, thread+"/runs/wait", fmt.Sprintf(`{"assistant_id":"support","input":{"messages":[{"role":"user","content":%q}]}}`, text))
}

func last(t *testing.T, values map[string]any) string {
	t.Helper()
	all, ok := values["messages"].([]any)
	require.True(t, ok, "%v", values)
	text, _ := all[len(all)-1].(map[string]any)["content"].(string)
	return text
}

func TestTheExampleIsRight(t *testing.T) {
	t.Parallel()
	out, err := command(t, newDesk(t), "agents check agents.yaml").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, `support
  model      support (a script)
  tools      find_order, create_ticket, now, ask_user
  review     create_ticket: approve, edit, reject
  subagents  researcher
  limits     12 steps, 5m

researcher (internal)
  model      scripted:echo
  tools      find_order, calculator
  review     nothing
`, string(out))
}

func TestTheSupportAgentFilesWhatAPersonAgreesTo(t *testing.T) {
	t.Parallel()
	d, data := newDesk(t), t.TempDir()
	url, cmd := serve(t, d, data)
	thread := url + "/threads/" + post(t, url+"/threads", "{}")["thread_id"].(string)

	require.Equal(t, `This is what I found: {"order":"7","state":"on its way"}`, last(t, ask(t, thread, "Where is my order?")))
	require.Equal(t, "why is it late?", last(t, ask(t, thread, "why is it late?")), "the researcher repeats")
	question := ask(t, thread, "I want a refund")["__interrupt__"].([]any)
	require.Len(t, question, 1)
	request := question[0].(map[string]any)["value"].(map[string]any)["actionRequests"].([]any)[0].(map[string]any)
	require.Equal(t, "create_ticket", request["name"])
	require.Equal(t, "The agent wants to file this ticket with the desk.", request["description"])
	require.Empty(t, d.filed())

	require.NoError(t, cmd.Process.Kill()) // while the reviewer thinks
	require.Error(t, cmd.Wait())
	url2, _ := serve(t, d, data)
	thread = strings.Replace(thread, url, url2, 1)
	done := post(t, thread+"/runs/wait", `{"assistant_id":"support","command":{"resume":{"decisions":[
		{"type":"edit","editedAction":{"name":"create_ticket","args":{"title":"Refund order 7","priority":"low"}}}]}}}`)
	require.Contains(t, last(t, done), `{"filed":true}`)
	require.Equal(t, []string{`{"priority":"low","title":"Refund order 7"}`}, d.filed(), "what was approved, once")
}
