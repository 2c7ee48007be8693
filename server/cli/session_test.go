package cli

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// suspends serves one execution, which waits for r. An agent other than "asks" isn't there.
func suspends(t *testing.T, r *review) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	decided := false
	now := func() string {
		mu.Lock()
		defer mu.Unlock()
		if decided {
			return `{"execution_id":"e1","status":"completed","response":"done"}`
		}
		return `{"execution_id":"e1","status":"suspended","review_ids":["r1"],"suspend_context":{"ask":1}}`
	}
	wire := fmt.Sprintf(`{"review_id":"r1","kind":%q,"payload":%s,"response_schema":%s,"allowed_decisions":%s,"generation":1}`,
		r.Kind, or(string(r.Payload), "null"), or(string(r.Schema), "null"), encoded(append([]string{}, r.Allowed...)))
	mux := http.NewServeMux()
	reply := func(pattern string, body func(*http.Request) string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, body(req)) })
	}
	const project = "/api/v1/projects/default"
	reply("POST /assistants/search", func(req *http.Request) string {
		var search struct {
			Graph string `json:"graph_id"`
		}
		if _ = json.NewDecoder(req.Body).Decode(&search); search.Graph == "nope" {
			return `[]`
		}
		return `[{"assistant_id":"a","graph_id":"asks"},{"assistant_id":"b","graph_id":"also"},{"assistant_id":"c","graph_id":"asks"}]`
	})
	mux.HandleFunc("POST "+project+"/workspaces/default/invokeStream", func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		switch {
		case strings.Contains(string(body), `"work"`): // until the client goes
			_, _ = io.WriteString(w, "id: 1\ndata: {\"chunk_type\":\"text\",\"content\":\"thinking\",\"execution_id\":\"e1\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		case req.Header.Get("Last-Event-ID") != "":
			_, _ = io.WriteString(w, "id: 2\ndata: {\"chunk_type\":\"text\",\"content\":\"done\",\"execution_id\":\"e1\"}\n\n"+
				"id: 3\ndata: {\"chunk_type\":\"completed\",\"execution_id\":\"e1\"}\n\n")
		default:
			_, _ = io.WriteString(w, "id: 1\ndata: {\"chunk_type\":\"suspended\",\"execution_id\":\"e1\"}\n\n")
		}
	})
	reply("GET "+project+"/executions/e1", func(*http.Request) string { return now() })
	reply("GET "+project+"/reviews/r1", func(*http.Request) string { return wire })
	reply("POST "+project+"/reviews/r1/decide", func(*http.Request) string {
		mu.Lock()
		defer mu.Unlock()
		decided = true
		return wire
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// talk runs invoke for a person who types lines.
func talk(server *httptest.Server, cmd Invoke, lines ...string) (string, error) {
	var out bytes.Buffer
	cmd.Connection = Connection{BaseURL: server.URL, Project: "default", Workspace: "default"}
	cmd.Timeout = time.Minute
	err := cmd.Run(&Streams{In: strings.NewReader(strings.Join(lines, "\n") + "\n"), Out: &out, Err: io.Discard, Interactive: true})
	return out.String(), err
}

func TestWhoeverLeavesAnOpenQuestionIsToldThatItWaits(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*httptest.Server) (string, error){
		"/exit in a chat": func(s *httptest.Server) (string, error) {
			return talk(s, Invoke{Agent: "asks", Session: ""}, "go", "1", "/exit")
		},
		"the end of the input": func(s *httptest.Server) (string, error) {
			return talk(s, Invoke{Agent: "asks"}, "go", "1")
		},
		"/exit behind one message": func(s *httptest.Server) (string, error) {
			return talk(s, Invoke{Agent: "asks", Message: []string{"go"}}, "/exit")
		},
	} {
		shown, err := run(suspends(t, refundCard(t)))
		var exit *ExitError
		require.ErrorAs(t, err, &exit, name+": "+shown)
		require.Equal(t, ExitSuspended, exit.Code, name)
		require.ErrorContains(t, err, "the review still waits; decide it with parley invoke asks --session ", name)
		require.ErrorContains(t, err, "parley reviews decide r1", name)
	}
	shown, err := talk(suspends(t, refundCard(t)), Invoke{Agent: "asks"}, "go", "2", "no", "/exit")
	require.NoError(t, err, "nothing waits")
	require.Contains(t, shown, "Execution resumed.\ndone\n")
}

func TestAChatTakesUpWhatSomebodyElseHasLeftOpen(t *testing.T) {
	t.Parallel()
	behind := suspends(t, refundCard(t)).Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.HasSuffix(req.URL.Path, "/invokeStream") && req.Header.Get("Last-Event-ID") == "":
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":409,"errorCode":"SESSION_SUSPENDED","detail":"The session waits.","review_ids":["r1"]}`)
		case strings.HasSuffix(req.URL.Path, "/executions"):
			_, _ = io.WriteString(w, `{"executions":[{"execution_id":"e1","status":"suspended","review_ids":["r1"]}]}`)
		default:
			behind.ServeHTTP(w, req)
		}
	}))
	defer server.Close()
	shown, err := talk(server, Invoke{Agent: "asks"}, "go", "2", "no", "/exit")
	require.NoError(t, err, shown)
	require.Contains(t, shown, "The session waits.\n--- Execution suspended")
	require.Contains(t, shown, "/exit leaves it open. Elsewhere")
	require.Contains(t, shown, "Execution resumed.\n")
}

