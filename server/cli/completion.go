package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion is the command completion: it prints a script for a shell, made from the command line itself.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run implements the command. To use it: source <(parley completion bash).
func (cmd *Completion) Run(s *Streams, app *kong.Application) error {
	write := map[string]func(io.Writer, *kong.Application) error{"bash": completeBash, "zsh": completeZsh, "fish": completeFish}
	return write[cmd.Shell](s.Out, app)
}

// words is what may follow a path of commands.
type words struct {
	path     string // "reviews list"; "" for the program's own
	commands []*kong.Node
	flags    []*kong.Flag
}

// wordsOf lists what may follow each command, from the program down.
func wordsOf(node *kong.Node, path string) []words {
	w := words{path: path}
	for _, f := range node.Flags {
		if !f.Hidden {
			w.flags = append(w.flags, f)
		}
	}
	all := []words{}
	for _, child := range node.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		w.commands = append(w.commands, child)
		all = append(all, wordsOf(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return append([]words{w}, all...)
}

func completeBash(out io.Writer, app *kong.Application) error {
	cases := ""
	for _, w := range wordsOf(app.Node, "") {
		list := []string{}
		for _, c := range w.commands {
			list = append(list, c.Name)
		}
		for _, f := range w.flags {
			list = append(list, "--"+f.Name)
		}
		cases += fmt.Sprintf("    %q) words=%q ;;\n", w.path, strings.Join(list, " "))
	}
	_, err := fmt.Fprintf(out, `# bash completion of %[1]s
_%[2]s() {
  local path="" words="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    case "$word" in -*) ;; *) case " %[3]s " in *" ${path:+$path/}$word "*) path="${path:+$path/}$word" ;; esac ;; esac
  done
  case "${path//\// }" in
%[4]s  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _%[2]s %[1]s
`, app.Name, identifier(app.Name), strings.Join(paths(app), " "), cases)
	return err
}

// paths are all commands, as "reviews/list".
func paths(app *kong.Application) []string {
	list := []string{}
	for _, w := range wordsOf(app.Node, "")[1:] {
		list = append(list, strings.ReplaceAll(w.path, " ", "/"))
	}
	return list
}

func completeZsh(out io.Writer, app *kong.Application) error {
	if _, err := fmt.Fprintf(out, "#compdef %s\nautoload -U +X bashcompinit && bashcompinit\n", app.Name); err != nil {
		return err
	}
	return completeBash(out, app)
}

func completeFish(out io.Writer, app *kong.Application) error {
	for _, w := range wordsOf(app.Node, "") {
		seen := []string{}
		for _, word := range strings.Fields(w.path) {
			seen = append(seen, "__fish_seen_subcommand_from "+word)
		}
		for _, c := range w.commands {
			condition := slices.Clone(seen)
			for _, other := range w.commands {
				condition = append(condition, "not __fish_seen_subcommand_from "+other.Name)
			}
			if _, err := fmt.Fprintf(out, "complete -c %s -f -n %s -a %s -d %s\n", app.Name, quoted(strings.Join(condition, "; and ")), c.Name, quoted(c.Help)); err != nil {
				return err
			}
		}
		for _, f := range w.flags {
			condition := ""
			if len(seen) > 0 {
				condition = " -n " + quoted(strings.Join(seen, "; and "))
			}
			if _, err := fmt.Fprintf(out, "complete -c %s%s -l %s -d %s\n", app.Name, condition, f.Name, quoted(f.Help)); err != nil {
				return err
			}
		}
	}
	return nil
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// identifier is a name as shells take it for functions.
func identifier(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}
