package tool

import (
	"iter"
	"reflect"
	"strings"
)

var errorType = reflect.TypeFor[error]()

// sequence is a result that is an iter.Seq, or an iter.Seq2 of values and errors.
func sequence(result any) (iter.Seq2[any, error], bool) {
	v := reflect.ValueOf(result)
	if v.Kind() != reflect.Func || v.IsNil() {
		return nil, false
	}
	switch t := v.Type(); {
	case t.CanSeq():
		return func(yield func(any, error) bool) {
			for e := range v.Seq() {
				if !yield(e.Interface(), nil) {
					return
				}
			}
		}, true
	case t.CanSeq2() && t.In(0).In(1) == errorType:
		return func(yield func(any, error) bool) {
			for e, err := range v.Seq2() {
				failure, _ := err.Interface().(error)
				if !yield(e.Interface(), failure) {
					return
				}
			}
		}, true
	}
	return nil, false
}

// gather shows each value and returns all: texts as one, else the list.
func gather(values iter.Seq2[any, error], progress func(any)) (any, error) {
	all := []any{}
	texts := true
	for v, err := range values {
		if err != nil {
			return nil, err
		}
		progress(v)
		_, text := v.(string)
		texts = texts && text
		all = append(all, v)
	}
	if !texts {
		return all, nil
	}
	var b strings.Builder
	for _, v := range all {
		b.WriteString(v.(string))
	}
	return b.String(), nil
}
