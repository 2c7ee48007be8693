// Cases 20-23, 32-36, 41-44, 53, 55, 62-65 of spec/rest-api.md 7.2.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { contents, gather, human, rejects, serve, until } from "./server.mjs";

const { client, url } = await serve(["--agents", "conformance", "--ephemeral"]);
const input = { messages: [human("foo")] };

describe("runs", () => {
  test("20 list by status", async () => {
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input });
    const pending = await client.runs.create(t.thread_id, "agent", { input, afterSeconds: 10 });
    assert.equal((await client.runs.list(t.thread_id)).length, 2);
    const ids = async (status) => (await client.runs.list(t.thread_id, { status })).map((r) => r.run_id);
    assert.deepEqual(await ids("pending"), [pending.run_id]);
    await client.runs.cancel(t.thread_id, pending.run_id);
    assert.deepEqual(await ids("interrupted"), [pending.run_id]);
    assert.deepEqual(await ids("pending"), []);
    assert.equal((await client.runs.list(t.thread_id, { limit: 1, offset: 1 })).length, 1);
    await client.runs.delete(t.thread_id, pending.run_id);
    await rejects(client.runs.get(t.thread_id, pending.run_id), "HTTP 404: Run not found");
  });

  test("21 stream values", async () => {
    const t = await client.threads.create();
    const chunks = await gather(client.runs.stream(t.thread_id, "agent", { input, streamMode: "values" }));
    assert.deepEqual(new Set(chunks.map((c) => c.event)), new Set(["metadata", "values"]));
    assert.deepEqual(chunks.map((c) => c.id), chunks.map((_, i) => String(i)));
    const runId = chunks[0].data.run_id;
    assert.deepEqual(chunks[0].data, { run_id: runId, attempt: 1 });
    let previous = [];
    for (const { data } of chunks.slice(1)) {
      const ids = data.messages.map((m) => m.id);
      assert.deepEqual(ids.slice(0, -1), previous);
      previous = ids;
    }
    assert.equal(previous.length, 4);
    assert.equal(chunks.at(-1).event, "values");
    assert.equal((await client.runs.get(t.thread_id, runId)).status, "success");
    assert.ok((await client.threads.getHistory(t.thread_id)).length > 1);
  });

  test("22 wait reports the recursion limit", async () => {
    const t = await client.threads.create();
    await rejects(client.runs.wait(t.thread_id, "agent", { input, config: { recursion_limit: 1 } }), "GraphRecursionError");
    assert.equal((await client.threads.get(t.thread_id)).status, "error");
  });

  test("23 wait", async () => {
    const t = await client.threads.create();
    const values = await client.runs.wait(t.thread_id, "agent", { input });
    assert.deepEqual(contents(values.messages), ["foo", "begin", "tool_call__begin", "end"]);
    assert.equal((await client.threads.get(t.thread_id)).status, "idle");
  });

  test("32 unknown graph", async () => {
    const t = await client.threads.create();
    const text = 'No assistant found for "fake". Make sure the assistant ID is for a valid assistant or a valid graph ID.';
    await rejects(client.runs.wait(t.thread_id, "fake", { input }), text);
    await rejects(gather(client.runs.stream(t.thread_id, "fake", { input })), text);
  });

  test("33, 34 shared state in config and store", async () => {
    const user = crypto.randomUUID();
    const t = await client.threads.create();
    const values = await client.runs.wait(t.thread_id, "agent", { input, config: { configurable: { user_id: user } } });
    assert.deepEqual(values.sharedStateFromStoreConfig, { id: user });
    const item = await client.store.getItem(["sharedState", "data"], "user_id");
    assert.ok(item.value.id);
  });

  test("35 store items reach a run", async () => {
    const namespace = ["inputtedState", "data"];
    await client.store.putItem(namespace, "my_key", { isTrue: true });
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent", { input: { messages: [human("___check_state_value")] } });
    assert.deepEqual((await client.store.getItem(namespace, "my_key")).value, { isTrue: true });
    await client.store.deleteItem(namespace, "my_key");
    assert.equal(await client.store.getItem(namespace, "my_key"), null);
  });

  test("36 store put, search, list, get, delete", async () => {
    const namespace = ["test", crypto.randomUUID()];
    assert.deepEqual((await client.store.searchItems(namespace)).items, []);
    assert.deepEqual((await client.store.listNamespaces({ prefix: namespace })).namespaces, []);
    await client.store.putItem(namespace, "key", { hello: 1 });
    const [first] = (await client.store.searchItems(namespace)).items;
    assert.deepEqual(first.value, { hello: 1 });
    assert.ok(Date.parse(first.createdAt ?? first.created_at));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await client.store.putItem(namespace, "key", { hello: 2 });
    const again = await client.store.getItem(namespace, "key");
    assert.deepEqual(again.value, { hello: 2 });
    assert.ok(Date.parse(again.updatedAt) > Date.parse(first.updatedAt ?? first.updated_at));
    assert.deepEqual((await client.store.listNamespaces({ prefix: namespace })).namespaces, [namespace]);
    await client.store.deleteItem(namespace, "key");
    assert.equal(await client.store.getItem(namespace, "key"), null);
    assert.deepEqual((await client.store.searchItems(namespace)).items, []);
  });

  test("41 a failing run ends its stream with the error", async () => {
    const t = await client.threads.create();
    const chunks = await gather(client.runs.stream(t.thread_id, "error", { input: { messages: [] }, streamMode: ["debug", "events"] }));
    assert.equal(chunks.at(-1).event, "error");
    assert.deepEqual(chunks.at(-1).data, { error: "CustomError", message: "Boo!" });
  });

  test("42, 43 a failing run joined", async () => {
    const t = await client.threads.create();
    const run = await client.runs.create(t.thread_id, "error", { input: { messages: [] } });
    await client.runs.join(t.thread_id, run.run_id);
    assert.equal((await client.runs.get(t.thread_id, run.run_id)).status, "error");
    const second = await client.runs.create(t.thread_id, "error", { input: { messages: [] } });
    const chunks = await gather(client.runs.joinStream(t.thread_id, second.run_id));
    assert.equal(chunks.at(-1).event, "error");
    assert.deepEqual(chunks.at(-1).data, { error: "CustomError", message: "Boo!" });
    assert.equal((await client.runs.get(t.thread_id, second.run_id)).status, "error");
  });

  for (const delay of [1000, 8000, 12000]) {
    test(`44 a run of ${delay} ms joined`, { concurrency: true }, async () => {
      const t = await client.threads.create();
      const run = await client.runs.create(t.thread_id, "delay", { input: { messages: [], delay } });
      await client.runs.join(t.thread_id, run.run_id);
      assert.equal((await client.runs.get(t.thread_id, run.run_id)).status, "success");
      assert.equal((await client.threads.getState(t.thread_id)).values.messages[0].content, `finished after ${delay}ms`);
    });
  }

  test("53 RemoteGraph streams values", async () => {
    const remote = new RemoteGraph({ graphId: "agent", url });
    const seen = [];
    for await (const chunk of await remote.stream(input, { streamMode: "values" })) seen.push(chunk);
    assert.deepEqual(seen.map((v) => v.messages.length), [1, 2, 3, 4]);
    assert.deepEqual(contents(seen.at(-1).messages), ["foo", "begin", "tool_call__begin", "end"]);
  });

  test("55 a graph built from its configuration", async () => {
    const messages = ["input"];
    const config = (nodeName) => ({ configurable: { nodeName } });
    assert.deepEqual(await client.runs.wait(null, "dynamic", { input: { messages } }), { messages: ["input", "default"], node: "default" });
    const fromRun = await client.runs.wait(null, "dynamic", { input: { messages }, config: config("run") });
    assert.equal(fromRun.node, "run");
    const assistant = await client.assistants.create({ graphId: "dynamic", config: config("assistant") });
    assert.equal((await client.runs.wait(null, assistant.assistant_id, { input: { messages } })).node, "assistant");
    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, assistant.assistant_id, { input: { messages } });
    await client.threads.updateState(t.thread_id, { values: { messages: "update" }, asNode: "assistant" });
    assert.deepEqual((await client.threads.getState(t.thread_id)).values.messages, ["input", "assistant", "update"]);
  });

  test("62 runtime context", async () => {
    const t = await client.threads.create();
    const created = [];
    const values = await client.runs.wait(t.thread_id, "simple_runtime", {
      input: { messages: [human("input")] },
      context: { model: "openai" },
      onRunCreated: (run) => created.push(run),
    });
    assert.deepEqual(values, { model: "openai" });
    assert.equal(created.length, 1);
    assert.equal(created[0].thread_id, t.thread_id);
  });

  test("63 runtime schema", async () => {
    const a = await client.assistants.create({ graphId: "simple_runtime" });
    const { config_schema, context_schema } = await client.assistants.getSchemas(a.assistant_id);
    for (const schema of [config_schema, context_schema]) {
      assert.deepEqual(schema.properties.model.enum, ["anthropic", "openai", "unknown"]);
    }
  });

  test("64 runtime context of an assistant", async () => {
    const a = await client.assistants.create({ graphId: "simple_runtime", context: { model: "openai" } });
    const run = () => client.runs.wait(null, a.assistant_id, { input: { messages: [human("input")] } });
    assert.deepEqual(await run(), { model: "openai" });
    await client.assistants.update(a.assistant_id, { context: { model: "anthropic" } });
    assert.deepEqual(await run(), { model: "anthropic" });
  });

  test("65 runtime context from the environment", async () => {
    const values = await client.runs.wait(null, "simple_runtime", { input: { messages: [human("input")] } });
    assert.deepEqual(values, { model: "unknown" });
  });

  test("a batch of stateless runs", async () => {
    const runs = await client.runs.createBatch([1, 2].map(() => ({ assistantId: "agent", input })));
    assert.equal(new Set(runs.map((r) => r.run_id)).size, 2);
  });

  test("a stateless stream has ids and leaves no thread behind", async () => {
    let created;
    const chunks = await gather(client.runs.stream(null, "agent", { input, streamMode: "values", onRunCreated: (r) => (created = r) }));
    assert.deepEqual(chunks.map((c) => c.id), chunks.map((_, i) => String(i)));
    assert.ok(created.run_id);
    assert.ok((await client.threads.search({ limit: 1000 })).every((t) => t.metadata?.run_id !== created.run_id));
  });

  test("crons", async () => {
    const t = await client.threads.create();
    const cron = await client.crons.createForThread(t.thread_id, "agent", { schedule: "* * * * *", input });
    assert.equal(cron.schedule, "* * * * *");
    assert.ok(Date.parse(cron.next_run_date) > Date.now());
    const found = await client.crons.search({ threadId: t.thread_id });
    assert.deepEqual(found.map((c) => c.cron_id), [cron.cron_id]);
    const changed = await client.crons.update(cron.cron_id, { schedule: "0 0 1 1 *" });
    assert.equal(changed.schedule, "0 0 1 1 *");
    assert.equal(await client.crons.count({ threadId: t.thread_id }), 1);
    await client.crons.delete(cron.cron_id);
    assert.deepEqual(await client.crons.search({ threadId: t.thread_id }), []);
    await rejects(client.crons.createForThread(t.thread_id, "agent", { schedule: "not a schedule", input }), "HTTP 4");
  });

  test("D-55 a cancelled run says nothing more", async () => {
    const t = await client.threads.create();
    const run = await client.runs.create(t.thread_id, "agent", { input: { ...input, sleep: { steps: 100, ms: 100 } }, streamMode: ["custom", "values"] });
    const seen = [];
    const reading = (async () => {
      for await (const c of client.runs.joinStream(t.thread_id, run.run_id)) seen.push(c);
    })();
    await until("the first custom event", () => seen.some((c) => c.event === "custom"));
    const asked = Date.now();
    await client.runs.cancel(t.thread_id, run.run_id, true);
    assert.ok(Date.now() - asked < 5000);
    await reading;
    assert.equal((await client.runs.get(t.thread_id, run.run_id)).status, "interrupted");
    assert.equal((await client.threads.get(t.thread_id)).status, "idle");
    assert.ok(seen.every((c) => c.event !== "error"));
  });
});
