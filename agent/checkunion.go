package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// fault is one fault of a value: a leaf of the tree that validation gives.
type fault struct {
	at   []string
	kind jsonschema.ErrorKind
	// text replaces the kind's, if set.
	text string
}

// faults flattens the tree. Of a union (oneOf, anyOf) only the faults of the branch count that the value
// was meant for, as far as that can be told.
func faults(e *jsonschema.ValidationError) []fault {
	if len(e.Causes) == 0 {
		return []fault{{at: e.InstanceLocation, kind: e.ErrorKind}}
	}
	branches := make([][]fault, len(e.Causes))
	for i, cause := range e.Causes {
		branches[i] = faults(cause)
	}
	switch e.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		return meant(e.InstanceLocation, branches)
	}
	return slices.Concat(branches...)
}

// meant picks the faults of the branches of a union at a location that the value can be meant for: those
// whose discriminators (constants of a property, the value's type) fit.
func meant(at []string, branches [][]fault) []fault {
	var fit [][]fault
	for _, b := range branches {
		if !slices.ContainsFunc(b, func(f fault) bool { return f.discriminates(at) }) {
			fit = append(fit, b)
		}
	}
	if len(fit) > 0 {
		fit = keyed(at, fit)
		if missing := missingEverywhere(at, fit); missing != nil {
			return []fault{*missing}
		}
		return slices.Concat(fit...)
	}
	if f := allWanted(branches, at); f != nil {
		return []fault{*f}
	}
	return slices.Concat(branches...)
}

// keyed picks the branches whose properties fit, if there are any.
func keyed(at []string, branches [][]fault) [][]fault {
	var fit [][]fault
	for _, b := range branches {
		if !slices.ContainsFunc(b, func(f fault) bool {
			switch f.kind.(type) {
			case *kind.Required, *kind.AdditionalProperties:
				return len(f.at) == len(at)
			}
			return false
		}) {
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return branches
	}
	return fit
}

// discriminates tells whether the fault says that a branch isn't the one meant.
func (f fault) discriminates(at []string) bool {
	switch f.kind.(type) {
	case *kind.Const, *kind.Enum:
		return len(f.at) == len(at)+1
	case *kind.Type:
		return len(f.at) == len(at)
	}
	return false
}

// missingEverywhere is the fault that a property which all branches require isn't there; nil if there is none.
func missingEverywhere(at []string, branches [][]fault) *fault {
	if len(branches) < 2 {
		return nil
	}
	var common []string
	for i, b := range branches {
		var missing []string
		for _, f := range b {
			if required, ok := f.kind.(*kind.Required); ok && len(f.at) == len(at) {
				missing = append(missing, required.Missing...)
			}
		}
		if i == 0 {
			common = missing
		} else {
			common = slices.DeleteFunc(slices.Clone(common), func(p string) bool { return !slices.Contains(missing, p) })
		}
	}
	if len(common) == 0 {
		return nil
	}
	return &fault{at: at, kind: &kind.Required{Missing: common}}
}

// allWanted says what the branches' discriminators want, if all speak of one property; nil otherwise.
func allWanted(branches [][]fault, at []string) *fault {
	var where []string
	var want []string
	for i, b := range branches {
		j := slices.IndexFunc(b, func(f fault) bool { return f.discriminates(at) })
		if i > 0 && !slices.Equal(where, b[j].at) {
			return nil
		}
		where = b[j].at
		switch k := b[j].kind.(type) {
		case *kind.Const:
			want = append(want, fmt.Sprintf("'%v'", k.Want))
		case *kind.Enum:
			for _, w := range k.Want {
				want = append(want, fmt.Sprintf("'%v'", w))
			}
		default:
			return nil
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if len(want) == 1 {
		return &fault{at: where, text: "value must be " + want[0]}
	}
	return &fault{at: where, text: "value must be one of " + strings.Join(want, ", ")}
}
