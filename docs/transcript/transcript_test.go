package transcript_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/docs/transcript"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want []string
		got  string
		ok   bool
	}{
		"equal":              {[]string{"a", "b"}, "a\nb\n", true},
		"different":          {[]string{"a"}, "b\n", false},
		"any text":           {[]string{`{"id":"…"}`}, `{"id":"17"}`, true},
		"any text, one line": {[]string{"a…b"}, "a\nb\n", false},
		"any lines":          {[]string{"a", "…", "z"}, "a\nb\nc\nz\n", true},
		"missing line":       {[]string{"a", "z"}, "a\nb\nz\n", false},
		"nothing":            {nil, "", true},
		"unexpected":         {nil, "x\n", false},
	} {
		require.Equal(t, c.ok, transcript.Match(c.want, c.got), name)
	}
}

// documents are those whose transcripts are run, each against a server of its own, as a user builds it.
var documents = []string{"README.md", "docs/cli.md", "docs/executions.md", "docs/reviews.md"}

func TestTranscripts(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("install %s to check the transcripts", tool)
		}
	}
	binary := filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/parley") // flags of the Makefile, which have all compiled
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, name, binary)
		})
	}
}

// play runs a document's transcript.
func play(t *testing.T, name, binary string) {
	document, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	require.NoError(t, err)
	steps := transcript.Parse(string(document))
	require.NotEmpty(t, steps, "it shows a transcript")
	s := &server{binary: binary, data: t.TempDir()}
	s.start(t)
	t.Cleanup(s.kill)
	environment := append(os.Environ(), "PARLEY_BASE_URL=http://"+s.address, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	sh := newShell(t, environment)
	for _, step := range steps {
		if step.Restart {
			s.kill()
			s.start(t)
			continue
		}
		if strings.Contains(step.Command, "parley serve") {
			continue // the server that this test runs
		}
		command := strings.ReplaceAll(step.Command, "localhost:2024", s.address)
		got := ""
		if answers := typed(step.Output); len(answers) > 0 {
			got = converse(t, sh.dir, environment, command, answers)
		} else {
			got = sh.run(t, command)
		}
		got = strings.ReplaceAll(got, s.address, "localhost:2024")
		if !transcript.Match(step.Output, got) {
			t.Fatalf("%s:%d: $ %s\nwant:\n%s\ngot:\n%s", name, step.Line, step.Command, strings.Join(step.Output, "\n"), got)
		}
	}
}

// server is a server process on one data folder.
type server struct {
	binary, data, address string
	process               *exec.Cmd
}

// start starts it and reads its address from the line it prints.
func (s *server) start(t *testing.T) {
	t.Helper()
	port := "0"
	if s.address != "" {
		_, port, _ = strings.Cut(s.address, ":")
	}
	s.process = exec.Command(s.binary, "serve", "--port", port, "--data", s.data)
	output, err := s.process.StdoutPipe()
	require.NoError(t, err)
	s.process.Stderr = os.Stderr
	require.NoError(t, s.process.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "http://"); ok {
			s.address = strings.Trim(strings.Fields(after)[0], "/.,")
			break
		}
	}
	require.NotEmpty(t, s.address, "the server says its URL")
	go func() { _, _ = io.Copy(io.Discard, output) }() // ends with the process
	require.Eventually(t, func() bool {
		r, err := http.Get("http://" + s.address + "/ok")
		if err != nil {
			return false
		}
		return r.Body.Close() == nil && r.StatusCode == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
}

// kill ends it as kill -9 does.
func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// shell is one bash in which the commands of a transcript share their variables.
type shell struct {
	dir  string
	in   io.Writer
	out  *bufio.Reader
	stop func()
}

func newShell(t *testing.T, environment []string) *shell {
	t.Helper()
	bash := exec.Command("bash", "--norc", "--noprofile")
	bash.Dir, bash.Env = t.TempDir(), environment
	in, err := bash.StdinPipe()
	require.NoError(t, err)
	out, err := bash.StdoutPipe()
	require.NoError(t, err)
	bash.Stderr = os.Stderr
	require.NoError(t, bash.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = bash.Wait()
	})
	return &shell{dir: bash.Dir, in: in, out: bufio.NewReader(out), stop: func() { _ = bash.Process.Kill() }}
}

// run runs a command to its end and returns what it printed.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	const mark = "-- end of output --"
	timer := time.AfterFunc(time.Minute, s.stop) // a command that never ends fails the test
	defer timer.Stop()
	_, err := fmt.Fprintf(s.in, "%s\necho; echo '%s'\n", command, mark)
	require.NoError(t, err)
	var got strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(t, err)
		if strings.TrimSpace(line) == mark {
			return strings.TrimSuffix(got.String(), "\n")
		}
		got.WriteString(line)
	}
}
