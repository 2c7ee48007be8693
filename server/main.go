package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/parley-dev/parley/server/cli"
	"github.com/parley-dev/parley/thread/redis"
)

// Main is the command line of a program that serves agents: serve, health, mcp, agents, keys, migrate, backup, restore and
// version, and invoke, reviews, threads and audit, which talk to a server that runs (server/cli).
// It does not return. A program with agents of its own calls it from main:
//
//	func main() { server.Main(server.Options{Agents: []agent.Agent{refund, support}}) }
//
// Flags and environment variables win over the options.
func Main(o Options) {
	redis.LogClient()
	os.Exit(run(o, os.Args[1:], os.Stdout, os.Stderr))
}

// commandLine are the commands and their flags.
type commandLine struct {
	Serve   serveCommand   `cmd:"" help:"Serve agents over HTTP."`
	Health  healthCommand  `cmd:"" help:"Ask a server on this machine whether it is ready; the exit code tells."`
	Invoke  cli.Invoke     `cmd:"" help:"Talk to an agent; its reviews appear inline."`
	Reviews cli.Reviews    `cmd:"" help:"List, read and decide what waits for a person."`
	Threads cli.Threads    `cmd:"" help:"Look at threads and runs."`
	Audit   cli.Audit      `cmd:"" help:"Read, export and verify the audit log."`
	MCP     mcpCommand     `cmd:"" name:"mcp" help:"Offer agents to an MCP host that starts this program: MCP over standard input and output."`
	Agents  agentsCommand  `cmd:"" help:"Work on files of agents."`
	Keys    keysCommand    `cmd:"" help:"Make, list and end API keys."`
	Migrate migrateCommand `cmd:"" help:"Copy everything from one store to another that is empty, read it back and compare. No server may run on either."`
	Backup  backupCommand  `cmd:"" help:"Copy everything to a file."`
	Restore restoreCommand `cmd:"" help:"Copy everything from a file of backup to a store that is empty."`
	Version versionCommand `cmd:"" help:"Print the version."`

	Completion cli.Completion `cmd:"" help:"Print a script that completes commands: source <(… completion bash)."`
}

