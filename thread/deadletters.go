package thread

import (
	"context"
	"errors"
	"strings"
)

// mostDead bounds how many dead letters are looked through.
const mostDead = 1000

// DeadLetters lists a project's deliveries that are tried no more, the last that died first, at most limit of
// the newest mostDead.
func (s *Service) DeadLetters(ctx context.Context, project string, limit int) ([]Delivery, error) {
	all, err := s.store.DeadDeliveries(ctx, mostDead)
	if err != nil {
		return nil, err
	}
	var list []Delivery
	for _, d := range all {
		if len(list) == limit {
			break
		}
		mine, err := s.delivers(ctx, d, project)
		if err != nil {
			return nil, err
		}
		if mine {
			list = append(list, d)
		}
	}
	return list, nil
}

// RetryDeadLetter has a project's dead letter sent once more, at once. Errors: *NotFoundError of kind "delivery".
func (s *Service) RetryDeadLetter(ctx context.Context, project, id string) (Delivery, error) {
	dead, err := s.DeadLetters(ctx, project, mostDead)
	if err != nil {
		return Delivery{}, err
	}
	for _, d := range dead {
		if d.ID != id {
			continue
		}
		if err := s.store.RetryDelivery(ctx, d.ID, s.Now(), d.LastError); err != nil {
			return Delivery{}, notFound(err, "delivery", id)
		}
		s.outbox.wake()
		d.Dead, d.Due, d.Attempt = false, s.Now(), d.Attempt+1
		return d, nil
	}
	return Delivery{}, &NotFoundError{Kind: "delivery", ID: id}
}

// delivers reports whether a delivery is about something of the project.
func (s *Service) delivers(ctx context.Context, d Delivery, project string) (bool, error) {
	t, err := s.store.GetThread(ctx, d.ThreadID)
	if errors.Is(err, ErrNotFound) {
		return project == DefaultProject, nil // nobody else could see it any more
	}
	if err != nil {
		return false, err
	}
	own, _ := ScopeOf(t.Metadata)
	return own == project, nil
}

// Shown is where a delivery goes, without what only its receiver should know: user, password and query.
func (d Delivery) Shown() string {
	if strings.HasPrefix(d.URL, mailto) {
		return d.URL
	}
	address, _, _ := strings.Cut(d.URL, "?")
	address, _, _ = strings.Cut(address, "#")
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, path, slash := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if slash {
		host += "/" + path
	}
	return scheme + "://" + host
}
