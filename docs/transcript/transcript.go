// Package transcript reads the console blocks of a document, so that a test can
// run them: what a reader sees is what the server does.
//
// A block is fenced as ```console. A line that starts with "$ " is a command; it
// goes on while lines end with a backslash or a single quote is open. The lines
// up to the next command are its output. In the output "…" stands for any text of a line, and a line
// that is only "…" for any lines. The comment <!-- restart --> between blocks
// stands for killing the server and starting it again.
package transcript

import (
	"regexp"
	"strings"
)

// Step is a command with its output, or a restart of the server.
type Step struct {
	Line    int // where it stands in the document, from 1
	Restart bool
	Command string
	Output  []string
}

// Parse returns the steps of a document in order.
func Parse(document string) []Step {
	var steps []Step
	inside, continued := false, false
	for i, line := range strings.Split(document, "\n") {
		switch {
		case !inside && strings.TrimSpace(line) == "<!-- restart -->":
			steps = append(steps, Step{Line: i + 1, Restart: true})
		case !inside && strings.TrimSpace(line) == "```console":
			inside = true
		case inside && strings.TrimSpace(line) == "```":
			inside, continued = false, false
		case inside && continued:
			last := &steps[len(steps)-1]
			last.Command += "\n" + line
			continued = unfinished(last.Command)
		case inside && strings.HasPrefix(line, "$ "):
			steps = append(steps, Step{Line: i + 1, Command: strings.TrimPrefix(line, "$ ")})
			continued = unfinished(steps[len(steps)-1].Command)
		case inside && len(steps) > 0:
			last := &steps[len(steps)-1]
			last.Output = append(last.Output, line)
		}
	}
	return steps
}

// unfinished reports whether a shell would wait for more of the command.
func unfinished(command string) bool {
	return strings.HasSuffix(command, `\`) || strings.Count(command, "'")%2 == 1
}

// Match reports whether got is the output that want describes.
func Match(want []string, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, line := range want {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		for i, part := range strings.Split(line, "…") {
			if i > 0 {
				pattern.WriteString(`[^\n]*`)
			}
			pattern.WriteString(regexp.QuoteMeta(part))
		}
		pattern.WriteString(`\n`)
	}
	pattern.WriteString(`\n*\z`)
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	return regexp.MustCompile(pattern.String()).MatchString(got)
}
