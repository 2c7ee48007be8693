package thread

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// Bounds of Invocation.SealedContext.
const (
	MostSealed    = 32
	LongestSealed = 8 << 10 // of one value, in bytes
)

// SealedContextField is what Invocation.SealedContext is called in requests.
const SealedContextField = "sealed_context"

// sealedName is what a value can be called: as a header is.
var sealedName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// checkSealed refuses values that can't be sealed. Errors: *InvalidInputError, which never quotes a value.
func (s *Service) checkSealed(values map[string]string) error {
	refuse := func(name, message string) error {
		path := []string{SealedContextField}
		if name != "" {
			path = append(path, name)
		}
		return &InvalidInputError{Path: path, Message: message}
	}
	switch {
	case len(values) == 0:
		return nil
	case s.opts.ContextKeys == nil:
		return refuse("", "this server has no key to seal values with: it was started without --context-key-file and PARLEY_CONTEXT_KEY")
	case len(values) > MostSealed:
		return refuse("", fmt.Sprintf("there can be at most %d values", MostSealed))
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !sealedName.MatchString(name):
			return refuse("", "the name of a value has 1 to 128 letters, digits, _, - and .")
		case seen[strings.ToLower(name)]:
			return refuse(name, "two values have this name, without regard to case")
		case len(values[name]) > LongestSealed:
			return refuse(name, fmt.Sprintf("a value has at most %d bytes", LongestSealed))
		}
		seen[strings.ToLower(name)] = true
	}
	return nil
}

// sealedFor is what a run's sealed values are good for: its execution alone.
func sealedFor(run Run) []byte { return []byte(run.ThreadID + "\n" + run.ExecutionID) }

// seal seals the values that a run's request brought.
func (s *Service) seal(run Run, values map[string]string) []byte {
	if len(values) == 0 {
		return nil
	}
	return s.opts.ContextKeys.seal(encodeJSON(values), sealedFor(run))
}

// unsealed are the values that a run's execution began with. Errors: *SealedContextError.
func (s *Service) unsealed(run Run) (values map[string]string, err error) {
	if len(run.Kwargs.SealedContext) == 0 {
		return nil, nil
	}
	plain, err := s.opts.ContextKeys.open(run.Kwargs.SealedContext, sealedFor(run))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(plain, &values) != nil {
		return nil, &SealedContextError{Reason: "it has another form"}
	}
	return values, nil
}

// handed are what agent.Header gives a run: the request's own headers, then the execution's sealed values.
func handed(sealed, headers map[string]string) map[string]string {
	all := make(map[string]string, len(sealed)+len(headers))
	for name, value := range sealed {
		all[strings.ToLower(name)] = value
	}
	for name, value := range headers {
		all[strings.ToLower(name)] = value
	}
	return all
}

// unreadable is the end of a run whose sealed values can't be opened here.
func unreadable(err error) agent.Outcome {
	return agent.Outcome{Status: string(RunError), Err: &agent.ErrorInfo{Name: "SealedContextError", Message: err.Error()}}
}
