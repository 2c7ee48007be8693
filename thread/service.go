package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Publisher is told of every event of every thread, in the order of Pos per
// thread: stored ones after their commit, ephemeral ones possibly before. The
// stream hub implements it. Publish must not block.
type Publisher interface {
	// Publish hands on entries; the slice is valid during the call.
	Publish(threadID string, entries []Entry)
	// Stored tells that entries up to pos, which were published before they were
	// stored, are in the log now: who came in between finds them there.
	Stored(threadID string, pos int64)
	// RunEnded tells that a run's row is final; it follows the run's last entry.
	RunEnded(threadID, runID string)
}

// Options configure a Service.
type Options struct {
	Store     Store
	Publisher Publisher // default: none
	Agents    []agent.Agent
	Logger    *slog.Logger // default: slog.Default()
	Clock     agent.Clock  // default: the system clock
	// Workers is how many runs execute at once. Default: 64.
	Workers int
	// WorkerID names this process in leases. Default: a random UUID.
	WorkerID string
	// Lease is how long a run stays with a worker that gives no sign of life. Default: 10 s.
	Lease time.Duration
	// MaxAttempts is how many workers may be lost over a run before it fails. Default: 3.
	MaxAttempts int
	// LogRetention is how long the log of a finished execution is kept. Default: 24 h.
	LogRetention time.Duration
	// SweepEvery is the pause between two rounds of retention. Default: 1 min.
	SweepEvery time.Duration
	// OnInputWhileInterrupted is "restart" (default: classic semantics) or "error" (decisions 13).
	OnInputWhileInterrupted string
	// GraphDefaults gives system assistants their config and context, by graph id (LANGGRAPH_CONFIG).
	GraphDefaults map[string]GraphDefault
	// DeliverLocal sends a webhook with a relative URL to the server's own routes.
	DeliverLocal func(ctx context.Context, path string, body []byte) error
	// WebhookSecret signs webhooks (HMAC-SHA256 over timestamp.body); "" sends them unsigned.
	WebhookSecret string
	// WebhookAllow, when set, is asked about each webhook's URL when its run or
	// cron is made, and about each redirect; an error refuses it, with its text.
	// Paths of the server's own routes are not asked about. Default: all are allowed.
	WebhookAllow func(url string) error
	// WebhookCheck is WebhookAllow for the URLs that clients name alone: Notify isn't asked about. Default: all are allowed.
	WebhookCheck func(url string) error
	// HTTPClient sends announcements, and webhooks. Default: a client with a timeout of 10 s.
	HTTPClient *http.Client
	// WebhookClient sends the webhooks that clients name. It refuses an address for good by an error that is
	// ErrWebhookRefused. Default: HTTPClient.
	WebhookClient *http.Client
	// MayDecide, when set, is asked about every answer to a question that has a review, whatever API it comes
	// by, and about claims and longer deadlines; an error refuses it, with its text. It isn't asked about
	// deadlines. Default: all may.
	MayDecide func(ctx context.Context, a Actor, r Review) error
	// Notify lists where each change of a review is announced: webhooks, by their URL, and, with a Mailer,
	// people, by mailto:name@example.org. Default: nowhere.
	Notify []string
	// PublicURL is where people reach the server; links in announcements begin with it. Default: no links.
	PublicURL string
	// Mailer sends the announcements to people. Default: nil, mailto: addresses of Notify are refused.
	Mailer Mailer
	// ContextKeys seal Invocation.SealedContext. Default: nil, which refuses it.
	ContextKeys *Keyring
	// CacheBytes bounds the decoded checkpoints and lists kept in memory. Default: 64 MiB.
	CacheBytes int
}

// GraphDefault is the configuration of a graph's system assistant.
type GraphDefault struct {
	Config  json.RawMessage `json:"config,omitempty"`
	Context json.RawMessage `json:"context,omitempty"`
}

// The defaults of Options.
const (
	DefaultWorkers      = 64
	DefaultLease        = 10 * time.Second
	DefaultMaxAttempts  = 3
	DefaultLogRetention = 24 * time.Hour
	DefaultSweepEvery   = time.Minute
	DefaultCacheBytes   = 64 << 20
)

// Service is the API of the durable truth: everything that servers and CLIs ask for.
type Service struct {
	opts    Options
	store   Store
	publish Publisher
	log     *slog.Logger
	clock   agent.Clock
	// registry is the agents; ReplaceAgents puts others there.
	registry atomic.Pointer[registry]

	cache   *cache
	waiters *waiters
	pool    *pool
	loops   loops
	outbox  *outbox
	crons   *crons
	// deadlines watches those of reviews.
	deadlines *deadlines
	viewers   viewers      // of reviews, unless the store keeps them
	shared    Subscription // nil unless other processes work on the store, too
	// admission guards resumes of one thread against each other within this process.
	admission keyedMutex
}

// NewService returns a service; Start brings up its workers. It fails on a
// missing store, on two agents of one name and on a bad option.
func NewService(o Options) (*Service, error) {
	if o.Store == nil {
		return nil, errors.New("thread: Options.Store is missing")
	}
	switch o.OnInputWhileInterrupted {
	case "", "restart", "error":
	default:
		return nil, fmt.Errorf("thread: OnInputWhileInterrupted is %q, want restart or error", o.OnInputWhileInterrupted)
	}
	if err := checkNotify(o); err != nil {
		return nil, err
	}
	o = withDefaults(o)
	s := &Service{
		opts: o, store: o.Store, publish: o.Publisher, log: o.Logger, clock: o.Clock,
		cache: newCache(o.CacheBytes), waiters: newWaiters(),
	}
	agents, err := newRegistry(o.Agents)
	if err != nil {
		return nil, err
	}
	s.registry.Store(agents)
	if store, ok := o.Store.(Timed); ok {
		s.clock = &storeClock{Clock: o.Clock, store: store}
	}
	s.pool = newPool(s)
	s.outbox = newOutbox(s)
	s.crons = newCrons(s)
	s.deadlines = newDeadlines(s)
	s.subscribe()
	return s, nil
}

func withDefaults(o Options) Options {
	if o.Publisher == nil {
		o.Publisher = silent{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	if o.WorkerID == "" {
		o.WorkerID = newID()
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = DefaultMaxAttempts
	}
	if o.LogRetention <= 0 {
		o.LogRetention = DefaultLogRetention
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Timeout: webhookTimeout}
	}
	if o.WebhookClient == nil {
		o.WebhookClient = o.HTTPClient
	}
	if o.WebhookAllow != nil {
		o.HTTPClient, o.WebhookClient = guarded(*o.HTTPClient, o.WebhookAllow), guarded(*o.WebhookClient, o.WebhookAllow)
	}
	return o
}

// Store gives read access to what is stored (log readers).
func (s *Service) Store() Store { return s.store }

// Graphs lists the registered graph ids in their order of registration.
func (s *Service) Graphs() []string { return slices.Clone(s.registry.Load().graphs) }

// Agent is the registered agent of that name; false when there is none.
func (s *Service) Agent(name string) (agent.Agent, bool) {
	a, ok := s.registry.Load().agents[name]
	return a, ok
}

// silent is the Publisher of a service that nobody listens to.
type silent struct{}

func (silent) Publish(string, []Entry) {}
func (silent) Stored(string, int64)    {}
func (silent) RunEnded(string, string) {}
