package agent

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// Elements of task paths and ids (spec/runtime.md 0, 1.6).
const (
	pregelPull = "__pregel_pull"
	pregelPush = "__pregel_push"
	// nullPath sorts command writes before those of tasks.
	nullPath = "~"
)

// derivedID is the UUIDv5 of the compact JSON array of parts under a checkpoint id.
func derivedID(checkpointID string, parts ...any) string {
	space, err := uuid.Parse(checkpointID)
	if err != nil { // ids from elsewhere still give stable results
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(checkpointID))
	}
	name, err := json.Marshal(parts)
	if err != nil { // parts are strings and lists of strings
		panic(err)
	}
	return uuid.NewSHA1(space, name).String()
}

// pullTaskID is the id of a task that trigger starts (spec/runtime.md 1.6).
func pullTaskID(checkpointID, ns string, step int, node, trigger string) string {
	return derivedID(checkpointID, joinNS(ns, node), strconv.Itoa(step), node, pregelPull, []string{trigger})
}

// sendTaskID is the id of the task of the index-th Send.
func sendTaskID(checkpointID, ns string, step int, node string, index int) string {
	return derivedID(checkpointID, joinNS(ns, node), strconv.Itoa(step), node, pregelPush, strconv.Itoa(index))
}

// handlerTaskID is the id of the task that handles another's error.
func handlerTaskID(checkpointID, ns string, step int, handler, failed string) string {
	return derivedID(checkpointID, joinNS(ns, handler), strconv.Itoa(step), handler, pregelPush, "node_error_handler", failed)
}

// updateTaskID is the id under which a state update's writes are stored (spec/runtime.md 1.6):
// the index-th update of one superstep.
func updateTaskID(checkpointID string, index int) string {
	name := "__interrupt__"
	if index > 0 {
		name += ":" + strconv.Itoa(index)
	}
	space, err := uuid.Parse(checkpointID)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(checkpointID))
	}
	return uuid.NewSHA1(space, []byte(name)).String()
}

// joinNS appends a segment to a namespace.
func joinNS(ns, segment string) string {
	if ns == "" {
		return segment
	}
	return ns + "|" + segment
}

// taskNS is the namespace of a task.
func taskNS(ns, node, taskID string) string { return joinNS(ns, node+":"+taskID) }

// interruptID names the question that follows n answered ones of a task (spec/runtime.md 2.2).
func interruptID(taskNS string, n int) string {
	key := taskNS
	if n > 0 {
		key += "|" + strconv.Itoa(n)
	}
	sum := xxh3.HashString128(key).Bytes()
	return hex.EncodeToString(sum[:])
}

// namedInterruptID names a question that has a name of its own instead of a place in the order of calls.
func namedInterruptID(taskNS, name string) string {
	sum := xxh3.HashString128(taskNS + "|name:" + name).Bytes()
	return hex.EncodeToString(sum[:])
}

// messageID is the id of the n-th message without id in a task's i-th write to a channel (spec/runtime.md 9, no. 18).
func messageID(taskID, channel string, i, n int) string {
	return derivedID(taskID, "message", channel, strconv.Itoa(i), strconv.Itoa(n))
}

// pullPath and sendPath are the sortable forms of task paths (spec/runtime.md 1.4).
func pullPath(node string) string { return "~" + pregelPull + ", " + node }

func sendPath(index int) string {
	return "~" + pregelPush + ", " + padded(index) + ", " + padded(0)
}

// padded is an integer as it stands in a sortable path.
func padded(n int) string {
	s := strconv.Itoa(n)
	for len(s) < 10 {
		s = "0" + s
	}
	return s
}

// pullPathJSON and sendPathJSON are the task paths that clients see (spec/runtime.md 1.11).
func pullPathJSON(node string) json.RawMessage {
	return append(appendString([]byte(`["`+pregelPull+`",`), node), ']')
}

func sendPathJSON(index int) json.RawMessage {
	return json.RawMessage(`["` + pregelPush + `",` + strconv.Itoa(index) + `,false]`)
}
