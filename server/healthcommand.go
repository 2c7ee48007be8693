package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// healthCommand asks a running server how it is, for images without a shell.
type healthCommand struct {
	Host    string        `help:"Host of the server. Default: this machine." env:"PARLEY_HOST"`
	Port    int           `help:"Port of the server." default:"2024" env:"PARLEY_PORT"`
	Live    bool          `help:"Ask for liveness (${live}) in place of readiness (${ready})."`
	Timeout time.Duration `help:"How long the answer may take." default:"5s"`
}

// Run implements the command.
func (cmd healthCommand) Run(env *environment) error {
	path := readyPath
	if cmd.Live {
		path = livePath
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmd.Timeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(reachable(cmd.Host), strconv.Itoa(cmd.Port)) + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // nothing is lost with it
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, res.Status, body)
	}
	_, err = fmt.Fprintln(env.stdout, string(body))
	return err
}

// reachable is the host under which a server that listens on host is reached from its own machine.
func reachable(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return "localhost"
	}
	return cmp.Or(host, "localhost")
}
