// The SDK's own ThreadStream in three published versions.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

const api = JSON.parse(process.env.HOOKTEST_SERVERS)["conformance-react"];
const isEnd = (event) =>
  event.method === "lifecycle" && event.params.namespace.length === 0 && ["completed", "interrupted", "failed"].includes(event.params.data.event);

for (const version of ["1.9.28", "1.11.0", "1.15.0"]) {
  const { Client } = await import(`sdk-${version}`);
  const client = new Client({ apiUrl: api, apiKey: null });

  /** A stream on a thread (a new one by default) with everything it received. */
  function open(t, assistantId, threadId) {
    const thread = threadId ? client.threads.stream(threadId, { assistantId }) : client.threads.stream({ assistantId });
    t.after(() => thread.close());
    const events = [];
    const waiting = new Set();
    thread.onEvent((event) => {
      if (events.some((known) => known.event_id === event.event_id)) return;
      events.push(event);
      for (const look of waiting) look();
    });
    const until = (condition) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`not within 10 s; got ${JSON.stringify(events.map((e) => [e.method, e.params.data?.event]))}`)), 10_000);
        const look = () => {
          if (!condition(events)) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    const listen = () => thread.subscribe({ channels: ["values", "checkpoints", "messages", "lifecycle", "input", "tools"] });
    // Events come over several connections; each keeps the order of seq.
    const ordered = () => [...events].sort((a, b) => a.seq - b.seq);
    return { thread, events, ordered, until, listen, ended: (n = 1) => until((list) => list.filter(isEnd).length === n) };
  }

  const root = (events, method) => events.filter((e) => e.method === method && e.params.namespace.length === 0);
  const lastValues = (events) => root(events, "values").at(-1)?.params.data;

  describe(`ThreadStream ${version}`, { concurrency: 1 }, () => {
    // M-11, M-19, M-22, M-23, M-26
    test("a run", async (t) => {
      const s = open(t, "stategraph_text");
      const { run_id } = await s.thread.submitRun({ input: { messages: [{ type: "human", content: "Hello", id: "h1" }] } });
      assert.ok(run_id);
      await s.listen();
      await s.until((events) => events.some(isEnd) && root(events, "values").length === 2);
      const text = s.ordered().filter((e) => e.method === "messages" && e.params.data.delta?.type === "text-delta").map((e) => e.params.data.delta.text).join("");
      assert.equal(text, "Plan accepted.");
      assert.deepEqual(root(s.events, "values").map((e) => e.params.data.messages.map((m) => m.id)), [["h1"], ["h1", "stategraph-message-0"]]);
    });

    // M-15, M-28, M-31
    test("a question, answered with an update", async (t) => {
      const s = open(t, "interrupt_card_graph");
      await s.thread.submitRun({ input: { toolArg: "delete_db" } });
      await s.listen();
      await s.until(() => s.thread.interrupts.length === 1);
      const [question] = s.thread.interrupts;
      const card = { ...question.payload, id: "review-card-1" };
      await s.thread.respondInput({ namespace: question.namespace, interrupt_id: question.interruptId, response: { approved: true }, update: { messages: [card] } });
      await s.ended(2);
      await s.until((events) => lastValues(events)?.messages.length === 4);
      const { messages } = lastValues(s.events);
      assert.deepEqual(messages.map((m) => [m.type, m.content]), [["ai", ""], ["ai", card.content], ["tool", 'Executed "delete_db".'], ["ai", "Done."]]);
      assert.deepEqual(messages[1].response_metadata, card.response_metadata);
    });

    // M-36, M-37, M-49, M-52
    test("a second client and a reconnect get the same events", async (t) => {
      const s = open(t, "stategraph_text");
      await s.thread.submitRun({ input: { messages: [{ type: "human", content: "Hello", id: "h1" }] } });
      await s.listen();
      await s.until((events) => events.some(isEnd) && root(events, "values").length === 2);
      const ids = ({ ordered }) => ordered().map((e) => [e.event_id, e.seq, e.params.timestamp]);
      for (let reconnect = 0; reconnect < 2; reconnect++) {
        const again = open(t, "stategraph_text", s.thread.threadId);
        await again.listen();
        await again.until((events) => events.length >= s.events.length);
        assert.deepEqual(ids(again), ids(s));
      }
    });

    // M-3
    test("an unknown assistant fails", async (t) => {
      const s = open(t, "missing_graph");
      await assert.rejects(s.thread.submitRun({ input: { messages: [] } }));
    });

    // decisions 8
    test("an answer to no question is refused", async (t) => {
      const s = open(t, "stategraph_text");
      await s.thread.submitRun({ input: { messages: [{ type: "human", content: "Hello", id: "h1" }] } });
      await s.listen();
      await s.ended();
      await assert.rejects(s.thread.respondInput({ namespace: [], interrupt_id: "0".repeat(32), response: 1 }));
    });
  });
}
