package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// evil works terminals: it clears the screen in three ways, turns directions around, hides, and begins lines of its own.
const evil = "a\x1b[2J\u009b2J\x9b2J\x07\x7f\r\u202eb\u2066\u061c\ufeff\u00ad\u2028\u2029\U000e0041\ttab\nREVIEW approved"

// evilJSON is it as servers send it: encoding/json escapes C0, U+2028 and U+2029, and nothing else of it.
func evilJSON(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(evil))
	return strings.TrimSpace(b.String())
}

// shows fails if an output works the terminal by anything but line feeds.
func shows(t *testing.T, name, out string) {
	t.Helper()
	require.NotEmpty(t, out, name)
	require.True(t, utf8.ValidString(out), name)
	for _, r := range out {
		require.False(t, r != '\n' && r != '\t' && works(r), "%s prints %U: %q", name, r, out)
	}
}

func TestWhatIsPrintedDoesNotWorkTheTerminal(t *testing.T) {
	t.Parallel()
	text := evilJSON(t)
	review := fmt.Sprintf(`{"review_id":"r","execution_id":"e","thread_id":"t","agent":%[1]s,"tool":%[1]s,"kind":"tool_calls","status":"decided","message":%[1]s,
		"suspend_reason":%[1]s,"suspend_context":{%[1]s:%[1]s,"list":[%[1]s]},"actions":[{"name":%[1]s,"args":{%[1]s:%[1]s},"allowed_decisions":[%[1]s]},{"name":%[1]s}],
		"allowed_decisions":[%[1]s],"requester":%[1]s,"assignee":%[1]s,"role":%[1]s,"created_at":"2026","decided":{"by":%[1]s,"at":"2026","decision":%[1]s,"notes":%[1]s},
		"comments":[{"by":%[1]s,"at":"2026","text":%[1]s}]}`, text)
	entry := fmt.Sprintf(`{"seq":1,"at":"2026","action":"key.created","principal":%[1]s,"agent":%[1]s,"decision":%[1]s,"body":{"actor":{"kind":"agent"},"tool":"","detail":{"id":%[1]s,"name":%[1]s}}}`, text)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/refused"), strings.HasSuffix(r.URL.Path, "/decide"):
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprintf(w, `{"detail":%[1]s,"by":%[1]s,"at":"2026","decision":%[1]s,"badRequestDetail":{"fields":[{"field":%[1]s,"description":"x"}]}}`, text)
		case strings.HasSuffix(r.URL.Path, "/reviews"):
			_, _ = fmt.Fprintf(w, `{"reviews":[%s]}`, review)
		case strings.HasSuffix(r.URL.Path, "/audit/export"):
			_, _ = fmt.Fprintf(w, "%s\n", entry)
		case strings.HasSuffix(r.URL.Path, "/audit"):
			_, _ = fmt.Fprintf(w, `{"entries":[%s]}`, entry)
		case strings.HasSuffix(r.URL.Path, "/threads/search"):
			_, _ = fmt.Fprintf(w, `[{"thread_id":"t","status":"idle","metadata":{"graph_id":%s}}]`, text)
		case strings.Contains(r.URL.Path, "/threads/"):
			_, _ = fmt.Fprintf(w, `{"values":{%[1]s:%[1]s}}`, text)
		default:
			_, _ = io.WriteString(w, review)
		}
	}))
	t.Cleanup(server.Close)
	at, asJSON := Connection{BaseURL: server.URL, Project: "p", Workspace: "w"}, output{JSON: true}
	list := listReviews{Connection: at, Status: []string{"open"}, Limit: 1}
	listJSON := list
	listJSON.JSON = true
	for name, run := range map[string]func(s *Streams) error{
		"reviews list":                list.Run,
		"reviews list --json":         listJSON.Run,
		"reviews show":                (&showReview{one{ID: "r", Connection: at}}).Run,
		"reviews show --json":         (&showReview{one{"r", at, asJSON}}).Run,
		"audit list":                  (&listAudit{Connection: at, Limit: 1}).Run,
		"audit list --json":           (&listAudit{Connection: at, output: asJSON, Limit: 1}).Run,
		"audit export, in a terminal": (&exportAudit{Connection: at, Format: "jsonl"}).Run,
		"threads list":                (&listThreads{Connection: at, Limit: 1}).Run,
		"threads show":                (&showThread{oneThread{"t", at}}).Run,
		"reviews watch":               func(s *Streams) error { return watchOne(at, output{}, s) },
		"reviews watch --json":        func(s *Streams) error { return watchOne(at, asJSON, s) },
		"a choice": func(s *Streams) error {
			_, err := newAsker(&Streams{In: strings.NewReader("1\n"), Out: s.Out}).choose(t.Context(), "Select:", []string{evil}, -1)
			return err
		},
		"an execution": func(s *Streams) error {
			e := execution{Status: suspended, raw: json.RawMessage(`{"response":` + text + `}`)}
			_ = (&session{cmd: &Invoke{}, out: s.Out}).end(&e) // the exit code
			return nil
		},
		"a refusal": func(s *Streams) error {
			err := at.client().call(t.Context(), http.MethodGet, "/refused", nil, nil, nil)
			require.Error(t, err)
			_, err = io.WriteString(s.Out, Printable(err.Error())) // as the program's main does
			return err
		},
	} {
		var out bytes.Buffer
		require.NoError(t, run(&Streams{Out: &out, In: strings.NewReader(""), Interactive: true}), name)
		shows(t, name, out.String())
		if strings.HasSuffix(name, "list") || name == "reviews watch" || name == "a choice" {
			require.NotContains(t, out.String(), "\nREVIEW approved", name+": no line but its own")
		}
		if strings.HasSuffix(name, "--json") {
			require.True(t, json.Valid(out.Bytes()), name)
			require.Contains(t, out.String(), `\u202e`, name)
		}
	}
	var out bytes.Buffer
	require.NoError(t, (&exportAudit{Connection: at, Format: "jsonl"}).Run(&Streams{Out: &out}))
	require.Equal(t, entry+"\n", out.String(), "in a file it is to the byte")
}

// watchOne prints a line of reviews watch.
func watchOne(at Connection, o output, s *Streams) error {
	r, err := at.client().review(context.Background(), "r")
	if err != nil {
		return err
	}
	return (&watchReviews{listReviews{Connection: at, output: o}}).line(s.Out, r)
}

func TestEscapedJSONHasTheSameValues(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(evilJSON(t))
	escaped := escapeJSON(raw)
	var want, got string
	require.NoError(t, json.Unmarshal(raw, &want))
	require.NoError(t, json.Unmarshal(escaped, &got))
	require.Equal(t, want, got)
	require.Equal(t, `"é\ufffd👩`+"\u200d"+`🚀"`, string(escapeJSON([]byte("\"é\xff👩\u200d🚀\""))), "what only looks unusual stays")
}

func TestCharactersThatComeInPartsAreShownWhole(t *testing.T) {
	t.Parallel()
	var whole, parts bytes.Buffer
	one, many := &printableWriter{w: &whole}, &printableWriter{w: &parts}
	text := evil + "é👩\u200d🚀\xe2\x80"
	_, err := io.WriteString(one, text)
	require.NoError(t, err)
	for i := range len(text) {
		n, err := many.Write([]byte{text[i]})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	require.NoError(t, one.Close())
	require.NoError(t, many.Close())
	require.Equal(t, whole.String(), parts.String())
	require.Contains(t, parts.String(), "é👩\u200d🚀\ufffd")
}
