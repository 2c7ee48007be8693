package manifest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/providers"
)

// providerNames are the providers that models can be of.
func providerNames() []string { return providers.New().Names() }

// modelOf makes the model that an agent names, at a pointer of the file; nil, and a fault, if that can't be.
func (b *builder) modelOf(at, name string) model.Model {
	if m, ok := b.models[name]; ok {
		return m // nil where it couldn't be made: its fault is known
	}
	if !slices.Contains(b.m.doc.names("models"), name) {
		return b.parse(at, name, name, providers.Options{})
	}
	where := pointer("/models", name)
	said := b.m.Models[name]
	if len(said.Script) > 0 {
		m := scriptedModel(name, said.Script, b.toolName)
		b.models[name] = m
		return m
	}
	return b.parse(where, name, said.Model, b.modelOptions(said))
}

func (b *builder) modelOptions(m Model) providers.Options {
	o := providers.Options{
		BaseURL: b.expand(m.BaseURL), KeyEnv: m.APIKeyEnv, Effort: m.Effort, Temperature: m.Temperature,
		MaxTokens: m.MaxTokens, Timeout: time.Duration(m.Timeout), Retries: m.Retries,
	}
	if m.APIKeyFile != "" {
		o.KeyFile = b.m.inside(m.APIKeyFile)
	}
	if len(m.Headers) > 0 {
		o.Headers = model.Headers(b.expandAll(m.Headers))
	}
	return o
}

func (b *builder) parse(at, name, full string, o providers.Options) model.Model {
	getenv := func(key string) string {
		v, _ := b.m.lookup(key)
		return v
	}
	m, err := providers.Parse(full, providers.Env{Options: o, Getenv: getenv, LateKeys: b.o.LateKeys})
	switch {
	case errors.Is(err, model.ErrNoKey):
		b.m.doc.at(at, "the model "+full+" has no key: "+behind(err.Error(), model.ErrNoKey.Error()+": "))
	case err != nil:
		b.m.doc.at(at, firstLine(err.Error()))
	}
	b.models[name] = m
	return m
}

// behind is what stands behind a part of a text; the text, if that isn't there.
func behind(text, part string) string {
	if _, rest, ok := strings.Cut(text, part); ok {
		return rest
	}
	return text
}

// missingKey says which key a model lacks; "" if none.
func (b *builder) missingKey(at, name string) string {
	strict := &builder{m: b.m, models: map[string]model.Model{}}
	faults := len(b.m.doc.faults)
	strict.modelOf(at, name)
	added := b.m.doc.faults[faults:]
	b.m.doc.faults = b.m.doc.faults[:faults:faults]
	if len(added) > 0 {
		return added[0].Message
	}
	return ""
}

// expand fills in variables, which the check has found to be set.
func (b *builder) expand(text string) string {
	full, _ := expand(text, b.m.lookup)
	return full
}

func (b *builder) expandAll(texts map[string]string) map[string]string {
	all := make(map[string]string, len(texts))
	for k, v := range texts {
		all[k] = b.expand(v)
	}
	return all
}
