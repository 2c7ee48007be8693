// The outcome of the whole: a run is stopped by an interrupt, the server by SIGKILL, and the thread goes on.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { contents, gather, human, start, until } from "./server.mjs";

const dir = await mkdtemp(join(tmpdir(), "parley-"));
after(() => rm(dir, { recursive: true, force: true }));
const args = ["--agents", "conformance,demo", "--data", dir];

describe("a killed server", () => {
  test("D-22 resumes a suspended thread with resume and update", async () => {
    const first = await start(args);
    const t = await first.client.threads.create();
    await first.client.runs.wait(t.thread_id, "agent", { input: { messages: [human("foo", "m1")], interrupt: true } });
    const pending = await first.client.threads.getState(t.thread_id);
    await first.stop("SIGKILL");

    const second = await start(args, { port: first.port });
    assert.deepEqual(await second.client.threads.getState(t.thread_id), pending);
    const chunks = await gather(second.client.runs.stream(t.thread_id, "agent", {
      command: { resume: { approved: true }, update: { messages: [{ type: "ai", id: "card", content: "pushed" }] } }, streamMode: "values",
    }));
    const final = chunks.at(-1).data;
    assert.equal(final.messages.filter((m) => m.id === "card").length, 1);
    await second.stop("SIGKILL");

    const third = await start(args, { port: first.port });
    const state = await third.client.threads.getState(t.thread_id);
    assert.deepEqual(state.values, final);
    assert.deepEqual(state.next, []);
    await third.stop();
  });

  test("goes on with a run that was under way", async () => {
    const first = await start(args);
    const t = await first.client.threads.create();
    const run = await first.client.runs.create(t.thread_id, "agent", { input: { messages: [human("foo")], sleep: 2 } });
    await until("the input is stored", async () => (await first.client.threads.getState(t.thread_id)).values.messages?.length === 1);
    await first.stop("SIGKILL");
    const second = await start(args, { port: first.port });
    await second.client.runs.join(t.thread_id, run.run_id);
    assert.equal((await second.client.runs.get(t.thread_id, run.run_id)).status, "success");
    assert.deepEqual(contents((await second.client.threads.getState(t.thread_id)).values.messages).length, 4);
    await second.stop();
  });

  test("an SDK client that was streaming reconnects and misses nothing", async () => {
    const first = await start(args);
    const t = await first.client.threads.create();
    const seen = [];
    const reading = (async () => {
      for await (const c of first.client.runs.stream(t.thread_id, "agent", {
        input: { messages: [human("foo")], sleep: { steps: 20, ms: 150 } }, streamMode: ["values", "custom"], streamResumable: true,
      })) seen.push(c);
    })();
    await until("some custom events", () => seen.filter((c) => c.event === "custom").length > 3);
    await first.stop("SIGKILL");
    const second = await start(args, { port: first.port });
    await reading;
    assert.equal(seen.at(-1).event, "values");
    assert.equal(seen.at(-1).data.messages.length, 4);
    const ids = seen.map((c) => Number(c.id));
    assert.deepEqual(ids, [...new Set(ids)].toSorted((a, b) => a - b), "no id twice, none out of order");
    await second.stop();
  });
});
