// Cases 29-31 and 38-40 of spec/rest-api.md 7.2, and answers, edits and branches.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contents, gather, human, rejects, serve } from "./server.mjs";

const { client, url } = await serve(["--agents", "conformance", "--ephemeral"]);
const input = { messages: [human("foo", "initial-message")] };
const status = async (id) => (await client.threads.get(id)).status;

describe("breakpoints", () => {
  test("29 without modification", async () => {
    const t = await client.threads.create();
    let chunks = await gather(client.runs.stream(t.thread_id, "agent", { input, interruptBefore: ["tool"], streamMode: "values" }));
    const last = chunks.filter((c) => c.event === "values" && "messages" in c.data).at(-1);
    assert.equal(last.data.messages.at(-1).content, "begin");
    assert.deepEqual(chunks.at(-1).data, { __interrupt__: [] });
    assert.equal(await status(t.thread_id), "interrupted");
    assert.deepEqual((await client.threads.getState(t.thread_id)).next, ["tool"]);
    chunks = await gather(client.runs.stream(t.thread_id, "agent", { input: null, streamMode: "values" }));
    assert.equal(chunks.at(-1).data.messages.length, 4);
    assert.equal(await status(t.thread_id), "idle");
  });

  test("30 with modification", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input, interruptBefore: ["tool"] });
    const before = await client.threads.getState(t.thread_id);
    const message = { ...before.values.messages.at(-1), content: "modified" };
    await client.threads.updateState(t.thread_id, { values: { messages: [message] } });
    await client.threads.update(t.thread_id, { metadata: { modified: true } });
    const thread = await client.threads.get(t.thread_id);
    assert.equal(thread.status, "interrupted");
    assert.equal(thread.metadata.modified, true);
    const state = await client.threads.getState(t.thread_id);
    assert.equal(state.values.messages.at(-1).content, "modified");
    assert.deepEqual(state.next, ["tool"]);
    assert.equal(state.tasks.length, 1);
    assert.deepEqual(
      [state.tasks[0].name, state.tasks[0].error, state.tasks[0].interrupts],
      ["tool", null, []],
    );
    const values = await client.runs.wait(t.thread_id, "agent", { input: null });
    assert.equal(values.messages[2].content, "tool_call__modified");
    assert.equal((await client.threads.getHistory(t.thread_id)).length, 6);
  });

  test("31 before the first node", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input, interruptBefore: ["agent"] });
    assert.equal(await status(t.thread_id), "interrupted");
  });
});

