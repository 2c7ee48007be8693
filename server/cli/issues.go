package cli

import (
	"encoding/json"
	"fmt"
	"strings"
)

// issuesIn are the faults that the classic API finds in a request: {"error": {"issues": [{"message", "path"}]}}.
func issuesIn(body []byte) (texts []string) {
	var said struct {
		Error struct {
			Issues []struct {
				Message string `json:"message"`
				Path    []any  `json:"path"`
			} `json:"issues"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // error is a number elsewhere
	for _, issue := range said.Error.Issues {
		var path []string
		for _, part := range issue.Path {
			path = append(path, fmt.Sprint(part))
		}
		texts = append(texts, strings.TrimPrefix(strings.Join(path, ".")+": "+issue.Message, ": "))
	}
	return texts
}
