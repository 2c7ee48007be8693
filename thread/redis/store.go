package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// Options say where the store lives and how it behaves.
type Options struct {
	// URL names the server: redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// (see ParseURL).
	URL string
	// Client, when set, is used in place of URL. The store doesn't close it.
	Client rds.UniversalClient
	// Dialer makes the connections to URL, for networks that are reached in another
	// way, and is then to speak TLS, too. Default: the net package's dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Prefix begins all keys and channels, so that an ACL can be bound to it.
	// Default: the URL's parameter prefix, or DefaultPrefix.
	Prefix string
	// Shards is in how many parts queues and indexes are split. It is fixed by the
	// first process that opens the store. Default: DefaultShards.
	Shards int
	// Durability is what an acknowledged decision survives. Default: EverySec.
	Durability Durability
	// ConfirmWithin bounds how long a decision waits for it. Default: DefaultConfirmWithin.
	ConfirmWithin time.Duration
	// AllowEviction accepts a maxmemory-policy that removes keys when memory is
	// short, with a warning. Default: such a server is refused.
	AllowEviction bool
	// LogBytes bounds the stored events of a thread: beyond it, at the end of a run, a
	// snapshot takes the place of those of executions that are over, however young
	// they are. Default: DefaultLogBytes; below 0: no bound.
	LogBytes int64
	// SweepEvery is the pause between two rounds of repair. Default: DefaultSweepEvery.
	SweepEvery time.Duration
	// Unfinished opens a store also while it is being loaded (NewTarget), or was left so.
	Unfinished bool
	// Logger is told of what can't be returned to a caller. Default: slog.Default().
	Logger *slog.Logger
}

// The defaults of Options.
const (
	DefaultShards     = 16
	DefaultLogBytes   = 32 << 20
	DefaultSweepEvery = 5 * time.Second
)

// Store keeps the durable truth in Redis. It implements thread.Store,
// thread.KeyFinder, thread.Shared and thread.Truncater.
type Store struct {
	opts    Options
	client  rds.UniversalClient
	own     bool // the client is closed with the store
	keys    keys
	log     *slog.Logger
	origin  string // names this store in what it publishes
	seed    uint64 // of digests of metadata
	confirm confirmation
	// claiming are the threads of which this process is claiming a run.
	claiming claims
	// sealing are the threads whose audit entries this process is to seal.
	sealing sealer

	life   context.Context //nolint:containedctx // the store's own lifetime, not a request's
	end    context.CancelFunc
	loops  sync.WaitGroup
	closed sync.Once
}

var (
	_ thread.Store     = (*Store)(nil)
	_ thread.KeyFinder = (*Store)(nil)
	_ thread.Shared    = (*Store)(nil)
	_ thread.Truncater = (*Store)(nil)
)

// Open connects to Redis, checks it and starts the store's sweeper.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Prefix == "" && o.Client == nil {
		a, err := parseURL(o.URL)
		if err != nil {
			return nil, err
		}
		o.Prefix = a.query.Get("prefix")
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Shards <= 0 {
		o.Shards = DefaultShards
	}
	if o.LogBytes == 0 {
		o.LogBytes = DefaultLogBytes
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	if o.Durability == "" {
		o.Durability = EverySec
	}
	if o.ConfirmWithin <= 0 {
		o.ConfirmWithin = DefaultConfirmWithin
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Store{opts: o, claiming: claims{threads: map[string]bool{}}, sealing: newSealer(), client: o.Client, log: o.Logger, origin: uuid.NewString()[:8], keys: keys{prefix: o.Prefix, shards: o.Shards}}
	if s.client == nil {
		client, err := connect(o.URL, o.Dialer)
		if err != nil {
			return nil, err
		}
		s.client, s.own = client, true
	}
	if err := s.open(ctx); err != nil {
		if s.own {
			err = errors.Join(cmp.Or(unknownMaster(ctx, o.URL), err), s.client.Close())
		}
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := s.agree(ctx); err != nil {
		return fmt.Errorf("redis: settings: %w", err)
	}
	if !s.opts.Unfinished {
		if err := s.finished(ctx); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	if err := s.loadAll(ctx); err != nil {
		return fmt.Errorf("redis: load scripts: %w", err)
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if s.opts.Unfinished { // what is half there must not be repaired
		return nil
	}
	s.loops.Add(2)
	go func() {
		defer s.loops.Done()
		s.sweep(s.life)
	}()
	go func() {
		defer s.loops.Done()
		s.seal(s.life)
	}()
	return nil
}

// agree takes over what the first replica has settled.
func (s *Store) agree(ctx context.Context) error {
	key := s.keys.settings()
	seed := uuid.New()
	_, err := s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		p.HSetNX(ctx, key, "shards", s.keys.shards)
		p.HSetNX(ctx, key, "seed", seedOf(seed))
		return nil
	})
	if err != nil {
		return err
	}
	var settled struct {
		Shards int   `redis:"shards"`
		Seed   int64 `redis:"seed"`
	}
	if err := s.client.HGetAll(ctx, key).Scan(&settled); err != nil {
		return err
	}
	if settled.Shards <= 0 {
		return errors.New("no number of shards is stored")
	}
	s.keys.shards, s.seed = settled.Shards, uint64(settled.Seed)
	return nil
}

func seedOf(id uuid.UUID) int64 {
	var seed int64
	for _, b := range id {
		seed = seed*31 + int64(b)
	}
	return seed
}

// Close implements thread.Store. Closing once more does nothing.
func (s *Store) Close() (err error) {
	s.closed.Do(func() {
		s.end()
		s.loops.Wait()
		if s.own {
			err = s.client.Close()
		}
	})
	return err
}

// micros is a time as it is stored; 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// timeOf is the time that micros stored.
func timeOf(m int64) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m).UTC()
}

// newOp names a transition, so that its repetition after a lost reply is known.
func newOp() string { return uuid.NewString() }

// The kinds of what isn't found, as thread.NotFoundError names them.
const (
	notFoundAssistant  = "assistant"
	notFoundCheckpoint = "checkpoint"
	notFoundCron       = "cron"
	notFoundDelivery   = "delivery"
	notFoundItem       = "item"
	notFoundKey        = "key"
	notFoundReview     = "review"
	notFoundRun        = "run"
	notFoundSegment    = "segment"
	notFoundThread     = "thread"
	notFoundVersion    = "version"
)

func isNotFound(err error) bool { return errors.Is(err, thread.ErrNotFound) }

func noThread(id string) error { return &thread.NotFoundError{Kind: notFoundThread, ID: id} }

func noRun(id string) error { return &thread.NotFoundError{Kind: notFoundRun, ID: id} }
