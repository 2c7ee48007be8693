package transcript_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty" // a terminal, as the commands that ask find it
	"github.com/stretchr/testify/require"
)

// prompt is what a command asks with, and what a person typed behind it.
var prompt = regexp.MustCompile(`^(> |Select \[1-\d\]: (?:\[default: \d\] )?|[A-Z][^:()]* \([^)]*\): (?:\[default: [^\]]*\] )?)(.*)$`)

// answer is what is typed once a prompt has come.
type answer struct{ prompt, text string }

// typed finds what a person types in a command's output.
func typed(output []string) (list []answer) {
	for _, line := range output {
		if m := prompt.FindStringSubmatch(line); m != nil {
			list = append(list, answer{m[1], m[2]})
		}
	}
	return list
}

// control are the sequences by which the line editor moves the cursor.
var control = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// converse runs a command in a terminal, types the answers and returns what the screen showed.
func converse(t *testing.T, dir string, environment []string, command string, answers []answer) string {
	t.Helper()
	cmd := exec.Command("bash", "--norc", "--noprofile", "-c", command)
	cmd.Dir, cmd.Env = dir, append(environment, "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 400})
	require.NoError(t, err)
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // a command that never asks fails the test
	defer kill.Stop()
	var screen strings.Builder
	seen, buffer := 0, make([]byte, 4096)
	more := func() bool {
		n, err := terminal.Read(buffer)
		screen.Write(buffer[:n])
		return err == nil
	}
	for _, a := range answers {
		for !strings.Contains(screen.String()[seen:], a.prompt) {
			require.True(t, more(), "no prompt %q:\n%s", a.prompt, screen.String())
		}
		seen = screen.Len()
		_, err := terminal.WriteString(a.text + "\r")
		require.NoError(t, err)
	}
	for more() { // until the command ends
	}
	require.NoError(t, cmd.Wait())
	require.NoError(t, terminal.Close())
	shown := control.ReplaceAllString(strings.ReplaceAll(screen.String(), "\r", ""), "")
	return strings.TrimRight(shown, "\n") + "\n"
}
