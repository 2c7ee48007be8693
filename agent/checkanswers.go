package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent/exactjson"
)

// checkAnswers finds out which questions a command answers and checks the answers.
func checkAnswers(req ResumeRequest) ([]Answer, error) {
	cmd := req.Command
	nothingElse := len(cmd.Update) == 0 && len(cmd.Goto) == 0 && !cmd.Parent
	if !cmd.HasResume || isNull(cmd.Resume) {
		if nothingElse {
			return nil, &ResumeError{Code: EmptyCommand, Pending: req.Pending, Message: "Received empty Command input: it has no resume, update or goto"}
		}
		return nil, nil
	}
	if at, twice := exactjson.Repeated(cmd.Resume); twice && !req.Trusted {
		return nil, repeatedIn(cmd.Resume, at, req.Pending)
	}
	given, order, err := addressed(cmd.Resume, req.Pending)
	if err != nil {
		return nil, err
	}
	var issues []Issue
	var answers []Answer
	now := req.Clock.Now()
	for _, id := range order {
		q := req.Pending[slices.IndexFunc(req.Pending, func(q InterruptInfo) bool { return q.ID == id })]
		if !req.Trusted {
			issues = append(issues, answerIssues(q, given[id])...)
		}
		answers = append(answers, Answer{InterruptID: id, Value: given[id], At: now})
	}
	if issues != nil {
		ids := []string{}
		for _, issue := range issues {
			if !slices.Contains(ids, issue.InterruptID) {
				ids = append(ids, issue.InterruptID)
			}
		}
		return nil, &ResumeError{
			Code: InvalidAnswer, IDs: ids, Pending: req.Pending, Issues: issues,
			Message: "The answer does not satisfy the response schema of its interrupt: " + inWords(issues),
		}
	}
	return answers, nil
}

// RepeatedKey refuses an answer in which a key stands twice in one object, at a JSON pointer: a reviewer's tool may have
// shown one of the values, and the log, or the agent, have taken the other.
func RepeatedKey(at string, pending []InterruptInfo) *ResumeError {
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(at[strings.LastIndexByte(at, '/')+1:])
	text := fmt.Sprintf("the key %q stands twice in one object", key)
	return &ResumeError{
		Code: InvalidAnswer, Pending: pending, Issues: []Issue{{Path: at, Message: text}},
		Message: fmt.Sprintf("The answer can be read in two ways: at %s %s", at, text),
	}
}

// repeatedIn is RepeatedKey of a resume, with the question that the answer is for, as far as there is one.
func repeatedIn(resume json.RawMessage, at string, pending []InterruptInfo) *ResumeError {
	e := RepeatedKey(at, pending)
	id := ""
	if _, byID := resumeMap(resume); byID {
		id, at, _ = strings.Cut(strings.TrimPrefix(at, "/"), "/")
		if at != "" {
			at = "/" + at
		}
	} else if len(pending) == 1 {
		id = pending[0].ID
	}
	if id != "" {
		e.IDs, e.Issues[0].InterruptID, e.Issues[0].Path = []string{id}, id, at
	}
	return e
}

// mostFaults bounds those that a message names; all are in Issues.
const mostFaults = 5

// inWords says what is wrong, for clients that show a message only.
func inWords(issues []Issue) string {
	var texts []string
	for _, issue := range issues[:min(len(issues), mostFaults)] {
		text := issue.Message
		if path := strings.TrimPrefix(issue.Path, "/"); path != "" {
			text = path + ": " + text
		}
		texts = append(texts, text)
	}
	if more := len(issues) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// addressed returns the answers by interrupt id, and the ids in the order of pending.
func addressed(resume json.RawMessage, pending []InterruptInfo) (map[string]json.RawMessage, []string, error) {
	open := make([]string, len(pending))
	for i, q := range pending {
		open[i] = q.ID
	}
	if given, ok := resumeMap(resume); ok {
		var unknown, order []string
		for _, id := range open {
			if _, ok := given[id]; ok {
				order = append(order, id)
			}
		}
		for id := range given {
			if !slices.Contains(open, id) {
				unknown = append(unknown, id)
			}
		}
		if unknown != nil {
			slices.Sort(unknown)
			return nil, nil, &ResumeError{
				Code: InterruptNotPending, IDs: unknown, Pending: pending,
				Message: "No such interrupt is pending: " + strings.Join(unknown, ", "),
			}
		}
		return given, order, nil
	}
	switch len(open) {
	case 0:
		return nil, nil, &ResumeError{Code: NothingPending, Message: "No interrupt is pending on this thread"}
	case 1:
		return map[string]json.RawMessage{open[0]: resume}, open, nil
	}
	return nil, nil, &ResumeError{
		Code: AmbiguousResume, IDs: open, Pending: pending,
		Message: "Several interrupts are pending; resume with an object of answers by interrupt id",
	}
}

// resumeMap reads a resume whose keys are all interrupt ids (spec/rest-api.md
// 3.7); any other value is a plain answer.
func resumeMap(resume json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(resume, &m) != nil || len(m) == 0 {
		return nil, false
	}
	for key := range m {
		if !isInterruptID(key) {
			return nil, false
		}
	}
	return m, true
}

func isInterruptID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}
