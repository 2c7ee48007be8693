package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// defaultPort is where clients of this API look first.
const defaultPort = 2024

// address is where the command line listens unless its flags say otherwise.
type address struct {
	host string // "" for every interface
	port *int   // nil for 2024, or the next free one
}

// addressOf reads Options.Addr.
func addressOf(o Options) (address, error) {
	if o.Addr == "" {
		host, _, err := net.SplitHostPort(DefaultAddr)
		return address{host: host}, err
	}
	host, name, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return address{}, fmt.Errorf("server: Options.Addr: %w", err)
	}
	port, err := net.LookupPort("tcp", name)
	if err != nil {
		return address{}, fmt.Errorf("server: Options.Addr: %w", err)
	}
	return address{host: host, port: &port}, nil
}

func (a address) describePort() string {
	if a.port == nil {
		return fmt.Sprintf("%d, or the next free one", defaultPort)
	}
	return strconv.Itoa(*a.port)
}

// browsable is a listener's address as clients write it.
func browsable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsUnspecified() || ip.Equal(net.IPv4(127, 0, 0, 1))) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// portsTried is how many ports after the default one are tried.
const portsTried = 100

// listen opens the port that was asked for. Without one it is 2024, or the next free one.
func listen(host string, port *int) (l net.Listener, taken bool, err error) {
	if port != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(*port)))
		return l, false, err
	}
	for p := defaultPort; p <= defaultPort+portsTried; p++ {
		l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err == nil {
			return l, p != defaultPort, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("ports %d to %d are taken: choose one with --port", defaultPort, defaultPort+portsTried)
}