describe("subgraphs", () => {
  const SF = human("SF", "m1");

  test("38 without modification", async () => {
    const t = await client.threads.create();
    const chunks = await gather(client.runs.stream(t.thread_id, "weather", { input: { messages: [SF] }, interruptBefore: ["tool"], streamMode: "values" }));
    const message = { id: "m1", type: "human", content: "SF", additional_kwargs: {}, response_metadata: {} };
    assert.deepEqual(chunks, [
      { id: "0", event: "metadata", data: { run_id: chunks[0].data.run_id, attempt: 1 } },
      { id: "1", event: "values", data: { messages: [message] } },
      { id: "2", event: "values", data: { messages: [message], route: "weather" } },
      { id: "3", event: "values", data: { __interrupt__: [] } },
    ]);
    let state = await client.threads.getState(t.thread_id);
    assert.deepEqual(state.next, ["weather_graph"]);
    const [task] = state.tasks;
    assert.deepEqual(state.tasks, [{
      id: task.id, name: "weather_graph", path: ["__pregel_pull", "weather_graph"], error: null, interrupts: [], result: null, state: null,
      checkpoint: { thread_id: t.thread_id, checkpoint_ns: task.checkpoint.checkpoint_ns },
    }]);
    assert.match(task.checkpoint.checkpoint_ns, /^weather_graph:[0-9a-f-]{36}$/);
    state = await client.threads.getState(t.thread_id, undefined, { subgraphs: true });
    const nested = state.tasks[0].state;
    assert.equal(state.tasks[0].checkpoint, null);
    assert.deepEqual(nested.values, { messages: [message], city: "San Francisco" });
    assert.deepEqual(nested.next, ["weather_node"]);
    assert.equal(nested.tasks[0].name, "weather_node");
    assert.ok(nested.parent_checkpoint);
    assert.equal(nested.checkpoint.checkpoint_ns, task.checkpoint.checkpoint_ns);
    assert.deepEqual(Object.keys(nested).toSorted(), ["checkpoint", "created_at", "metadata", "next", "parent_checkpoint", "tasks", "values"]);
    assert.equal(await status(t.thread_id), "interrupted");

    const more = (await gather(client.runs.stream(t.thread_id, "weather", { input: null, streamMode: ["values", "updates"], streamSubgraphs: true })))
      .filter((c) => !c.event.startsWith("checkpoints"));
    const ns = `weather_graph:${task.id}`;
    const ai = more.find((c) => c.event === `updates|${ns}`).data.weather_node.messages.at(-1);
    assert.equal(ai.content, "It's sunny in San Francisco!");
    assert.deepEqual([ai.tool_calls, ai.invalid_tool_calls], [[], []]);
    assert.deepEqual(more.map((c) => c.event), [
      "metadata", "values", `values|${ns}`, `updates|${ns}`, `values|${ns}`, "updates", "values",
    ]);
    assert.deepEqual(more[1].data, { messages: [message], route: "weather" });
    assert.deepEqual(more[2].data, { messages: [message], city: "San Francisco" });
    assert.deepEqual(contents(more[4].data.messages), ["SF", "It's sunny in San Francisco!"]);
    assert.deepEqual(contents(more[5].data.weather_graph.messages), ["SF", "It's sunny in San Francisco!"]);
    assert.deepEqual(contents(more[6].data.messages), ["SF", "It's sunny in San Francisco!"]);
    assert.equal(await status(t.thread_id), "idle");
  });

  test("39 with modification", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "weather", { input: { messages: [SF] } });
    const [task] = (await client.threads.getState(t.thread_id)).tasks;
    const updated = await client.threads.updateState(t.thread_id, { values: { city: "LA" }, checkpoint: task.checkpoint });
    assert.equal((updated.checkpoint ?? updated.configurable).checkpoint_ns, task.checkpoint.checkpoint_ns);
    const inner = await client.threads.getState(t.thread_id, task.checkpoint);
    assert.equal(inner.values.city, "LA");
    assert.deepEqual(inner.next, ["weather_node"]);
    assert.deepEqual(inner.tasks[0].interrupts, []);
    const values = await client.runs.wait(t.thread_id, "weather", { input: null });
    assert.equal(values.messages.at(-1).content, "It's sunny in LA!");
    assert.equal((await client.threads.getHistory(t.thread_id)).length, 4);
    const innerHistory = await client.threads.getHistory(t.thread_id, { checkpoint: { checkpoint_ns: task.checkpoint.checkpoint_ns } });
    assert.equal(innerHistory.length, 5);
    assert.deepEqual(innerHistory.at(-1).next, ["__start__"]);
  });
});

