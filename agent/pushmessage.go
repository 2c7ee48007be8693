package agent

import "github.com/parley-dev/parley/agent/message"

// PushMessage shows a message to the run's readers at once, whole, as if the node had
// returned it, and writes no state. If the node returns it later under the same
// id, readers don't get it again. A message without an id gets one, with which it is
// returned. A Remove message tells readers of the classic streams to forget a
// message; those of the thread protocol see it in the next state only (spec/streaming-protocol.md 3.9).
func PushMessage(ctx Context, m message.Message) message.Message {
	c := ctx.task()
	if m.ID == "" {
		m.ID = c.nextID("pushed")
	}
	if c.loop == nil || c.planned.node.hidden() {
		return m
	}
	if m.Type == message.Remove {
		c.emit(MessageReset, MessageRef{ID: m.ID, Meta: c.meta()})
		return m
	}
	if !c.loop.r.speak(m.ID) {
		return m
	}
	events := c.wholeMessage(m)
	for i, e := range events {
		if start, ok := e.Payload.(MessageStart); ok {
			start.CallID = c.exec.RunID // no model call made it
			events[i].Payload = start
		}
	}
	c.loop.r.emit(c.planned.ns, events...)
	return m
}
