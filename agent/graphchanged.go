package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// GraphChangedError is the name of the error of a run that goes on with a nested graph in which the
// node that waits isn't there any more.
const GraphChangedError = "GraphChangedError"

// A thread may be suspended when its agent is changed. Tasks are known by their nodes:
// while these are there, the new graph goes on with the answer. Without its node a task isn't
// planned, and the answer would be lost without a word.

// lostTasks are the records of tasks that wait for an answer, or have it, at nodes that the graph doesn't have.
func (g *Graph) lostTasks(records []TaskRecord) []TaskRecord {
	var lost []TaskRecord
	for _, rec := range records {
		if rec.TaskID != NullTask && rec.Status != TaskDone && len(rec.Interrupts) > 0 && g.byName[rec.Name] == nil {
			lost = append(lost, rec)
		}
	}
	return lost
}

// checkAskers refuses answers to the questions of nodes that aren't there any more; the questions stay open.
func (g *Graph) checkAskers(req ResumeRequest, answers []Answer) error {
	if req.Head == nil || len(answers) == 0 {
		return nil
	}
	var ids, names []string
	for _, rec := range g.lostTasks(req.Head.Tasks) {
		for _, q := range rec.Interrupts {
			if slices.ContainsFunc(answers, func(a Answer) bool { return a.InterruptID == q.ID }) {
				ids, names = append(ids, q.ID), append(names, rec.Name)
			}
		}
	}
	if ids == nil {
		return nil
	}
	message := g.changed(names)
	if asker := askerOf(req.Head.Checkpoint); asker != "" && asker != g.name {
		message = fmt.Sprintf("The agent %q asked this, not %q: answer in its name.", asker, g.name)
	}
	return &ResumeError{Code: GraphChanged, IDs: ids, Pending: req.Pending, Message: message}
}

// askerOf is the agent whose run wrote a checkpoint; "" when that isn't known.
func askerOf(head *Checkpoint) (name string) {
	if head == nil || json.Unmarshal(head.Metadata["graph_id"], &name) != nil {
		return ""
	}
	return name
}

// errChanged is the end of a nested graph that can't go on.
func (g *Graph) errChanged(lost []TaskRecord) error {
	names := make([]string, len(lost))
	for i, rec := range lost {
		names[i] = rec.Name
	}
	return &NamedError{Name: GraphChangedError, Message: g.changed(names)}
}

func (g *Graph) changed(nodes []string) string {
	slices.Sort(nodes)
	return fmt.Sprintf("The agent %q was changed since it asked: it has no node %s any more. Put the node back to go on, or send new input to drop the question.",
		g.name, strings.Join(slices.Compact(nodes), ", "))
}
