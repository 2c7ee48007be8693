package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/parley-dev/parley/agent/manifest"
)

// defaultConfig is the file that is checked when none is named.
const defaultConfig = "agents.yaml"

// agentsCommand are the commands around files of agents.
type agentsCommand struct {
	Check  checkCommand  `cmd:"" help:"Check a file of agents, and show what is in it."`
	Schema schemaCommand `cmd:"" help:"Print the JSON Schema of files of agents, for editors."`
}

type checkCommand struct {
	File    string `arg:"" optional:"" help:"The file. Default: PARLEY_CONFIG, or agents.yaml." placeholder:"FILE"`
	Connect bool   `help:"Connect to the MCP servers, and check that they have the tools that agents list."`
}

// Run implements the command.
func (cmd checkCommand) Run(env *environment) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path := cmp.Or(cmd.File, os.Getenv("PARLEY_CONFIG"), defaultConfig)
	m, err := manifest.Read(path, manifest.Options{})
	if err != nil {
		return faulty(path, err)
	}
	agents, err := m.Build(ctx, manifest.BuildOptions{Logger: env.logger(), LateKeys: true, Offline: !cmd.Connect})
	if err != nil {
		return faulty(path, err)
	}
	defer agents.Close() //nolint:errcheck // nothing was done with the servers
	return agents.Summarize(env.stdout)
}

// logger is that of the options, else one that warns on the standard error.
func (env *environment) logger() *slog.Logger {
	if env.options.Logger != nil {
		return env.options.Logger
	}
	return slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type schemaCommand struct{}

// Run implements the command.
func (schemaCommand) Run(env *environment) error {
	schema, err := manifest.Schema()
	if err != nil {
		return err
	}
	_, err = env.stdout.Write(schema)
	return err
}

// faulty says how many mistakes a file has, and which.
func faulty(path string, err error) error {
	faults := manifest.Faults(err)
	switch len(faults) {
	case 0:
		return err
	case 1:
		return fmt.Errorf("%s has a mistake:\n\n%w", path, err)
	}
	return fmt.Errorf("%s has %d mistakes:\n\n%w", path, len(faults), err)
}
