package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// Main is the command line of a program that serves agents: serve and version.
// It does not return. A program with agents of its own calls it from main:
//
//	func main() { server.Main(server.Options{Agents: []agent.Agent{refund, support}}) }
//
// Flags and environment variables win over the options.
func Main(o Options) {
	os.Exit(run(o, os.Args[1:], os.Stdout, os.Stderr))
}

// commandLine are the commands and their flags.
type commandLine struct {
	Serve   serveCommand   `cmd:"" help:"Serve agents over HTTP."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// run parses the command line and carries it out; it returns the exit code.
func run(o Options, args []string, stdout, stderr io.Writer) int {
	code := -1
	var cli commandLine
	a, err := addressOf(o)
	if err != nil {
		return fail(stderr, err)
	}
	parser, err := kong.New(&cli,
		kong.Name(filepath.Base(os.Args[0])), kong.Description("Durable agents with people in the loop."),
		kong.Writers(stdout, stderr), kong.Exit(func(c int) { code = c }), kong.UsageOnError(),
		kong.Vars{
			"host": cmp.Or(a.host, "every one"), "port": a.describePort(),
			"data": cmp.Or(o.DataDir, DefaultDataDir), "sets": strings.Join(setNames(o.Sets), ", "),
		},
	)
	if err != nil {
		return fail(stderr, err)
	}
	for _, command := range parser.Model.Leaves(true) {
		for _, flag := range command.Flags {
			flag.Hidden = flag.Hidden || flag.Name == "agents" && len(o.Sets) == 0
		}
	}
	ctx, err := parser.Parse(args)
	if code >= 0 { // --help
		return code
	}
	if err != nil {
		parser.FatalIfErrorf(err) // prints; the exit is ours
		return usageError
	}
	if err := ctx.Run(&environment{options: o, address: a, stdout: stdout, stderr: stderr}); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// fail reports an error and returns the exit code.
func fail(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintln(stderr, "parley:", err) // nobody is left to be told
	return 1
}

// usageError is the exit code of a command line that can't be read.
const usageError = 2

// environment is what commands work with.
type environment struct {
	options        Options
	address        address
	stdout, stderr io.Writer
}

type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run(env *environment) error {
	v := env.options.Version
	if v == "" {
		v = moduleVersion()
	}
	_, err := fmt.Fprintln(env.stdout, "parley", v)
	return err
}

type serveCommand struct {
	Host      *string  `help:"Address to listen on. Default: ${host}." env:"PARLEY_HOST"`
	Port      *int     `help:"Port to listen on. Default: ${port}." env:"PARLEY_PORT"`
	Data      string   `help:"Directory of the data. Default: ${data}." type:"path" env:"PARLEY_DATA"`
	Ephemeral bool     `help:"Keep everything in memory; nothing survives the end." env:"PARLEY_EPHEMERAL"`
	Agents    []string `help:"Sets of agents to serve: ${sets}." env:"PARLEY_AGENTS" placeholder:"SET"`
}

// Run implements the command.
func (cmd serveCommand) Run(env *environment) error {
	if err := cmd.resolve(); err != nil {
		return err
	}
	o, err := chooseSets(env.options, cmd.Agents)
	if err != nil {
		return err
	}
	if cmd.Data != "" {
		o.DataDir, o.Ephemeral = cmd.Data, false
	}
	o.Ephemeral = o.Ephemeral || cmd.Ephemeral
	if err := defaultsFromEnv(&o); err != nil {
		return err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	a := env.address
	if cmd.Host != nil {
		a.host = *cmd.Host
	}
	l, taken, err := listen(a.host, cmp.Or(cmd.Port, a.port))
	if err != nil {
		return err
	}
	s, err := New(o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return serve(env, s, l, o, taken)
}

// resolve decides between --data and --ephemeral: a flag wins over the other's environment variable.
func (cmd *serveCommand) resolve() error {
	switch {
	case cmd.Data == "" || !cmd.Ephemeral:
	case os.Getenv("PARLEY_DATA") != "":
		cmd.Data = ""
	case os.Getenv("PARLEY_EPHEMERAL") != "":
		cmd.Ephemeral = false
	default:
		return errors.New("--data and --ephemeral exclude each other")
	}
	return nil
}

// serve runs until a signal asks for the end.
func serve(env *environment, s *Server, l net.Listener, o Options, taken bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	text := fmt.Sprintf("Parley listens on http://%s (%s)\n", browsable(l.Addr()), describe(o))
	if taken {
		text = fmt.Sprintf("Port %d is taken: %s", defaultPort, text)
	}
	if _, err := io.WriteString(env.stdout, text); err != nil {
		s.log.Warn("address not printed", "error", err)
	}
	kept := make(chan struct{})
	keeping, stopKeeping := context.WithCancel(context.Background())
	go func() { defer close(kept); keepMemory(keeping) }()
	defer func() { stopKeeping(); <-kept }()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	var failure error
	running := true
	select {
	case failure = <-served:
		running = false
	case <-ctx.Done():
		stop() // a second signal kills
	}
	grace, cancel := context.WithTimeout(context.Background(), cmp.Or(o.ShutdownGrace, 5*time.Second))
	defer cancel()
	failure = errors.Join(failure, s.Shutdown(grace))
	if running {
		failure = errors.Join(failure, <-served)
	}
	return failure
}

// describe says what is served, and where its data lies.
func describe(o Options) string {
	names := make([]string, len(o.Agents))
	for i, a := range o.Agents {
		names[i] = a.Name()
	}
	where := "data in " + o.DataDir
	if o.DataDir == "" {
		where = "data in " + DefaultDataDir
	}
	if o.Ephemeral {
		where = "data in memory"
	}
	if o.Store != nil {
		where = "data in a store of its own"
	}
	if len(names) == 0 {
		return "no agents; " + where
	}
	return "agents " + strings.Join(names, ", ") + "; " + where
}
