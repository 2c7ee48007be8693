package agent

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// ExtraState adds the fields of a struct, given by any value of it, to the state keys of a graph,
// with the tags that a state type may have (Builder): for parts of a graph that bring keys of
// their own. A key that the graph has already stays as it is. Nodes read such keys by
// NodeOf, BranchOf or StateValue.
func ExtraState(fields any) GraphOption {
	extra := reflect.TypeOf(fields)
	if extra == nil || extra.Kind() != reflect.Struct {
		panic(fmt.Sprintf("agent: extra state of type %v is not a struct", extra))
	}
	return func(g *Graph) {
		if g.stateType.Kind() == reflect.Struct {
			g.stateType = joined(g.stateType, extra)
		}
	}
}

// joined is a struct type with the state fields of both.
func joined(first, second reflect.Type) reflect.Type {
	var fields []reflect.StructField
	var keys []string
	for _, t := range []reflect.Type{first, second} {
		for _, f := range stateFields(t) {
			if t == second && slices.Contains(keys, f.key) {
				continue
			}
			keys = append(keys, f.key)
			fields = append(fields, reflect.StructField{
				Name: "F" + strconv.Itoa(len(fields)), Type: f.typ, Tag: t.FieldByIndex(f.index).Tag,
			})
		}
	}
	return reflect.StructOf(fields)
}
