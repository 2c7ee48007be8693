package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// serverInfo is what a server says of itself.
type serverInfo struct {
	addr         string
	major, minor int
	valkey       bool
	master       bool
	policy       string
	maxMemory    int64
	aof          bool
	fsync        string // "" when the server doesn't say
	replicas     int
	skew         time.Duration
}

// atLeast compares with a version of Redis; Valkey began as 7.2.
func (s serverInfo) atLeast(major, minor int) bool {
	return s.valkey || s.major > major || s.major == major && s.minor >= minor
}

// inspect asks a server about itself.
func inspect(ctx context.Context, c *rds.Client) (s serverInfo, err error) {
	s.addr = c.Options().Addr
	text, err := c.Info(ctx, "everything").Result()
	if err != nil {
		return s, err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[k] = v
		}
	}
	_, s.valkey = info["valkey_version"]
	parts := strings.SplitN(info["redis_version"], ".", 3)
	if len(parts) >= 2 {
		s.major, _ = strconv.Atoi(parts[0])
		s.minor, _ = strconv.Atoi(parts[1])
	}
	s.master = info["role"] != "slave"
	s.policy = info["maxmemory_policy"]
	s.maxMemory, _ = strconv.ParseInt(info["maxmemory"], 10, 64)
	s.aof = info["aof_enabled"] == "1"
	s.replicas, _ = strconv.Atoi(info["connected_slaves"])
	if v, err := c.ConfigGet(ctx, "appendfsync").Result(); err == nil { // forbidden where the server is somebody else's
		s.fsync = v["appendfsync"]
	}
	begin := time.Now()
	now, err := c.Time(ctx).Result()
	s.skew = now.Sub(begin.Add(time.Since(begin) / 2))
	return s, err
}

var _ thread.Timed = (*Store)(nil)

// Time implements thread.Timed.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return now, unavailable(fmt.Errorf("redis: time: %w", err))
	}
	return now, nil
}

// maxSkew is how far the server's clock may be from this process's without a word.
// Nothing depends on it but what people read: the service goes by Time.
const maxSkew = 30 * time.Second

// errServer: the server can't keep what has to be kept.
var errServer = errors.New("redis: unfit server")

// inspectAll checks all masters.
func (s *Store) inspectAll(ctx context.Context) ([]serverInfo, error) {
	var list []serverInfo
	look := func(ctx context.Context, c *rds.Client) error {
		info, err := inspect(ctx, c)
		if err == nil {
			list = append(list, info)
		}
		return err
	}
	var err error
	switch c := s.client.(type) {
	case *rds.ClusterClient:
		infos := make(chan serverInfo, 1024)
		err = c.ForEachMaster(ctx, func(ctx context.Context, n *rds.Client) error {
			info, err := inspect(ctx, n)
			if err == nil {
				infos <- info
			}
			return err
		})
		close(infos)
		for info := range infos {
			list = append(list, info)
		}
	case *rds.Client:
		err = look(ctx, c)
	}
	return list, err
}

// check refuses servers that forget, and reports the others.
func (s *Store) check(ctx context.Context) error {
	servers, err := s.inspectAll(ctx)
	if err != nil {
		return fmt.Errorf("redis: check the server: %w", err)
	}
	for _, i := range servers {
		switch {
		case !i.valkey && (i.major < 6 || i.major == 6 && i.minor < 2):
			return fmt.Errorf("%w: %s is of version %d.%d, 6.2 is needed", errServer, i.addr, i.major, i.minor)
		case !i.master:
			return fmt.Errorf("%w: %s is a replica", errServer, i.addr)
		case i.policy != "" && i.policy != "noeviction" && !s.opts.AllowEviction:
			return fmt.Errorf("%w: %s has maxmemory-policy %s, which removes data of threads when memory is short; set noeviction", errServer, i.addr, i.policy)
		}
		if i.policy != "" && i.policy != "noeviction" {
			s.log.Warn("Redis may remove data of threads", "addr", i.addr, "maxmemory-policy", i.policy)
		}
		if s.opts.Durability != None && !i.aof {
			s.log.Warn("Redis has no append-only file: a restart loses what came since its last snapshot", "addr", i.addr)
		}
		if i.skew.Abs() > maxSkew {
			s.log.Warn("the clocks of Redis and of this server differ", "addr", i.addr, "by", i.skew.Round(time.Second))
		}
		s.log.Info("Redis", "addr", i.addr, "version", fmt.Sprintf("%d.%d", i.major, i.minor), "valkey", i.valkey,
			"aof", i.aof, "appendfsync", i.fsync, "replicas", i.replicas, "durability", s.opts.Durability)
	}
	s.confirm, err = confirmationFor(s.opts.Durability, s.opts.ConfirmWithin, servers)
	return err
}
