package agent

import (
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	textmessage "golang.org/x/text/message"
)

// EqualKeyword is a keyword that Checker adds to JSON Schema: a list of properties which, as far as an object has them,
// have to be equal. It is for things that have two names: a reader who knows one of them must not see something
// else than a reader who knows the other. Validators that don't know it skip it.
const EqualKeyword = "x-parley-equal"

// equalVocabulary makes EqualKeyword known.
func equalVocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{URL: "urn:parley:equal", Compile: func(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
		list, ok := schema[EqualKeyword].([]any)
		if !ok {
			return nil, nil
		}
		var e equalProperties
		for _, v := range list {
			if name, ok := v.(string); ok {
				e = append(e, name)
			}
		}
		return e, nil
	}}
}

// equalProperties are those that have to be equal.
type equalProperties []string

// Validate implements jsonschema.SchemaExt.
func (e equalProperties) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	present := slices.DeleteFunc(slices.Clone(e), func(name string) bool { _, ok := object[name]; return !ok })
	for _, name := range present {
		if !reflect.DeepEqual(object[name], object[present[0]]) {
			ctx.AddError(unequalFault(present))
			return
		}
	}
}

// unequalFault says that properties differ.
type unequalFault []string

// KeywordPath implements jsonschema.ErrorKind.
func (unequalFault) KeywordPath() []string { return []string{EqualKeyword} }

// LocalizedString implements jsonschema.ErrorKind.
func (f unequalFault) LocalizedString(*textmessage.Printer) string {
	return strings.Join(f, " and ") + " are the same by two names, but differ: give one of them"
}
