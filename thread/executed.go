package thread

import (
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
)

// executed are the audit entries of the reviewed tool calls that have run since the parent of a checkpoint: that a
// call was approved and that it ran are two entries.
func (r *recorder) executed(cp, parent *agent.Checkpoint) []AuditBody {
	records, err := hitl.Records(cp, r.run.ThreadID)
	if err != nil || len(records) == 0 {
		return nil
	}
	var before []hitl.Record
	if parent != nil {
		if before, err = hitl.Records(parent, r.run.ThreadID); err != nil {
			return nil
		}
	}
	var entries []AuditBody
	for _, call := range records {
		if !call.Executed || slices.ContainsFunc(before, func(b hitl.Record) bool {
			return b.Executed && b.CallID == call.CallID && b.Digest == call.Digest && b.MessageID == call.MessageID
		}) {
			continue
		}
		ran := hitl.Action{Name: call.Name, Args: call.Args}
		if call.Edited != nil {
			ran = *call.Edited
		}
		entries = append(entries, AuditBody{
			Action: AuditExecuted, InterruptID: call.InterruptID, Agent: r.run.GraphID, Tool: ran.Name,
			Digest: hitl.Digest(ran.Name, ran.Args), Decision: string(call.Decision),
			Detail: encodeJSON(map[string]string{"tool_call_id": call.CallID, "approved_digest": call.Digest}),
		})
	}
	return entries
}
