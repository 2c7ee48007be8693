// Cases 13-19, 45 and 54 of spec/rest-api.md 7.2.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contents, gather, human, rejects, serve } from "./server.mjs";

const { client } = await serve(["--agents", "conformance", "--ephemeral"]);

const input = { messages: [human("foo", "initial-message")] };

/** A thread on which the fixture agent ran once. */
async function ran(options = {}) {
  const thread = await client.threads.create();
  await client.runs.wait(thread.thread_id, "agent", { input, ...options });
  return thread.thread_id;
}

/** A state without what is allowed to differ between a thread and its copy. */
function withoutThread(state) {
  const copy = structuredClone(state);
  delete copy.metadata.thread_id;
  delete copy.checkpoint.thread_id;
  if (copy.parent_checkpoint) delete copy.parent_checkpoint.thread_id;
  return copy;
}

describe("threads", () => {
  test("13 create, read, update and delete", async () => {
    const meta = { owner: crypto.randomUUID() };
    let t = await client.threads.create({ metadata: meta });
    assert.deepEqual(t.metadata, meta);
    assert.equal(t.status, "idle");
    t = await client.threads.get(t.thread_id);
    assert.deepEqual(t.metadata, meta);
    await client.threads.update(t.thread_id, { metadata: { modified: true } });
    t = await client.threads.get(t.thread_id);
    assert.deepEqual(t.metadata, { ...meta, modified: true });
    const second = await client.threads.create({ metadata: meta });
    const found = await client.threads.search({ metadata: meta });
    assert.deepEqual(found.map((x) => x.thread_id), [second.thread_id, t.thread_id]);
    assert.equal((await client.threads.search({ metadata: { ...meta, modified: true } })).length, 1);
    await client.threads.delete(t.thread_id);
    await rejects(client.threads.get(t.thread_id), `HTTP 404: Thread with ID ${t.thread_id} not found`);
    await rejects(client.threads.create({ threadId: second.thread_id }), "HTTP 409: Thread already exists");
    const same = await client.threads.create({ threadId: second.thread_id, ifExists: "do_nothing" });
    assert.deepEqual(same.metadata, meta);
  });

  test("14 list with filter, page and order", async () => {
    const meta = { list: crypto.randomUUID() };
    assert.deepEqual(await client.threads.search({ metadata: meta }), []);
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await client.threads.create({ metadata: { ...meta, i } })).thread_id);
    const page = (o) => client.threads.search({ metadata: meta, ...o }).then((l) => l.map((t) => t.thread_id));
    assert.deepEqual(await page({ limit: 2 }), [ids[2], ids[1]]);
    assert.deepEqual(await page({ offset: 1, limit: 1 }), [ids[1]]);
    assert.deepEqual(await page({ sortBy: "created_at", sortOrder: "asc" }), ids);
    assert.deepEqual(await page({ sortBy: "created_at", sortOrder: "desc" }), ids.toReversed());
    assert.deepEqual(await page({ status: "busy" }), []);
    assert.equal(await client.threads.count({ metadata: meta }), 3);
  });

  test("15 no state update while a run is in flight", async () => {
    const t = await client.threads.create();
    const run = await client.runs.create(t.thread_id, "agent_simple", { input, afterSeconds: 5 });
    const update = { values: { messages: [{ role: "ai", content: "edited" }] }, asNode: "agent" };
    await rejects(client.threads.updateState(t.thread_id, update), "HTTP 409");
    await client.runs.cancel(t.thread_id, run.run_id);
    await client.runs.join(t.thread_id, run.run_id);
    assert.equal((await client.runs.get(t.thread_id, run.run_id)).status, "interrupted");
    assert.equal((await client.threads.get(t.thread_id)).status, "idle");
    await client.threads.updateState(t.thread_id, update);
    const state = await client.threads.getState(t.thread_id);
    assert.deepEqual(contents(state.values.messages), ["edited"]);
  });

  test("16 copy", async () => {
    const id = await ran();
    const copy = await client.threads.copy(id);
    assert.notEqual(copy.thread_id, id);
    assert.deepEqual(withoutThread(await client.threads.getState(copy.thread_id)), withoutThread(await client.threads.getState(id)));
    const [original, copied] = await Promise.all([id, copy.thread_id].map((t) => client.threads.getHistory(t)));
    assert.equal(copied.length, original.length);
    for (let i = 0; i < original.length; i++) {
      assert.deepEqual(withoutThread(copied[i]), withoutThread(original[i]));
      assert.equal(copied[i].checkpoint.thread_id, copy.thread_id);
      assert.equal(copied[i].metadata.thread_id, copy.thread_id);
    }
  });

  test("17 a run on a copy leaves the original alone", async () => {
    const id = await ran();
    const copy = await client.threads.copy(id);
    const before = await client.threads.getState(id);
    await client.runs.wait(copy.thread_id, "agent", { input: { messages: [human("bar")] } });
    assert.equal((await client.threads.getState(copy.thread_id)).values.messages.length, 8);
    assert.deepEqual(await client.threads.getState(id), before);
  });

  test("18 history", async () => {
    const t = await client.threads.create();
    assert.deepEqual(await client.threads.getHistory(t.thread_id), []);
    await client.runs.wait(t.thread_id, "agent", { input });
    const first = await client.threads.getHistory(t.thread_id);
    assert.equal(first.length, 5);
    assert.deepEqual(first[0].next, []);
    assert.equal(first[0].values.messages.length, 4);
    assert.deepEqual(first.at(-1).next, ["__start__"]);
    const metadata = { mark: "second" };
    await client.runs.wait(t.thread_id, "agent", { input: { messages: [human("bar")] }, metadata });
    assert.equal((await client.threads.getHistory(t.thread_id, { limit: 100 })).length, 10);
    const filtered = await client.threads.getHistory(t.thread_id, { metadata, limit: 100 });
    assert.equal(filtered.length, 5);
    assert.equal(filtered.at(-1).values.messages.length, 4);
    const older = await client.threads.getHistory(t.thread_id, { limit: 2, before: { configurable: { checkpoint_id: filtered[0].checkpoint.checkpoint_id } } });
    assert.deepEqual(older.map((s) => s.checkpoint.checkpoint_id), filtered.slice(1, 3).map((s) => s.checkpoint.checkpoint_id));
  });

  test("19 an update of a copy replaces the message there only", async () => {
    const id = await ran();
    const copy = await client.threads.copy(id);
    const edit = { messages: [{ role: "human", content: "edited", id: "initial-message" }] };
    await client.threads.updateState(copy.thread_id, { values: edit });
    assert.equal((await client.threads.getState(copy.thread_id)).values.messages[0].content, "edited");
    assert.equal((await client.threads.getState(copy.thread_id)).values.messages.length, 4);
    assert.equal((await client.threads.getState(id)).values.messages[0].content, "foo");
  });

  test("45 update by a command on a finished thread", async () => {
    const id = await ran();
    const events = await gather(
      client.runs.stream(id, "agent", { command: { update: { keyOne: "value3", keyTwo: "value4" } }, streamMode: ["values"] }),
    );
    assert.ok(events.every((e) => e.event !== "error"));
    const state = await client.threads.getState(id);
    assert.equal(state.values.keyOne, "value3");
    assert.equal(state.values.keyTwo, "value4");
  });

  test("46 update by a command as pairs", async () => {
    const id = await ran();
    await client.runs.wait(id, "agent", { command: { update: [["keyOne", "value3"], ["keyTwo", "value4"]] } });
    const { values } = await client.threads.getState(id);
    assert.deepEqual([values.keyOne, values.keyTwo], ["value3", "value4"]);
  });

  test("54 a thread rebuilt from supersteps", async () => {
    const t = await client.threads.create();
    const updates = [];
    for await (const e of client.runs.stream(t.thread_id, "agent", { input, streamMode: ["updates"] })) {
      if (e.event === "updates") updates.push(e.data);
    }
    const history = await client.threads.getHistory(t.thread_id);
    const first = history.at(-2).values;
    const rebuilt = await client.threads.create({
      graphId: "agent",
      supersteps: [
        { updates: [{ values: first, asNode: "__input__" }] },
        { updates: [{ values: first, asNode: "__start__" }] },
        ...updates.map((u) => ({ updates: Object.entries(u).map(([asNode, values]) => ({ values, asNode })) })),
      ],
    });
    const again = await client.threads.getHistory(rebuilt.thread_id);
    const shape = (h) => h.map(({ next, values }) => ({ next, values }));
    assert.deepEqual(shape(again), shape(history));
  });

  test("prune drops all but the newest checkpoint, or the threads", async () => {
    const [a, b] = [await ran(), await ran()];
    assert.equal((await client.threads.prune([a], { strategy: "keep_latest" })).pruned_count, 1);
    assert.equal((await client.threads.getHistory(a)).length, 1);
    assert.equal((await client.threads.getState(a)).values.messages.length, 4);
    assert.equal((await client.threads.prune([b], { strategy: "delete" })).pruned_count, 1);
    await rejects(client.threads.get(b), "HTTP 404");
  });

});
