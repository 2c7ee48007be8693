package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpCommand is a host's child: it speaks MCP over its standard input and output.
type mcpCommand struct {
	Data      string   `help:"Directory of the data. Default: ${data}." type:"path" env:"PARLEY_DATA"`
	Ephemeral bool     `help:"Keep everything in memory; nothing survives the end." env:"PARLEY_EPHEMERAL"`
	Agents    []string `help:"Sets of agents to offer: ${sets}." env:"PARLEY_AGENTS" placeholder:"SET"`
	Config    string   `help:"File of agents to offer (YAML)." env:"PARLEY_CONFIG" placeholder:"FILE"`
}

// Run implements the command.
func (cmd mcpCommand) Run(env *environment) error {
	as := serveCommand{Data: cmd.Data, Ephemeral: cmd.Ephemeral, Agents: cmd.Agents, Config: cmd.Config}
	o, err := as.options(env)
	if err != nil {
		return err
	}
	if o.MCP == nil {
		o.MCP = &MCP{}
	}
	o.Logger = env.logger() // standard output is the protocol's
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	file, err := configure(ctx, env, cmd.Config, &o)
	if err != nil {
		return err
	}
	s, err := New(o)
	if err != nil {
		return errors.Join(err, file.close())
	}
	err = s.Start(ctx)
	if err == nil {
		err = s.serveMCPOver(ctx, os.Stdin, nopCloser{env.stdout})
	}
	grace, cancel := context.WithTimeout(context.Background(), cmp.Or(o.ShutdownGrace, DefaultShutdownGrace))
	defer cancel()
	return errors.Join(err, s.Shutdown(grace), file.close())
}

// serveMCPOver speaks MCP over two streams until the first ends, or ctx.
func (s *Server) serveMCPOver(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, mcpPath, nil)
	if err != nil {
		return err
	}
	server, err := s.mcpServer(r)
	if err != nil {
		return err
	}
	// A shutdown reaches calls in flight before their end does, so that they leave their runs to the next start.
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { s.stopStreams(); end() })()
	err = server.Run(session, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: int(s.limits.Body)})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("server: MCP: %w", err)
	}
	return nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
