// Cases 24-28, 47, 48, 60 and 61 of spec/rest-api.md 7.2.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { contents, gather, human, serve } from "./server.mjs";

const { client, url } = await serve(["--agents", "conformance", "--ephemeral"]);
const input = { messages: [human("foo")] };
const kinds = (chunks) => new Set(chunks.map((c) => c.event));

async function run(graph, options) {
  const t = await client.threads.create();
  const chunks = await gather(client.runs.stream(t.thread_id, graph, options));
  assert.deepEqual(chunks.map((c) => c.id), chunks.map((_, i) => String(i)), "ids count from 0");
  return { thread: t.thread_id, chunks };
}

describe("stream modes", () => {
  test("24 updates", async () => {
    const { chunks } = await run("agent", { input, streamMode: "updates" });
    assert.deepEqual(kinds(chunks), new Set(["metadata", "updates"]));
    assert.deepEqual(chunks.filter((c) => c.event === "updates").map((c) => Object.keys(c.data)[0]), ["agent", "tool", "agent"]);
    assert.equal(chunks.at(-1).event, "updates");
  });

  test("25 events", async () => {
    const { chunks } = await run("agent", { input, streamMode: "events" });
    assert.deepEqual(kinds(chunks), new Set(["metadata", "events"]));
    const inner = new Set(chunks.filter((c) => c.event === "events").map((c) => c.data.event));
    assert.deepEqual(inner, new Set(["on_chain_start", "on_chain_end", "on_chat_model_start", "on_chat_model_stream", "on_chat_model_end"]));
  });

  test("26 messages", async () => {
    const { chunks } = await run("agent", { input, streamMode: "messages" });
    assert.deepEqual(kinds(chunks), new Set(["metadata", "messages/metadata", "messages/partial", "messages/complete"]));
    const partial = {};
    for (const c of chunks) {
      if (c.event === "messages/partial") for (const m of c.data) partial[m.id] = m.content;
    }
    const complete = chunks.filter((c) => c.event === "messages/complete").flatMap((c) => c.data);
    for (const m of complete.filter((m) => m.type === "ai")) assert.equal(partial[m.id], m.content);
    assert.deepEqual(contents(complete), ["foo", "begin", "tool_call__begin", "end"]);
    assert.equal(chunks.at(-1).event, "messages/complete");
    assert.equal(chunks.at(-1).data[0].content, "end");
    const announced = chunks.filter((c) => c.event === "messages/metadata").flatMap((c) => Object.keys(c.data));
    assert.deepEqual(announced, complete.filter((m) => m.type === "ai").map((m) => m.id));
  });

  test("27 messages-tuple", async () => {
    const { chunks } = await run("agent", { input, streamMode: "messages-tuple", streamSubgraphs: true });
    const base = (e) => e.split("|")[0];
    assert.deepEqual(new Set(chunks.map((c) => base(c.event))), new Set(["metadata", "messages"]));
    const messages = chunks.filter((c) => base(c.event) === "messages");
    assert.deepEqual(messages.map((c) => c.data[0].content), ["b", "e", "g", "i", "n", "tool_call__begin", "e", "n", "d"]);
    assert.equal(new Set(messages.slice(0, 5).map((c) => c.data[0].id)).size, 1);
  });

  test("28 mixed modes", async () => {
    const { chunks } = await run("agent", { input, streamMode: ["messages", "values"] });
    assert.equal(chunks.at(-1).event, "messages/complete");
    assert.equal(chunks.at(-1).data[0].content, "end");
    assert.equal(chunks.filter((c) => c.event === "values").at(-1).data.messages.length, 4);
  });

  test("47 debug checkpoints equal the history", async () => {
    const { thread, chunks } = await run("weather", { input: { messages: [human("SF?")] }, streamMode: "debug" });
    const streamed = chunks.filter((c) => c.event === "debug" && c.data.type === "checkpoint").map(({ data: { payload } }) => ({
      step: payload.metadata.step, checkpoint: payload.checkpoint, parent: payload.parent_checkpoint,
    }));
    const history = (await client.threads.getHistory(thread)).map((s) => ({
      step: s.metadata.step, checkpoint: s.checkpoint, parent: s.parent_checkpoint,
    }));
    assert.deepEqual(streamed, history.reverse());
  });

  test("48 continuing names the checkpoint it stands on", async () => {
    const { thread } = await run("weather", { input: { messages: [human("SF?")] }, interruptBefore: ["router_node"] });
    const head = await client.threads.getState(thread);
    assert.deepEqual(head.next, ["router_node"]);
    const before = await client.threads.getHistory(thread);
    const chunks = await gather(client.runs.stream(thread, "weather", { input: null, checkpoint: head.checkpoint, streamMode: "debug" }));
    const streamed = chunks.filter((c) => c.event === "debug" && c.data.type === "checkpoint").map((c) => c.data.payload.checkpoint.checkpoint_id);
    assert.equal(streamed[0], head.checkpoint.checkpoint_id);
    const after = await client.threads.getHistory(thread);
    const fresh = after.slice(0, after.length - before.length).map((s) => s.checkpoint.checkpoint_id).reverse();
    assert.deepEqual(streamed.slice(1), fresh);
  });

  test("60 a join from the start yields exactly the source's events", async () => {
    const t = await client.threads.create();
    let runId;
    const source = gather(
      client.runs.stream(t.thread_id, "agent", {
        input: { ...input, sleep: { steps: 3, ms: 1000 } }, streamMode: ["values", "custom"], streamResumable: true,
        onRunCreated: (r) => (runId = r.run_id),
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const joined = await gather(client.runs.joinStream(t.thread_id, runId, { lastEventId: "-1" }));
    const original = await source;
    assert.deepEqual(joined, original);
    assert.deepEqual(original.filter((c) => c.event === "custom").map((c) => c.data), [0, 1, 2].map((step) => ({ type: "sleep", step })));
    // D-07: joining once more after the end replays and closes.
    assert.deepEqual(await gather(client.runs.joinStream(t.thread_id, runId, { lastEventId: "-1" })), original);
    assert.deepEqual(await gather(client.runs.joinStream(t.thread_id, runId, { lastEventId: "2" })), original.slice(3));
    const values = await gather(client.runs.joinStream(t.thread_id, runId, { lastEventId: "-1", streamMode: ["values"] }));
    assert.deepEqual(values, original.filter((c) => c.event !== "custom"), "a join narrows the modes and renumbers nothing");
  });

  test("61 tasks and checkpoints", async () => {
    const { chunks } = await run("agent", { input, streamMode: ["tasks", "checkpoints"] });
    const line = chunks.map(({ event, data }) => {
      if (event === "checkpoints") {
        assert.deepEqual(Object.keys(data).toSorted(), ["metadata", "next", "values"]);
        return `cp ${data.metadata.source} ${data.metadata.step} ${data.next}`;
      }
      if (event === "tasks") return "result" in data ? `end ${data.name}` : `start ${data.name} ${data.triggers}`;
      return event;
    });
    assert.deepEqual(line, [
      "metadata", "cp input -1 __start__", "cp loop 0 agent",
      "start agent branch:to:agent", "end agent", "cp loop 1 tool",
      "start tool branch:to:tool", "end tool", "cp loop 2 agent",
      "start agent branch:to:agent", "end agent", "cp loop 3 ",
    ]);
  });

  test("the whole thread can be followed", async () => {
    // A reader sees what comes after it: the run is started when the reader's answer has begun, not when it was asked for.
    let joined;
    const there = new Promise((resolve) => (joined = resolve));
    const reader = new Client({
      apiUrl: url, apiKey: null,
      callerOptions: { fetch: (...args) => fetch(...args).then((answer) => (joined(), answer)) },
    });
    const t = await client.threads.create();
    const seen = [];
    const reading = (async () => {
      for await (const c of reader.threads.joinStream(t.thread_id)) {
        seen.push(c);
        if (c.event === "values" && c.data.messages?.length === 4) break;
      }
    })();
    await Promise.race([there, reading]);
    await client.runs.wait(t.thread_id, "agent", { input });
    await reading;
    assert.equal(seen.at(-1)?.event, "values");
    assert.equal(new Set(seen.map((c) => c.id)).size, seen.length);
  });

  test("D-16 five megabytes in one frame", async () => {
    const t = await client.threads.create();
    const big = "x".repeat(5 * 1024 * 1024);
    const chunks = await gather(client.runs.stream(t.thread_id, "agent", { input: { messages: [human("should_end")], keyOne: big }, streamMode: "values" }));
    assert.equal(chunks.at(-1).data.keyOne.length, big.length);
  });

  test("headers of a stream", async () => {
    const t = await client.threads.create();
    const r = await fetch(`${url}/threads/${t.thread_id}/runs/stream`, {
      method: "POST", headers: { "content-type": "application/json", origin: "http://localhost:5173" },
      body: JSON.stringify({ assistant_id: "agent", input }),
    });
    assert.equal(r.status, 200);
    assert.match(r.headers.get("content-type"), /^text\/event-stream/);
    assert.match(r.headers.get("content-location"), new RegExp(`^/threads/${t.thread_id}/runs/[0-9a-f-]{36}$`));
    assert.match(r.headers.get("location"), /\/stream$/);
    assert.match(r.headers.get("cache-control"), /no-cache, no-transform/);
    const exposed = r.headers.get("access-control-expose-headers").toLowerCase();
    for (const h of ["content-location", "location", "x-pagination-total"]) assert.ok(exposed.includes(h)); // D-70
    const text = await r.text();
    assert.ok(text.startsWith(": heartbeat\n"));
    assert.ok(!/^event: end/m.test(text));
  });
});
