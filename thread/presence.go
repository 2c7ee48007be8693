package thread

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// PresenceTTL is how long somebody is taken to look at a review who says no more of it.
const PresenceTTL = 15 * time.Second

// Bounds of what is kept of who looks at what.
const (
	mostViewers = 100    // of one thing
	mostViewed  = 10_000 // things, in a process of its own
)

// Presence is implemented by stores that several processes work on at once: who looks at what, for a short while. It
// is no part of any transition, and lost with the store's memory.
type Presence interface {
	// Look notes that who looks at a thing for ttl from now on, and lists everybody who does, at most limit of them. A ttl of
	// 0 notes that who no longer does.
	Look(ctx context.Context, thing, who string, now time.Time, ttl time.Duration, limit int) ([]string, error)
}

// Viewer is somebody who looks at a review.
type Viewer struct {
	// Principal is who it is; "" for somebody who need not say so.
	Principal string `json:"p,omitempty"`
	// Tab tells those without a name apart.
	Tab string `json:"t,omitempty"`
}

// LookAt notes that somebody looks at a review, for PresenceTTL, and lists the others who do. Not everybody is sure to be in
// it: it is for people to know of each other, and decides nothing.
func (s *Service) LookAt(ctx context.Context, r Review, v Viewer) ([]Viewer, error) {
	return s.look(ctx, r, v, PresenceTTL)
}

// LookAway notes that somebody no longer looks at a review.
func (s *Service) LookAway(ctx context.Context, r Review, v Viewer) error {
	_, err := s.look(ctx, r, v, 0)
	return err
}

func (s *Service) look(ctx context.Context, r Review, v Viewer, ttl time.Duration) ([]Viewer, error) {
	if v.Principal != "" {
		v.Tab = "" // one person, in however many tabs
	}
	who, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	keeper, ok := s.store.(Presence)
	if !ok {
		keeper = &s.viewers
	}
	list, err := keeper.Look(ctx, r.ID, string(who), s.clock.Now(), ttl, mostViewers)
	if err != nil {
		return nil, err
	}
	var others []Viewer
	for _, text := range list {
		var o Viewer
		if json.Unmarshal([]byte(text), &o) == nil && o != v {
			others = append(others, o)
		}
	}
	slices.SortFunc(others, func(a, b Viewer) int { return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Tab, b.Tab)) })
	return others, nil
}

// viewers is the Presence of a process that is alone on its store.
type viewers struct {
	mu   sync.Mutex
	seen map[string]map[string]time.Time // until when, by thing and who
}

// Look implements Presence.
func (p *viewers) Look(_ context.Context, thing, who string, now time.Time, ttl time.Duration, limit int) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]map[string]time.Time{}
	}
	if len(p.seen) >= mostViewed {
		for other, all := range p.seen {
			prune(all, now)
			if len(all) == 0 {
				delete(p.seen, other)
			}
		}
	}
	all := p.seen[thing]
	prune(all, now)
	_, known := all[who]
	switch {
	case ttl <= 0:
		delete(all, who)
	case known, all == nil && len(p.seen) < mostViewed, all != nil && len(all) < limit:
		if all == nil {
			all = map[string]time.Time{}
			p.seen[thing] = all
		}
		all[who] = now.Add(ttl)
	}
	if len(all) == 0 {
		delete(p.seen, thing)
	}
	list := make([]string, 0, len(all))
	for other := range all {
		list = append(list, other)
	}
	return list, nil
}

// prune forgets those whose time is over.
func prune(all map[string]time.Time, now time.Time) {
	for who, until := range all {
		if !now.Before(until) {
			delete(all, who)
		}
	}
}
