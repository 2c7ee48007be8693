package server

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-dev/parley/server/outgoing"
	"github.com/parley-dev/parley/thread"
)

// webhookTimeout is how long the receiver of a webhook may take.
const webhookTimeout = 10 * time.Second

// guardWebhooks keeps the webhooks that clients name away from addresses inside.
func (s *Server) guardWebhooks(o *thread.Options) error {
	guard, err := outgoing.New(outgoing.Options{Allow: s.opts.WebhookInside, Open: s.ownMachine})
	if err != nil {
		return fmt.Errorf("server: --webhook-allow (Options.WebhookInside): %w", err)
	}
	o.WebhookCheck, o.WebhookClient = guard.Check, guard.Client(webhookTimeout)
	return nil
}

// ownMachine reports whether all callers are on this machine, where they reach its addresses without the server, too.
func (s *Server) ownMachine(ctx context.Context) (bool, error) {
	if s.identity == nil || s.identity.insecure {
		return false, nil
	}
	return s.identity.anonymous(ctx)
}

// webhookFlags say where webhooks may go.
type webhookFlags struct {
	WebhookAllow []string `help:"Host, or address range, inside that webhooks of runs may go to: NAME, *.NAME, ADDRESS, each with :PORT or for all, or CIDR. Default: none; without keys and tokens, all." env:"PARLEY_WEBHOOK_ALLOW" placeholder:"HOST|CIDR" group:"Webhooks (docs/operations.md)"`
}

// apply takes the flags over.
func (f webhookFlags) apply(o *Options) {
	if len(f.WebhookAllow) > 0 {
		o.WebhookInside = f.WebhookAllow
	}
}
