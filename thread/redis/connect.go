package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Times of a connection. A cluster client keeps dialling a dead master until it
// looks at the cluster's state again (spec/libraries.md 7, pitfall 2).
const (
	dialTimeout   = 3 * time.Second
	reloadCluster = 2 * time.Second
)

// errURL: a URL that Connect can't read.
var errURL = errors.New("redis: bad URL")

// Connect returns a client for a URL; it dials when it is first used:
//
//	redis://[user:password@]host[:port][/db]                        one server
//	redis+sentinel://[user:password@]host[:port],…/master[/db]      Sentinel
//	redis+cluster://[user:password@]host[:port],…                   Cluster
//
// With rediss in place of redis the connection is TLS. Parameters: prefix (see
// Options), ca (file of certificates to trust), server_name, pool_size,
// sentinel_username and sentinel_password.
func Connect(rawURL string) (rds.UniversalClient, error) { return connect(rawURL, nil) }

func connect(rawURL string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (rds.UniversalClient, error) {
	a, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	o := &rds.UniversalOptions{
		Addrs: a.hosts, DB: a.db, Username: a.user, Password: a.password, TLSConfig: a.tls, PoolSize: a.poolSize,
		MasterName: a.master, SentinelUsername: a.query.Get("sentinel_username"), SentinelPassword: a.query.Get("sentinel_password"),
		Dialer: dial, DialTimeout: dialTimeout, ContextTimeoutEnabled: true, MaxRetries: mostRetries,
		// The handshake of plain servers has no place for these (pitfall 34).
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		PipelinePoolSize:         -1, // pipelines share the connections
	}
	var client rds.UniversalClient
	switch a.kind {
	case "cluster":
		c := o.Cluster()
		c.ClusterStateReloadInterval = reloadCluster // out of reach of UniversalOptions
		client = rds.NewClusterClient(c)
	case "sentinel":
		client = rds.NewFailoverClient(o.Failover())
	default:
		client = rds.NewClient(o.Simple())
	}
	guard(client)
	return client, nil
}

// address is a URL taken apart.
type address struct {
	kind           string // "", sentinel or cluster
	hosts          []string
	user, password string
	master         string
	db             int
	poolSize       int
	tls            *tls.Config
	query          url.Values
}

func parseURL(raw string) (a address, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return a, fmt.Errorf("%w: %q has no scheme", errURL, hidden(raw))
	}
	protocol, kind, _ := strings.Cut(scheme, "+")
	if protocol != "redis" && protocol != "rediss" || kind != "" && kind != "sentinel" && kind != "cluster" {
		return a, fmt.Errorf("%w: scheme %q", errURL, scheme)
	}
	a.kind = kind
	rest, query, _ := strings.Cut(rest, "?")
	if a.query, err = url.ParseQuery(query); err != nil {
		return a, fmt.Errorf("%w: %w", errURL, err)
	}
	if err := a.known(protocol); err != nil {
		return a, err
	}
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := a.credentials(authority[:at]); err != nil {
			return a, err
		}
		authority = authority[at+1:]
	}
	if err := a.addHosts(authority); err != nil {
		return a, err
	}
	if err := a.addPath(path); err != nil {
		return a, err
	}
	if v := a.query.Get("pool_size"); v != "" {
		if a.poolSize, err = strconv.Atoi(v); err != nil || a.poolSize < 1 {
			return a, fmt.Errorf("%w: pool_size %q", errURL, v)
		}
	}
	if protocol == "rediss" {
		err = a.addTLS()
	}
	return a, err
}

// known refuses parameters that nobody reads: with a misspelt prefix two deployments would share their data.
func (a *address) known(protocol string) error {
	names := []string{"prefix", "pool_size"}
	if protocol == "rediss" {
		names = append(names, "ca", "server_name")
	}
	if a.kind == "sentinel" {
		names = append(names, "sentinel_username", "sentinel_password")
	}
	for _, name := range slices.Sorted(maps.Keys(a.query)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%w: no parameter %q; of this one there are %s", errURL, name, strings.Join(names, ", "))
		}
	}
	return nil
}

// hidden is a URL without what may be a password.
func hidden(raw string) string {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		return "…" + raw[at:]
	}
	return raw
}

func (a *address) credentials(info string) (err error) {
	user, password, _ := strings.Cut(info, ":")
	if a.user, err = url.PathUnescape(user); err == nil {
		a.password, err = url.PathUnescape(password)
	}
	if err != nil {
		return fmt.Errorf("%w: user or password", errURL)
	}
	return nil
}

func (a *address) addHosts(list string) error {
	port := "6379"
	if a.kind == "sentinel" {
		port = "26379"
	}
	for _, h := range strings.Split(list, ",") {
		if h == "" {
			h = "localhost"
		}
		u := url.URL{Host: h}
		if u.Hostname() == "" {
			return fmt.Errorf("%w: host %q", errURL, h)
		}
		p := u.Port()
		if p == "" {
			p = port
		}
		a.hosts = append(a.hosts, net.JoinHostPort(u.Hostname(), p))
	}
	if a.kind == "" && len(a.hosts) > 1 {
		return fmt.Errorf("%w: several hosts want redis+cluster or redis+sentinel", errURL)
	}
	return nil
}

func (a *address) addPath(path string) (err error) {
	db := strings.Trim(path, "/")
	if a.kind == "sentinel" {
		a.master, db, _ = strings.Cut(db, "/")
		if a.master == "" {
			return fmt.Errorf("%w: Sentinel wants the master's name as path", errURL)
		}
	}
	if db == "" {
		return nil
	}
	if a.db, err = strconv.Atoi(db); err != nil || a.kind == "cluster" {
		return fmt.Errorf("%w: database %q", errURL, db)
	}
	return nil
}

func (a *address) addTLS() error {
	a.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.query.Get("server_name")}
	if a.tls.ServerName == "" && a.kind == "" { // elsewhere each node has a name of its own
		a.tls.ServerName, _, _ = net.SplitHostPort(a.hosts[0])
	}
	file := a.query.Get("ca")
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file) //nolint:gosec // the operator's own choice
	if err != nil {
		return fmt.Errorf("redis: ca: %w", err)
	}
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("redis: no certificate in %s", file)
	}
	return nil
}

// unknownMaster is an error when a URL names a master that Sentinel doesn't have: the client only says that
// no sentinel can be reached.
func unknownMaster(ctx context.Context, rawURL string) error {
	a, err := parseURL(rawURL)
	if err != nil || a.kind != "sentinel" {
		return nil //nolint:nilerr // who connects says what is wrong with a URL
	}
	for _, host := range a.hosts {
		c := rds.NewSentinelClient(&rds.Options{
			Addr: host, Username: a.query.Get("sentinel_username"), Password: a.query.Get("sentinel_password"), TLSConfig: a.tls,
			DialTimeout: dialTimeout, MaxRetries: -1, DisableIdentity: true,
		})
		_, err := c.GetMasterAddrByName(ctx, a.master).Result()
		_ = c.Close() // nothing is lost with it
		if errors.Is(err, rds.Nil) {
			return fmt.Errorf("redis: Sentinel at %s knows no master %q", host, a.master)
		}
	}
	return nil
}