func TestAnUnknownAgentIsSaidBeforeTheGreeting(t *testing.T) {
	t.Parallel()
	server := suspends(t, refundCard(t))
	shown, err := talk(server, Invoke{Agent: "nope"}, "go")
	require.ErrorContains(t, err, "There is no agent \"nope\".\n  there are also, asks")
	require.Empty(t, shown)
	shown, err = talk(&httptest.Server{URL: nowhere}, Invoke{Agent: "asks"}, "go")
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, ExitUnreachable, exit.Code)
	require.Empty(t, shown)
}

// asChild makes this test's program the command line, for tests that send it signals.
const asChild = "PARLEY_TEST_INVOKE"

func TestMain(m *testing.M) {
	url := os.Getenv(asChild)
	if url == "" {
		os.Exit(m.Run())
	}
	cmd := Invoke{Agent: "asks", Timeout: time.Minute, Connection: Connection{BaseURL: url, Project: "default", Workspace: "default"}}
	err := cmd.Run(System())
	fmt.Println("said:", err)
	code := 0
	if exit, ok := err.(*ExitError); ok { //nolint:errorlint // as main has it
		code = exit.Code
	}
	os.Exit(code)
}

func TestASignalEndsAPromptAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed  string
		prompt string
		signal syscall.Signal
		code   int
	}{
		"SIGTERM at a question": {"go\r", "Select [1-2]: ", syscall.SIGTERM, ExitSuspended},
		"SIGINT at a question":  {"go\r", "Select [1-2]: ", syscall.SIGINT, ExitSuspended},
		"SIGTERM in a chat":     {"", "> ", syscall.SIGTERM, 128 + 15},
		"SIGINT in a chat":      {"", "> ", syscall.SIGINT, 128 + 2},
		"SIGTERM at work":       {"work\r", "thinking", syscall.SIGTERM, 128 + 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := suspends(t, refundCard(t))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a prompt that never comes, or never ends, fails the test
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), asChild+"="+server.URL, "TERM=xterm")
			terminal, err := pty.Start(cmd)
			require.NoError(t, err)
			defer terminal.Close() //nolint:errcheck // the child has ended
			var screen bytes.Buffer
			more := func() bool {
				b := make([]byte, 4096)
				n, err := terminal.Read(b)
				screen.Write(b[:n])
				return err == nil
			}
			until := func(text string) {
				for !strings.Contains(screen.String(), text) {
					require.True(t, more(), "no %q in\n%s", text, screen.String())
				}
			}
			until("> ")
			_, err = terminal.WriteString(c.typed)
			require.NoError(t, err)
			until(c.prompt)
			require.NoError(t, cmd.Process.Signal(c.signal))
			for more() {
			}
			_ = cmd.Wait() // its code is looked at
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), screen.String())
			if c.code == ExitSuspended {
				require.Contains(t, screen.String(), "the review still waits")
			}
			if c.prompt == "thinking" {
				require.Contains(t, screen.String(), "the execution goes on in the session ")
			}
		})
	}
}
