// A second message under each strategy, long threads and fast models.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, bench, human, openPage, remount, says, stays, texts } from "./page.mjs";

/** What the model says in n tokens. */
const chunks = (n) => Array.from({ length: n }, (_, i) => `${i.toString(36).padStart(4, "0")} `).join("");

const post = async (path, body) => {
  const response = await fetch(bench + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
};

for (const library of libraries) {
  describe(`${library.name}: a second message while a run is going`, () => {
    const FIRST = "tokens=80 delay_us=40000"; // goes on for some seconds
    const SECOND = "tokens=2 delay_us=0";
    const answers = { [FIRST]: chunks(80), [SECOND]: chunks(2) };

    // M-55, M-56, D-44
    for (const [strategy, ...expected] of [
      ["enqueue", FIRST, answers[FIRST], SECOND, answers[SECOND]],
      ["interrupt", FIRST, SECOND, answers[SECOND]],
      ["rollback", SECOND, answers[SECOND]],
      ["reject", FIRST, answers[FIRST]],
    ]) {
      test(strategy, async (t) => {
        const view = await (await openPage(t, { library: library.name })).mount({ api: bench, graph: "echo_stream" });
        await view.onceCreated(([content, multitaskStrategy]) => {
          window.streams.main.submit({ messages: [{ type: "human", content }] }, { multitaskStrategy })
            .catch((error) => window.note("rejected", String(error)));
        }, [SECOND, strategy]);
        await view.submit(human(FIRST));
        await view.until("the end", (s) => s.loading === IDLE && s.queue.length === 0 && texts(s).includes(expected.at(-1)));
        assert.equal((await view.page.notes("rejected")).length, strategy === "reject" ? 1 : 0);
        const again = await (await remount(view)).until("what the thread keeps", says(...expected));
        assert.equal(again.loading, IDLE);
      });
    }
  });

  describe(`${library.name}: stop`, () => {
    const runs = async (threadId) => (await fetch(`${bench}/threads/${threadId}/runs`)).json();

    // M-18, D-55, D-56
    test("ends the run on the server; leaving the page does not", async (t) => {
      const view = await (await openPage(t, { library: library.name })).mount({ api: bench, graph: "echo_stream" });
      await view.submit(human("tokens=4000 delay_us=10000"));
      const { threadId } = await view.until("streaming", (s) => s.messages[1]?.text.length > 50);
      await view.call("stop");
      const stopped = Date.now();
      while ((await runs(threadId))[0].status === "running") assert.ok(Date.now() - stopped < 20_000, "still running");
      await view.until("idle", (s) => s.loading === IDLE);
      // What was on its way is still shown; what the model would have said isn't.
      await stays(view, "a part of the text", (s) => s.messages[1].text.length < chunks(4000).length, 300);

      const other = await view.page.mount(view.props, { name: "other" });
      await other.submit(human("tokens=100 delay_us=10000"));
      const second = await other.until("streaming", (s) => s.messages[1]?.text.length > 50);
      await other.unmount();
      const left = Date.now();
      while ((await runs(second.threadId))[0].status === "running") assert.ok(Date.now() - left < 20_000, "still running");
      assert.equal((await runs(second.threadId))[0].status, "success");
    });

    // M-56, D-57
    test("works in the first moment, and what is said next is answered", async (t) => {
      const view = await (await openPage(t, { library: library.name })).mount({ api: bench, graph: "echo_stream" });
      await view.onceCreated(() => window.streams.main.stop());
      await view.submit(human("tokens=200 delay_us=40000"));
      const { threadId } = await view.idle();
      const stopped = Date.now();
      while (["pending", "running"].includes((await runs(threadId))[0].status)) assert.ok(Date.now() - stopped < 20_000, "still running");
      await view.submit(human("tokens=2"));
      await view.until("the answer", (s) => s.loading === IDLE && texts(s).includes(chunks(2)));
      const kept = await (await remount(view)).until("the thread", (s) => texts(s).at(-1) === chunks(2));
      assert.deepEqual(texts(kept), ["tokens=200 delay_us=40000", "tokens=2", chunks(2)]);
    });
  });

  describe(`${library.name}: a thread of 200 messages`, () => {
    test("opens whole, and goes on", async (t) => {
      const thread = randomUUID();
      const messages = Array.from({ length: 200 }, (_, i) => ({ type: i % 2 ? "ai" : "human", content: `message ${i}`, id: `m-${i}` }));
      await post("/threads", { thread_id: thread, metadata: { graph_id: "echo_stream" } });
      await post(`/threads/${thread}/state`, { values: { messages }, as_node: "echo" });
      const view = await (await openPage(t, { library: library.name })).mount({ api: bench, graph: "echo_stream", thread });
      const shown = await view.until("all messages", (s) => s.messages.length === 200);
      assert.deepEqual(texts(shown), messages.map((m) => m.content));
      await view.submit(human("tokens=20"));
      const later = await view.until("the answer", (s) => s.loading === IDLE && s.messages.length === 202);
      assert.deepEqual(later.messages.slice(0, 200).map((m) => m.id), messages.map((m) => m.id));
    });
  });

  describe(`${library.name}: a model of 1,000 tokens a second`, () => {
    const expected = Array.from({ length: 3000 }, (_, i) => i.toString(36).padStart(4, "0"));

    // M-26, M-58
    test("every token arrives, once, while the page stays alive", async (t) => {
      const view = await (await openPage(t, { library: library.name })).mount({ api: bench, graph: "echo_stream" });
      await view.watch(() => document.querySelectorAll("[data-message]").length);
      const began = Date.now();
      await view.submit(human("tokens=3000 delay_us=1000"));
      await view.until("streaming", (s) => s.messages[1]?.text.length > 100);
      await view.settles("the end", (s) => {
        assert.equal(s.loading, IDLE);
        assert.deepEqual(s.messages[1]?.text.trim().split(" "), expected);
      }, 60_000);
      const frames = (await view.frames()).length;
      t.diagnostic(`3000 tokens in ${Date.now() - began} ms, ${frames} frames`);
      assert.ok(frames > 20, `${frames} frames`);
    });

    // M-36, M-45
    test("a reload in mid-run shows all of them", async (t) => {
      const page = await openPage(t, { library: library.name });
      const first = await page.mount({ api: bench, graph: "echo_stream" });
      await first.submit(human("tokens=3000 delay_us=1000"));
      const { threadId } = await first.until("streaming", (s) => s.messages[1]?.text.length > 100);
      await page.load();
      const view = await page.mount({ ...first.props, thread: threadId });
      const shown = await view.until("the end", (s) => s.loading === IDLE && s.messages[1]?.text.length === 3000 * 5, 60_000);
      assert.deepEqual(shown.messages[1].text.trim().split(" "), expected);
    });
  });
}

describe("many tabs of one browser", () => {
  // D-66
  test("seven follow a run over WebSocket, where six connections per origin don't count", async (t) => {
    const page = await openPage(t);
    const props = { api: bench, graph: "echo_stream", thread: randomUUID(), options: { transport: "websocket" } };
    const views = [];
    for (let i = 1; i <= 7; i++) views.push(await page.mount(props, { name: `tab-${i}` }));
    await views[0].submit(human("tokens=100 delay_us=10000"));
    await views[0].until("streaming", (s) => s.messages[1]?.text.length > 50);
    // The others come to a thread that runs.
    for (const view of views.slice(1)) await view.unmount();
    for (let i = 2; i <= 7; i++) views[i - 1] = await page.mount(props, { name: `tab-${i}` });
    for (const view of views) await view.until("the whole text", (s) => s.loading === IDLE && s.messages[1]?.text.length === 500);
  });
});
