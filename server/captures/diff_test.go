package captures_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// diff lists where two JSON values differ.
func diff(path string, theirs, ours any) []string {
	var out []string
	switch theirs := theirs.(type) {
	case map[string]any:
		ours, ok := ours.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(theirs)) {
			if mine, ok := ours[key]; ok {
				out = append(out, diff(path+"."+key, theirs[key], mine)...)
			} else {
				out = append(out, fmt.Sprintf("%s.%s: missing here, recorded %v", path, key, text(theirs[key])))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(ours)) {
			if _, ok := theirs[key]; !ok {
				out = append(out, fmt.Sprintf("%s.%s: only here, %v", path, key, text(ours[key])))
			}
		}
		return out
	case []any:
		ours, ok := ours.([]any)
		if !ok || len(ours) != len(theirs) {
			break
		}
		for i := range theirs {
			out = append(out, diff(fmt.Sprintf("%s[%d]", path, i), theirs[i], ours[i])...)
		}
		return out
	}
	if !reflect.DeepEqual(theirs, ours) {
		out = append(out, fmt.Sprintf("%s: recorded %s, here %s", path, text(theirs), text(ours)))
	}
	return out
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