// run parses the command line and carries it out; it returns the exit code.
func run(o Options, args []string, stdout, stderr io.Writer) int {
	code := -1
	var commands commandLine
	a, err := addressOf(o)
	if err != nil {
		return fail(stderr, err)
	}
	parser, err := kong.New(&commands,
		kong.Name(filepath.Base(os.Args[0])), kong.Description("Durable agents with people in the loop."),
		kong.Writers(stdout, stderr), kong.Exit(func(c int) { code = c }), kong.ShortUsageOnError(),
		kong.Vars{
			"host": cmp.Or(a.host, "every one"), "port": a.describePort(),
			"data": cmp.Or(o.DataDir, DefaultDataDir), "sets": strings.Join(setNames(o.Sets), ", "),
			"live": livePath, "ready": readyPath, "grace": cmp.Or(o.ShutdownGrace, DefaultShutdownGrace).String(), "drain": o.DrainDelay.String(),
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
	streams := cli.System()
	streams.Out, streams.Err = stdout, stderr
	if err := ctx.Run(&environment{options: o, address: a, stdout: stdout, stderr: stderr}, streams, parser.Model); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// fail reports an error and returns the exit code.
func fail(stderr io.Writer, err error) int {
	var own *cli.ExitError
	if errors.As(err, &own) && own.Err == nil { // all has been said
		return own.Code
	}
	_, _ = fmt.Fprintln(stderr, "parley:", cli.Printable(err.Error())) // nobody is left to be told
	if own != nil {
		return own.Code
	}
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
	Host      *string `help:"Address to listen on. Default: ${host}." env:"PARLEY_HOST"`
	Port      *int    `help:"Port to listen on. Default: ${port}." env:"PARLEY_PORT"`
	Data      string  `help:"Directory of the data. Default: ${data}." type:"path" env:"PARLEY_DATA"`
	Ephemeral bool    `help:"Keep everything in memory; nothing survives the end." env:"PARLEY_EPHEMERAL"`
	redisFlags
	identityFlags
	announceFlags
	contextFlags
	webhookFlags
	traceFlags
	Agents []string `help:"Sets of agents to serve: ${sets}." env:"PARLEY_AGENTS" placeholder:"SET"`
	Config string   `help:"File of agents to serve (YAML); it is read again when it changes." env:"PARLEY_CONFIG" placeholder:"FILE"`
	MCP    bool     `name:"mcp" help:"Offer the agents to MCP hosts, too, at /mcp." env:"PARLEY_MCP"`

	Drain *time.Duration `help:"How long to go on after a stop signal while readiness says no, so that load balancers look elsewhere. Default: ${drain}." env:"PARLEY_DRAIN" placeholder:"DURATION"`
	Grace *time.Duration `help:"How long the superstep under way may then take; the run goes on elsewhere, or at the next start. Default: ${grace}." env:"PARLEY_GRACE" placeholder:"DURATION"`
}

// Run implements the command.
func (cmd serveCommand) Run(env *environment) error {
	o, err := cmd.options(env)
	if err != nil {
		return err
	}
	o.Logger = env.logger()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file, err := configure(ctx, env, cmd.Config, &o)
	if err != nil {
		return err
	}
	a := env.address
	if cmd.Host != nil {
		a.host = *cmd.Host
	}
	l, taken, err := listen(a.host, cmp.Or(cmd.Port, a.port))
	if err != nil {
		return errors.Join(err, file.close())
	}
	s, err := New(o)
	if err != nil {
		return errors.Join(err, l.Close(), file.close())
	}
	return serve(ctx, stop, env, &served{Server: s, listener: l, options: o, file: file, taken: taken})
}

// options are the program's, as the flags and the environment change them.
func (cmd serveCommand) options(env *environment) (Options, error) {
	if err := cmd.resolve(); err != nil {
		return Options{}, err
	}
	o, err := chooseSets(env.options, cmd.Agents, cmd.Config == "")
	if err != nil {
		return o, err
	}
	if cmd.Data != "" {
		o.DataDir, o.Ephemeral = cmd.Data, false
	}
	o.Ephemeral = o.Ephemeral || cmd.Ephemeral
	cmd.redisFlags.apply(&o)
	if err := cmd.identityFlags.apply(&o); err != nil {
		return o, err
	}
	cmd.announceFlags.apply(&o)
	if err := o.Announce.needsMail(); err != nil {
		return o, err
	}
	if err := cmd.contextFlags.apply(&o); err != nil {
		return o, err
	}
	cmd.traceFlags.apply(&o)
	cmd.webhookFlags.apply(&o)
	if cmd.Drain != nil {
		o.DrainDelay = *cmd.Drain
	}
	if cmd.Grace != nil {
		o.ShutdownGrace = *cmd.Grace
	}
	if cmd.MCP && o.MCP == nil {
		o.MCP = &MCP{}
	}
	return o, defaultsFromEnv(&o)
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
	return cmd.resolveRedis()
}

// resolveRedis decides between --data and --redis in the same way; of two environment variables that of Redis wins,
// since images name a folder for those who have none.
func (cmd *serveCommand) resolveRedis() error {
	given := cmd.Data != "" && cmd.Data != os.Getenv("PARLEY_DATA")
	switch {
	case !given || cmd.Redis == "":
	case cmd.Redis == os.Getenv("PARLEY_REDIS"):
		cmd.Redis = ""
	default:
		return errors.New("--data and --redis exclude each other")
	}
	return nil
}

// served is a server with what the command line knows of it.
type served struct {
	*Server
	listener net.Listener
	options  Options
	file     *configured // nil without --config
	taken    bool        // the default port wasn't free
}

// serve runs until a signal ends ctx; stop then lets a second signal kill.
func serve(ctx context.Context, stop func(), env *environment, s *served) error {
	text := fmt.Sprintf("Parley listens on http://%s (%s)\n", browsable(s.listener.Addr()), describe(s.options))
	if s.taken {
		text = fmt.Sprintf("Port %d is taken: %s", defaultPort, text)
	}
	if s.mayListen(s.listener.Addr()) != nil {
		text = "" // Serve says why
	}
	if _, err := io.WriteString(env.stdout, text); err != nil {
		s.log.Warn("address not printed", "error", err)
	}
	var kept sync.WaitGroup
	keeping, stopKeeping := context.WithCancel(context.Background())
	kept.Go(func() { keepMemory(keeping) })
	if s.file != nil {
		kept.Go(func() { s.file.keep(keeping, s.Server) })
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(s.listener) }()
	var failure error
	running := true
	select {
	case failure = <-served:
		running = false
	case <-ctx.Done():
		stop() // a second signal kills
		s.Drain()
		select {
		case failure = <-served:
			running = false
		case <-time.After(s.options.DrainDelay):
		}
	}
	stopKeeping()
	kept.Wait()
	grace, cancel := context.WithTimeout(context.Background(), cmp.Or(s.options.ShutdownGrace, DefaultShutdownGrace))
	defer cancel()
	failure = errors.Join(failure, s.Shutdown(grace))
	if running {
		failure = errors.Join(failure, <-served)
	}
	return errors.Join(failure, s.file.close())
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
	if o.redis() {
		where = "data in Redis"
	}
	if o.Store != nil {
		where = "data in a store of its own"
	}
	if len(names) == 0 {
		return "no agents; " + where
	}
	return "agents " + strings.Join(names, ", ") + "; " + where
}
