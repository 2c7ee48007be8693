package agent

import (
	"encoding/json"
	"fmt"
)

// Once is Step for work that may itself ask a person, run steps and invoke graphs: fn gets a
// Context whose steps are journaled beside it. It is journaled when fn has returned an update;
// from then on that update is returned, and recorded is true. Until then, and after an error, another
// pass calls fn again, which finds its own steps done. It is known by its name as a Step is.
func Once(ctx Context, name string, fn func(ctx Context) (Update, error)) (update Update, recorded bool, err error) {
	raw, recorded, err := once(ctx, name, func(ctx Context) (json.RawMessage, error) {
		var err error
		if update, err = fn(ctx); err != nil {
			return nil, err
		}
		raw, err := encodeUpdate(update)
		if err != nil {
			return nil, fmt.Errorf("agent: encode the update of %q: %w", name, err)
		}
		return raw, nil
	})
	if err != nil || !recorded {
		return update, false, err
	}
	if update, err = decodeUpdate(raw); err != nil {
		err = fmt.Errorf("agent: recorded update of %q: %w", name, err)
	}
	return update, true, err
}

// OnceOf is Once for work whose result is a value with a JSON form.
func OnceOf[T any](ctx Context, name string, fn func(ctx Context) (T, error)) (T, error) {
	var out T
	raw, recorded, err := once(ctx, name, func(ctx Context) (json.RawMessage, error) {
		var err error
		if out, err = fn(ctx); err != nil {
			return nil, err
		}
		return encode(out)
	})
	if err != nil || !recorded {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("agent: recorded result of %q: %w", name, err)
	}
	return out, nil
}

func once(ctx Context, name string, fn func(ctx Context) (json.RawMessage, error)) (raw json.RawMessage, recorded bool, err error) {
	s := ctx.journal()
	key, rec, release, err := s.enter("once:" + name)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if rec.Status == StepDone {
		return rec.Result, true, nil
	}
	raw, err = fn(ctx)
	switch {
	case err == nil && Bubbles(ctx, nil):
		return nil, false, ErrSuspended
	case err != nil:
		return nil, false, err
	}
	rec.Status, rec.Result, rec.Error = StepDone, raw, nil
	rec.Attempt++
	return raw, false, s.record(key, rec)
}

// Claim tells whether the task is the first one of its superstep to claim key; it
// keeps the claim in its later attempts. So tasks that were sent for the same thing don't all do it.
func Claim(ctx Context, key string) bool {
	c := ctx.task()
	l := c.loop
	if l == nil {
		return true
	}
	l.claiming.Lock()
	defer l.claiming.Unlock()
	if l.claims == nil || l.claimsOf != l.cp.ID {
		l.claims, l.claimsOf = map[string]string{}, l.cp.ID
	}
	if _, ok := l.claims[key]; !ok {
		l.claims[key] = c.planned.id
	}
	return l.claims[key] == c.planned.id
}

// updateDoc is an update as the journal keeps it; one field is set, none for nil.
type updateDoc struct {
	Values  *map[string]json.RawMessage `json:"values,omitempty"`
	Command *Command                    `json:"command,omitempty"`
	Updates *[]updateDoc                `json:"updates,omitempty"`
	Seal    *sealDoc                    `json:"seal,omitempty"`
}

type sealDoc struct {
	Key     string                     `json:"key"`
	Entries map[string]json.RawMessage `json:"entries"`
}

func encodeUpdate(u Update) (json.RawMessage, error) {
	doc, err := docOf(u)
	if err != nil {
		return nil, err
	}
	return encode(doc)
}

func docOf(u Update) (updateDoc, error) {
	switch u := u.(type) {
	case nil:
		return updateDoc{}, nil
	case Values:
		values, err := encodeAll(u)
		return updateDoc{Values: &values}, err
	case *Command:
		return updateDoc{Command: u}, nil
	case sealedUpdate:
		entries, err := encodeAll(u.entries)
		return updateDoc{Seal: &sealDoc{Key: u.key, Entries: entries}}, err
	case Updates:
		docs := make([]updateDoc, len(u))
		for i, one := range u {
			var err error
			if docs[i], err = docOf(one); err != nil {
				return updateDoc{}, err
			}
		}
		return updateDoc{Updates: &docs}, nil
	}
	return updateDoc{}, fmt.Errorf("agent: an update of type %T can't be recorded", u)
}

func encodeAll(values map[string]any) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(values))
	for k, v := range values {
		raw, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("value of %q: %w", k, err)
		}
		out[k] = raw
	}
	return out, nil
}

func decodeUpdate(raw json.RawMessage) (Update, error) {
	var doc updateDoc
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	return doc.update(), nil
}

func (d updateDoc) update() Update {
	switch {
	case d.Values != nil:
		return Values(anyValues(*d.Values))
	case d.Command != nil:
		return d.Command
	case d.Seal != nil:
		return sealedUpdate{key: d.Seal.Key, entries: anyValues(d.Seal.Entries)}
	case d.Updates != nil:
		all := make(Updates, len(*d.Updates))
		for i, one := range *d.Updates {
			all[i] = one.update()
		}
		return all
	}
	return nil
}

func anyValues(raws map[string]json.RawMessage) map[string]any {
	out := make(map[string]any, len(raws))
	for k, v := range raws {
		out[k] = v
	}
	return out
}
