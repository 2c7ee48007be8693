package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answers serves a reply by the end of the path, with or without its query; status is that of all others, which get "else".
func answers(t *testing.T, byPath map[string]string, status int) Connection {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for path, body := range byPath {
			if strings.HasSuffix(req.URL.Path+"?"+req.URL.RawQuery, path) || strings.HasSuffix(req.URL.Path, path) {
				_, _ = io.WriteString(w, body)
				return
			}
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, byPath["else"])
	}))
	t.Cleanup(server.Close)
	return Connection{BaseURL: server.URL, Project: "default", Workspace: "default"}
}

func TestFaultsOfTheClassicAPIAreSaid(t *testing.T) {
	t.Parallel()
	at := answers(t, map[string]string{"else": `{"success":false,"error":{"name":"ValidationError","issues":[
		{"code":"invalid_string","message":"Invalid uuid","path":["thread_id"]},{"message":"Too small","path":["a",0]}]}}`}, 400)
	err := (&showThread{oneThread{"nope", at}}).Run(&Streams{Out: io.Discard})
	require.EqualError(t, err, "thread_id: Invalid uuid\n  a.0: Too small")
}

func TestAnAddressWithoutASchemeIsRefusedWithTheRightOne(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"localhost:24711": "write http://localhost:24711", "localhost": "write http://localhost", "ftp://host:1": "write http://host:1",
		"127.0.0.1:2025": "write http://127.0.0.1:2025", "": "write http://127.0.0.1:2024", "http://": "write http://127.0.0.1:2024",
	} {
		at := Connection{BaseURL: given}
		for _, run := range []func(*Streams) error{(&listReviews{Connection: at, Limit: 1}).Run, (&watchReviews{listReviews{Connection: at}}).Run} {
			err := run(&Streams{Out: io.Discard})
			var exit *ExitError
			require.ErrorAs(t, err, &exit, given)
			require.Equal(t, 2, exit.Code)
			require.ErrorContains(t, err, want)
		}
	}
	require.NoError(t, checkAddress("https://agents.example.org/parley/"))
}

// nowhere is an address that nothing listens on: the port of a service that nobody has any more.
const nowhere = "http://127.0.0.1:1"

func TestWhoeverAsksTheWrongServerIsToldHowToNameAnother(t *testing.T) {
	t.Parallel()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<h1>Not found</h1>")
	}))
	defer other.Close()
	page := answers(t, map[string]string{"else": "<h1>Welcome</h1>"}, 0)
	for said, url := range map[string]string{
		"no server answers": nowhere, "EOF": cut.URL, "no Parley server": other.URL, "is no Parley server": page.BaseURL,
	} {
		err := (&listReviews{Connection: Connection{BaseURL: url}, Limit: 1}).Run(&Streams{Out: io.Discard})
		var exit *ExitError
		require.ErrorAs(t, err, &exit, said)
		require.Equal(t, ExitUnreachable, exit.Code, said)
		for _, part := range []string{said, url, "--base-url", "PARLEY_BASE_URL"} {
			require.ErrorContains(t, err, part)
		}
	}
}

func TestATimeThatIsNoneIsRefusedByItsFlag(t *testing.T) {
	t.Parallel()
	for flag, filter := range map[string]auditFilter{"--since": {Since: "yesterday"}, "--until": {Until: "0"}} {
		for _, run := range []func(*Streams) error{(&listAudit{auditFilter: filter, Limit: 1}).Run, (&exportAudit{auditFilter: filter}).Run} {
			err := run(&Streams{Out: io.Discard})
			var exit *ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 2, exit.Code)
			require.ErrorContains(t, err, flag)
		}
	}
}

func TestASuspendedSessionSaysHowItIsDecided(t *testing.T) {
	t.Parallel()
	at := answers(t, map[string]string{"else": `{"error":409,"errorCode":"SESSION_SUSPENDED","detail":"resume its execution, or interrupt it, first","review_ids":["r1","r2"]}`}, 409)
	err := (&Invoke{Agent: "asks", Session: "s", Message: []string{"go"}, Connection: at, Timeout: 1 << 40}).Run(&Streams{Out: io.Discard})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, ExitConflict, exit.Code)
	for _, part := range []string{"session s waits", "parley invoke asks --session s --resume '{", "parley reviews decide r1", "parley reviews decide r2"} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "interrupt it")
}

func TestASecondDecisionIsToldWhoWasFaster(t *testing.T) {
	t.Parallel()
	at := answers(t, map[string]string{
		"executions?limit=1&session_id=s&status=suspended&workspace_id=default": `{"executions":[]}`,
		"executions?limit=1&session_id=s&workspace_id=default":                  `{"executions":[{"execution_id":"e1","status":"completed"}]}`,
		"reviews?execution_id=e1&limit=1&status=decided&status=expired":         `{"reviews":[{"status":"decided","decided":{"by":"rita","at":"2026-11-30T12:00:00Z","decision":"reject"}}]}`,
	}, 0)
	err := (&Invoke{Agent: "asks", Session: "s", Resume: `{"decision":"approve"}`, Connection: at, Timeout: 1 << 40}).Run(&Streams{Out: io.Discard})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, ExitConflict, exit.Code)
	require.ErrorContains(t, err, "waits for no decision: reject by rita at 2026-11-30T12:00:00Z")
}

func TestAFlatDecisionThatIsntEnoughSaysHowToGiveAWholeAnswer(t *testing.T) {
	t.Parallel()
	at := answers(t, map[string]string{"else": `{"error":422,"detail":"values: missing property 'reason'"}`}, 422)
	err := (&approveReview{one: one{ID: "r1", Connection: at}}).Run(&Streams{Out: io.Discard})
	require.ErrorContains(t, err, "parley reviews decide r1 --answer '{…}'")
	err = (&decideReview{one: one{ID: "r1", Connection: at}, Answer: `{}`}).Run(&Streams{Out: io.Discard})
	require.NotContains(t, err.Error(), "--answer")
}

func TestRunsAndCheckpointsAreTables(t *testing.T) {
	t.Parallel()
	at := answers(t, map[string]string{
		"/runs":    `[{"run_id":"r1","status":"success","created_at":"A","updated_at":"B","metadata":{"graph_id":"echo"}}]`,
		"/history": `[{"next":["tools"],"tasks":[{"interrupts":[{},{}]}],"metadata":{"step":-1,"source":"loop","run_id":"r1"},"created_at":"A","checkpoint":{"checkpoint_id":"c1"}}]`,
	}, 0)
	for want, run := range map[string]func(*Streams) error{
		"RUN  STATUS   AGENT  CREATED  UPDATED\nr1   success  echo   A        B\n":                                   (&threadRuns{oneThread: oneThread{"t", at}}).Run,
		"CHECKPOINT  STEP  BY    NEXT   QUESTIONS  RUN  CREATED\nc1          -1    loop  tools  2          r1   A\n": (&threadHistory{oneThread: oneThread{"t", at}}).Run,
		"[\n  {\n    \"run_id\": \"r1\",": (&threadRuns{oneThread: oneThread{"t", at}, output: output{JSON: true}}).Run,
	} {
		var out bytes.Buffer
		require.NoError(t, run(&Streams{Out: &out}))
		require.True(t, strings.HasPrefix(out.String(), want), out.String())
	}
}

func TestACallerWithoutANameIsAnonymous(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, output{}.print(&Streams{Out: &out}, &review{ID: "r", Kind: "review", Status: "pending"}))
	require.Contains(t, out.String(), "requested by an anonymous caller\n")
}