describe("interrupts", () => {
  test("40 inside a node", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input: { ...input, interrupt: true } });
    const state = await client.threads.getState(t.thread_id);
    assert.deepEqual(state.next, ["agent"]);
    const [task] = state.tasks;
    assert.match(task.interrupts[0].id, /^[0-9a-f]{32}$/);
    assert.deepEqual(state.tasks, [{
      id: task.id, name: "agent", path: ["__pregel_pull", "agent"], error: null, checkpoint: null, state: null, result: null,
      interrupts: [{ id: task.interrupts[0].id, value: "i want to interrupt" }],
    }]);
    const thread = await client.threads.get(t.thread_id);
    assert.equal(thread.status, "interrupted");
    assert.deepEqual(thread.interrupts, { [task.id]: task.interrupts });
    const chunks = await gather(client.runs.stream(t.thread_id, "agent", { command: { resume: "anything" }, streamMode: "values" }));
    assert.equal(chunks.at(-1).event, "values");
    assert.equal(chunks.at(-1).data.messages.length, 4);
    assert.equal(await status(t.thread_id), "idle");
  });

  test("D-41, D-42 resume and update are one superstep, and the pushed message is there once", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input: { ...input, interrupt: true } });
    const before = await client.threads.getHistory(t.thread_id);
    const card = { type: "ai", id: "card-1", content: "approved", response_metadata: { card: { decision: "approve" } } };
    const chunks = await gather(client.runs.stream(t.thread_id, "agent", {
      command: { resume: true, update: { messages: [card], keyOne: "from the page" } }, streamMode: ["values", "messages-tuple"],
    }));
    for (const c of chunks.filter((c) => c.event === "values")) {
      assert.deepEqual(c.data.messages.filter((m) => m.id === "card-1").map((m) => m.response_metadata), [card.response_metadata]);
      assert.equal(c.data.keyOne, "from the page");
    }
    assert.ok(!chunks.some((c) => c.event === "messages" && c.data[0].id === "card-1"), "never streamed a second time");
    const after = await client.threads.getHistory(t.thread_id);
    const first = after.at(-before.length - 1);
    assert.equal(first.parent_checkpoint.checkpoint_id, before[0].checkpoint.checkpoint_id);
    assert.deepEqual(contents(first.values.messages).slice(0, 2), ["foo", "approved"]);
    assert.equal(first.values.messages.length, 3, "the update and the resumed node's answer are in one checkpoint");
  });

  test("a resume with nothing pending is refused and changes nothing", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input });
    const before = await client.threads.getHistory(t.thread_id);
    await rejects(client.runs.wait(t.thread_id, "agent", { command: { resume: "x" } }), "HTTP 409");
    await rejects(client.runs.wait(t.thread_id, "agent", { command: { resume: { ["0".repeat(32)]: "x" } } }), "HTTP 409");
    assert.deepEqual(await client.threads.getHistory(t.thread_id), before);
  });

  test("D-31, D-32 one of many different answers is accepted, equal ones are one run", async () => {
    const suspended = async () => {
      const t = await client.threads.create();
      // The sleep keeps the resumed run alive: a plain answer is a repeat until that run has ended (decisions 8).
      await client.runs.wait(t.thread_id, "agent", { input: { ...input, interrupt: true, sleep: 2 } });
      return t.thread_id;
    };
    const post = (thread, answer) =>
      fetch(`${url}/threads/${thread}/runs`, {
        method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "agent", command: { resume: answer } }),
      }).then(async (r) => ({ status: r.status, body: await r.json() }));
    const a = await suspended();
    const different = await Promise.all(Array.from({ length: 100 }, (_, i) => post(a, `answer ${i}`)));
    assert.equal(different.filter((r) => r.status === 200).length, 1);
    const refused = different.filter((r) => r.status === 409);
    assert.equal(refused.length, 99);
    assert.ok(refused.every((r) => r.body.error === "already_decided" || r.body.error === "nothing_pending" || r.body.error === "interrupt_not_pending"));
    const b = await suspended();
    const equal = await Promise.all(Array.from({ length: 100 }, () => post(b, "the same")));
    assert.ok(equal.every((r) => r.status === 200));
    assert.equal(new Set(equal.map((r) => r.body.run_id)).size, 1);
    await client.runs.join(b, equal[0].body.run_id);
    assert.equal((await client.threads.getState(b)).values.messages.length, 4);
  });
});

describe("branches", () => {
  test("edit a message and regenerate an answer from older checkpoints", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input });
    const history = await client.threads.getHistory(t.thread_id);
    const [c0, c1] = history.toReversed().map((s) => s.checkpoint);
    const edited = await client.runs.wait(t.thread_id, "agent", { input: { messages: [human("edited", "initial-message")] }, checkpoint: c0 });
    assert.deepEqual(contents(edited.messages), ["edited", "begin", "tool_call__begin", "end"]);
    const again = await client.runs.wait(t.thread_id, "agent", { input: null, checkpoint: c1 });
    assert.deepEqual(contents(again.messages), ["foo", "begin", "tool_call__begin", "end"]);
    const all = await client.threads.getHistory(t.thread_id, { limit: 100 });
    const fork = all.find((s) => s.metadata.source === "fork");
    assert.equal(fork.parent_checkpoint.checkpoint_id, c1.checkpoint_id);
    const sorted = all.map((s) => s.checkpoint.checkpoint_id);
    assert.deepEqual(sorted, sorted.toSorted().toReversed(), "ids grow as strings");
  });
});
