// Cases 49-52 of spec/rest-api.md 7.2: a second run on a busy thread.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contents, human, rejects, serve } from "./server.mjs";

const { client } = await serve(["--agents", "conformance", "--ephemeral"]);
const run = (thread, text, sleep, more = {}) =>
  client.runs.create(thread, "agent", { input: { messages: [human(text)], sleep }, ...more });

describe("multitask strategies", { concurrency: true }, () => {
  test("49 reject", async () => {
    const t = await client.threads.create();
    const first = await run(t.thread_id, "foo", 1);
    await rejects(run(t.thread_id, "bar", 0, { multitaskStrategy: "reject" }), "HTTP 422: Thread is already running a task.");
    await client.runs.join(t.thread_id, first.run_id);
    assert.equal((await client.runs.get(t.thread_id, first.run_id)).status, "success");
  });

  test("50 interrupt", async () => {
    const t = await client.threads.create();
    const first = await run(t.thread_id, "foo", 2);
    const second = await run(t.thread_id, "bar", 0, { multitaskStrategy: "interrupt" });
    await Promise.all([first, second].map((r) => client.runs.join(t.thread_id, r.run_id)));
    assert.equal((await client.runs.get(t.thread_id, first.run_id)).status, "interrupted");
    assert.equal((await client.runs.get(t.thread_id, second.run_id)).status, "success");
    const { messages } = (await client.threads.getState(t.thread_id)).values;
    if (messages[0].content === "bar") assert.equal(messages.length, 4);
    else {
      assert.equal(messages[0].content, "foo");
      assert.ok(messages.length >= 5 && messages.length <= 8, String(contents(messages)));
    }
  });

  test("51 rollback", async () => {
    const t = await client.threads.create();
    const first = await run(t.thread_id, "foo", 4);
    const second = await run(t.thread_id, "bar", 0, { multitaskStrategy: "rollback" });
    await client.runs.join(t.thread_id, second.run_id);
    await rejects(client.runs.get(t.thread_id, first.run_id), "HTTP 404");
    assert.equal((await client.runs.get(t.thread_id, second.run_id)).status, "success");
    assert.deepEqual(contents((await client.threads.getState(t.thread_id)).values.messages), ["bar", "begin", "tool_call__begin", "end"]);
  });

  test("52 enqueue", async () => {
    const t = await client.threads.create();
    const first = await run(t.thread_id, "foo", 2);
    const second = await run(t.thread_id, "bar", 0, { multitaskStrategy: "enqueue" });
    await Promise.all([first, second].map((r) => client.runs.join(t.thread_id, r.run_id)));
    for (const r of [first, second]) assert.equal((await client.runs.get(t.thread_id, r.run_id)).status, "success");
    const all = contents((await client.threads.getState(t.thread_id)).values.messages);
    assert.equal(all.length, 8);
    assert.equal(all[0], "foo");
    assert.equal(all.at(-4), "bar");
  });
});
