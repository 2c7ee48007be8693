package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/parley-dev/parley/agent/tool/mcp"
)

// connections are MCP servers that agents of several readings of a file may share.
type connections struct {
	all *mcp.Servers
	// key tells whether two files say the same of their servers.
	key string

	mu    sync.Mutex
	users int
}

// take adds a user; false once the last one has gone.
func (c *connections) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		return false
	}
	c.users++
	return true
}

// release ends a use; the last one closes the servers. nil has none.
func (c *connections) release() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	c.users--
	last := c.users == 0
	c.mu.Unlock()
	if !last {
		return nil
	}
	return c.all.Close()
}

// digest identifies configurations, with their secrets, without keeping these.
func digest(configs []mcp.ServerConfig) string {
	sum := sha256.New()
	for _, c := range configs {
		fmt.Fprintf(sum, "%#v\n", []any{ //nolint:errcheck // a hash takes everything
			c.Name, c.Command, c.Args, c.Env, c.Dir, c.URL, c.Headers, c.OnDown, c.ConnectTimeout, c.Timeout,
			c.Allow, c.Deny, c.Elicit, c.IgnoreAnnotations,
		})
	}
	return hex.EncodeToString(sum.Sum(nil))
}
