// A second message under each strategy, long threads and fast models.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { IDLE, bench, human, openPage, react, remount, says, texts } from "./page.mjs";

const post = async (path, body) => {
  const response = await fetch(bench + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
};

describe("a second message while a run is going", () => {
  /** A running thread, a second message with a strategy, and the end of it all. */
  async function second(t, strategy, answers) {
    const view = await (await openPage(t)).mount({ api: react, graph: "slow_graph" });
    await view.tab.evaluate((multitaskStrategy) => {
      const submit = (content, options) => window.streams.main.submit({ messages: [{ type: "human", content }] }, options)
        .catch((error) => window.note("rejected", String(error)));
      submit("First");
      const started = setInterval(() => {
        if (!window.notes.some(([what]) => what === "created")) return;
        clearInterval(started);
        submit("Second", { multitaskStrategy });
        window.note("second");
      }, 5);
    }, strategy);
    await view.tab.waitForFunction(() => window.notes.some(([what]) => what === "second"));
    await view.until("the end", (s) => s.loading === IDLE && s.queue.length === 0 && texts(s).filter((text) => text === "Done.").length === answers, 10_000);
    return view;
  }

  // M-55
  for (const [strategy, expected] of [
    ["enqueue", ["First", "Done.", "Second", "Done."]],
    ["interrupt", ["First", "Second", "Done."]],
    ["rollback", ["Second", "Done."]],
    ["reject", ["First", "Done."]],
  ]) {
    test(strategy, async (t) => {
      const view = await second(t, strategy, expected.filter((text) => text === "Done.").length);
      await (await remount(view)).until("what the thread keeps", says(...expected), 10_000);
    });
  }
});

describe("a thread of 200 messages", () => {
  test("opens whole, and goes on", async (t) => {
    const thread = randomUUID();
    const messages = Array.from({ length: 200 }, (_, i) => ({ type: i % 2 ? "ai" : "human", content: `message ${i}`, id: `m-${i}` }));
    await post("/threads", { thread_id: thread, metadata: { graph_id: "echo_stream" } });
    await post(`/threads/${thread}/state`, { values: { messages }, as_node: "echo" });
    const view = await (await openPage(t)).mount({ api: bench, graph: "echo_stream", thread });
    const shown = await view.until("all messages", (s) => s.messages.length === 200);
    assert.deepEqual(texts(shown), messages.map((m) => m.content));
    await view.submit(human("tokens=20"));
    const later = await view.until("the answer", (s) => s.loading === IDLE && s.messages.length === 202, 10_000);
    assert.deepEqual(later.messages.slice(0, 200).map((m) => m.id), messages.map((m) => m.id));
  });
});

describe("a model of 1,000 tokens a second", () => {
  const expected = Array.from({ length: 3000 }, (_, i) => i.toString(36).padStart(4, "0"));

  // M-26, M-58
  test("every token arrives, once, while the page stays alive", async (t) => {
    const view = await (await openPage(t)).mount({ api: bench, graph: "echo_stream" });
    await view.tab.evaluate(() => (window.frames_ = window.watchFrames("[data-message]")));
    const began = Date.now();
    await view.submit(human("tokens=3000 delay_us=1000"));
    await view.until("streaming", (s) => s.messages[1]?.text.length > 100, 15_000);
    await view.settles("the end", (s) => {
      assert.equal(s.loading, IDLE);
      assert.deepEqual(s.messages[1]?.text.trim().split(" "), expected);
    }, 30_000);
    const frames = (await view.tab.evaluate(() => window.frames_.stop())).length;
    t.diagnostic(`3000 tokens in ${Date.now() - began} ms, ${frames} frames`);
    assert.ok(frames > 20, `${frames} frames`);
  });

  // M-36, M-45
  test("a reload in mid-run shows all of them", async (t) => {
    const page = await openPage(t);
    const first = await page.mount({ api: bench, graph: "echo_stream" });
    await first.submit(human("tokens=3000 delay_us=1000"));
    const { threadId } = await first.until("streaming", (s) => s.messages[1]?.text.length > 100, 15_000);
    await page.load();
    const view = await page.mount({ ...first.props, thread: threadId });
    const shown = await view.until("the end", (s) => s.loading === IDLE && s.messages[1]?.text.length === 3000 * 5, 30_000);
    assert.deepEqual(shown.messages[1].text.trim().split(" "), expected);
  });
});
