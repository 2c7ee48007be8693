// The SDK's own ThreadStream in three published versions, over SSE and WebSocket.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

const servers = JSON.parse(process.env.HOOKTEST_SERVERS);
const api = servers["conformance-react"];
const isEnd = (event) =>
  event.method === "lifecycle" && event.params.namespace.length === 0 && ["completed", "interrupted", "failed"].includes(event.params.data.event);
const human = (content) => ({ messages: [{ type: "human", content, id: "h1" }] });
const get = async (path) => (await fetch(api + path)).json();

for (const version of ["1.9.28", "1.11.0", "1.15.0"]) {
  for (const transport of ["sse", "websocket"]) {
    const { Client } = await import(`sdk-${version}`);

    /** A stream on a thread (a new one by default) with everything it received. */
    function open(t, assistantId, threadId, apiUrl = api) {
      const client = new Client({ apiUrl, apiKey: null });
      const options = { assistantId, transport };
      const thread = threadId ? client.threads.stream(threadId, options) : client.threads.stream(options);
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
          const late = setTimeout(() => reject(new Error(`not within 20 s; got ${JSON.stringify(events.map((e) => [e.method, e.params.data?.event]))}`)), 20_000);
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

    /** A finished run of one message. */
    async function finished(t, content = "Hello") {
      const s = open(t, "stategraph_text");
      await s.thread.submitRun({ input: human(content) });
      await s.listen();
      await s.until((events) => events.some(isEnd) && root(events, "values").length === 2);
      return s;
    }

    describe(`ThreadStream ${version} over ${transport}`, { concurrency: 1 }, () => {
      // M-9, M-11, M-19, M-22, M-23, M-26
      test("a run", async (t) => {
        const s = open(t, "stategraph_text");
        const { run_id } = await s.thread.submitRun({ input: human("Hello") });
        assert.ok(run_id);
        await s.listen();
        await s.until((events) => events.some(isEnd) && root(events, "values").length === 2);
        const text = s.ordered().filter((e) => e.method === "messages" && e.params.data.delta?.type === "text-delta").map((e) => e.params.data.delta.text).join("");
        assert.equal(text, "Plan accepted.");
        assert.deepEqual(root(s.events, "values").map((e) => e.params.data.messages.map((m) => m.id)), [["h1"], ["h1", "stategraph-message-0"]]);
      });

      // M-15, M-28, M-31, D-25, D-41, D-42, D-46
      test("a question, answered with an update: one superstep, every field of the message kept", async (t) => {
        const s = open(t, "interrupt_card_graph");
        await s.thread.submitRun({ input: { toolArg: "delete_db" } });
        await s.listen();
        await s.until(() => s.thread.interrupts.length === 1);
        const [question] = s.thread.interrupts;
        const card = {
          ...question.payload, id: "review-card-1", name: "reviewer",
          additional_kwargs: { nested: { list: [1, 0.5, null, { deep: "ü\u2028\r\n" }], big: 12345678901234 }, empty: {} },
        };
        const before = (await get(`/threads/${s.thread.threadId}/history?limit=100`)).length;
        await s.thread.respondInput({ namespace: question.namespace, interrupt_id: question.interruptId, response: { approved: true }, update: { messages: [card] } });
        await s.ended(2);
        await s.until((events) => lastValues(events)?.messages.length === 4);
        const { messages } = lastValues(s.events);
        assert.deepEqual(messages.map((m) => [m.type, m.content]), [["ai", ""], ["ai", card.content], ["tool", 'Executed "delete_db".'], ["ai", "Done."]]);
        for (const field of ["id", "name", "additional_kwargs", "response_metadata"]) assert.deepEqual(messages[1][field], card[field], field);
        // One superstep of the answer, its update and the tool, and one of the model.
        const history = await get(`/threads/${s.thread.threadId}/history?limit=100`);
        assert.equal(history.length - before, 2);
        for (const { values } of history) assert.equal(values.messages?.some((m) => m.type === "tool") && !values.messages.some((m) => m.id === card.id), false);
      });

      // M-36, M-37, M-49, M-52, D-02, D-16
      test("a second client and a reconnect get the same events", async (t) => {
        const s = await finished(t);
        const ids = ({ ordered }) => ordered().map((e) => [e.event_id, e.seq, e.params.timestamp]);
        for (let reconnect = 0; reconnect < 2; reconnect++) {
          const again = open(t, "stategraph_text", s.thread.threadId);
          await again.listen();
          await again.until((events) => events.length >= s.events.length);
          assert.deepEqual(ids(again), ids(s));
        }
      });

      // M-58, D-16, D-17
      test("line breaks of all kinds, and five megabytes in one event", async (t) => {
        const words = "a\r\nb\rc\n\nd\u2028e\u0000f event: x\ndata: y\nid: 0";
        const s = await finished(t, words);
        assert.deepEqual(lastValues(s.events).messages.map((m) => m.content), [words, "Plan accepted."]);
        const large = open(t, "echo_stream", undefined, servers.bench);
        const note = "n".repeat(5_000_000);
        await large.thread.submitRun({ input: { ...human("tokens=2"), note } });
        await large.listen();
        await large.until((events) => events.some(isEnd) && lastValues(events)?.messages.length === 2);
        assert.ok(lastValues(large.events).note === note);
      });

      // M-17, D-23
      test("an answer given the moment a question arrives is always accepted", async (t) => {
        await Promise.all(Array.from({ length: 10 }, async () => {
          const s = open(t, "interrupt_graph");
          const answered = new Promise((resolve, reject) => {
            s.thread.onEvent((event) => {
              if (event.method !== "input.requested") return;
              s.thread.respondInput({ namespace: [], interrupt_id: event.params.data.interrupt_id, response: { approved: true } }).then(resolve, reject);
            });
          });
          await s.listen();
          await s.thread.submitRun({ input: { request: "Now" } });
          await answered;
          await s.until((events) => lastValues(events)?.completed === true);
        }));
      });

      // M-3
      test("an unknown assistant fails", async (t) => {
        const s = open(t, "missing_graph");
        await assert.rejects(s.thread.submitRun({ input: { messages: [] } }));
      });

      // decisions 8
      test("an answer to no question is refused", async (t) => {
        const s = await finished(t);
        await assert.rejects(s.thread.respondInput({ namespace: [], interrupt_id: "0".repeat(32), response: 1 }));
      });
    });
  }
}

describe("a stream that is opened", () => {
  const post = (thread, what, body) =>
    fetch(`${api}/threads/${thread}/${what}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

  /** Reads a stream until a text came; returns after how many ms it did. */
  async function readUntil(thread, body, text) {
    const opened = performance.now();
    const response = await post(thread, "stream/events", body);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let got = ""; !got.includes(text); ) {
      const { done, value } = await reader.read();
      assert.ok(!done, "the stream ended");
      got += value;
    }
    const took = performance.now() - opened;
    await reader.cancel();
    return took;
  }

  // M-44
  test("writes its replay at once, without anything new on the thread", async () => {
    const took = [];
    for (let i = 0; i < 20; i++) {
      const thread = crypto.randomUUID();
      await (await post(thread, "commands", { id: 1, method: "run.start", params: { assistant_id: "error_graph", input: human("Hello") } })).text();
      took.push(await readUntil(thread, { channels: ["lifecycle", "input"] }, '"failed"'));
      took.push(await readUntil(thread, { channels: ["values", "lifecycle"], namespaces: [[]], depth: 1 }, "event: values"));
    }
    assert.ok(Math.min(...took) < 50, `${took.map(Math.round).join()} ms`); // a delay would be in all of them
  });
});
