// Files core, client, context, controller-stability, errors and initial-values of spec/streaming-protocol.md 7.1.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, human, openPage, react, remount, says } from "./page.mjs";

const text = { api: react, graph: "stategraph_text" };

for (const library of libraries) {
  const mounted = (t, graph = "stategraph_text", props, options) => mountOn(t, library, graph, props, options);

  describe(`${library.name}: core`, () => {
    test("shows the initial state", async (t) => {
      const view = await mounted(t);
      await view.settles("mounted", (shown) => {
        assert.ok(shown.loading === IDLE);
        assert.deepEqual([shown.messages, shown.threadId, shown.error], [[], "none", ""]);
      });
      assert.equal(view.page.requests.filter((r) => r.path.includes("/threads")).length, 0);
    });

    // M-1, M-4, M-6, M-7, M-19, M-20, M-26, M-36
    test("submits, streams and shows the answer", async (t) => {
      const view = await mounted(t);
      await view.submit(human("Hello"));
      await view.idle(says("Hello", "Plan accepted."));
      assert.deepEqual(view.page.errors, []);
    });

    // M-11
    test("assigns a thread id on the first submit", async (t) => {
      const view = await mounted(t);
      await view.submit(human("Hello"));
      const { threadId } = await view.idle();
      assert.match(threadId, /^[0-9a-f-]{36}$/);
      assert.deepEqual(await view.page.notes("threadId"), [[threadId]]);
      const [[run]] = await view.page.notes("created");
      assert.ok(run.length > 0);
    });

    // M-11, M-41
    test("honours an external thread id", async (t) => {
      const thread = randomUUID();
      const view = await mounted(t, "stategraph_text", { thread });
      await view.until("hydrated", (s) => s.threadLoading === "false");
      await view.submit(human("Hello"));
      const shown = await view.idle(says("Hello", "Plan accepted."));
      assert.equal(shown.threadId, thread);
    });

    // M-12, M-13
    test("forwards the options of a submit", async (t) => {
      const view = await mounted(t);
      await view.submit(human("Hello"), { metadata: { tag: "t1", run: 7 }, config: { configurable: { tone: "dry" } } });
      const shown = await view.idle(says("Hello", "Plan accepted."));
      const thread = await (await fetch(`${library.api}/threads/${shown.threadId}`)).json();
      assert.deepEqual([thread.metadata.tag, thread.metadata.run], ["t1", 7]);
    });

    // M-18
    test("stop ends an in-flight run", async (t) => {
      const view = await mounted(t, "slow_graph");
      await view.onceCreated(() => window.streams.main.stop());
      await view.submit(human("Hello"));
      await view.idle();
    });

    // M-19, M-21
    test("a graph's error ends the run", async (t) => {
      const view = await mounted(t, "error_graph");
      await view.submit(human("Hello"));
      await view.idle();
    });

    // M-24
    test("removed messages go", async (t) => {
      const view = await mounted(t, "remove_message_graph");
      await view.submit(human("Hello"));
      await view.idle(says("Hello", "Step 2: To Keep", "Step 3: To Keep"));
    });
  });

  describe(`${library.name}: errors`, () => {
    test("a submit's onError and the stream's error tell of a failure", async (t) => {
      const view = await mounted(t, "error_graph");
      await view.tab.evaluate(() => {
        const input = { messages: [{ type: "human", content: "Hello" }] };
        window.streams.main.submit(input, { onError: (error) => window.note("onError", String(error?.message ?? error)) }).catch(() => {});
      });
      const shown = await view.idle((s) => s.error !== "");
      assert.match(shown.error, /Intentional error for testing/);
      assert.equal((await view.page.notes("onError")).length, 1);
    });
  });

  describe(`${library.name}: client`, () => {
    // M-40
    test("requests go through the client's onRequest", async (t) => {
      const first = await mounted(t);
      await first.submit(human("Hello"));
      await first.idle();
      const view = await remount(first, { client: true });
      await view.until("hydrated", (s) => s.messages.length === 2);
      const calls = await view.page.notes("onRequest");
      assert.ok(calls.some(([path, init]) => /^\/threads\/.+\/state$/.test(path) && init === "object"));
      await view.submit(human("Again"));
      await view.idle(undefined);
    });
  });

  describe(`${library.name}: context`, () => {
    test("siblings share one stream", async (t) => {
      const view = await mounted(t, "stategraph_text", {}, { kind: "context" });
      await view.submit(human("Hello"));
      const shown = await view.idle(says("Hello", "Plan accepted."));
      assert.equal(shown.sibling, IDLE);
    });

    test("a hook outside a provider says which one is missing", async (t) => {
      const view = await mounted(t, "stategraph_text", {}, { kind: "outside", name: "outside" });
      const shown = await view.until("the error", (s) => s.thrown);
      assert.match(shown.thrown, { react: /StreamProvider/, svelte: /provideStream/ }[library.name]);
    });
  });

  describe(`${library.name}: initial values`, () => {
    const options = { initialValues: { messages: [{ type: "human", content: "Cached", id: "cached-1" }], status: "cached" } };

    test("are shown without any data of the server", async (t) => {
      const view = await mounted(t, "stategraph_text", { options });
      await view.settles("mounted", (shown) => {
        assert.ok(shown.messages.length === 1);
        assert.equal(shown.messages[0].text, "Cached");
        assert.equal(shown.values.status, "cached");
      });
    });

    test("give way to the server's state", async (t) => {
      const view = await mounted(t, "stategraph_text", { options });
      await view.submit(human("Fresh request"));
      await view.idle((s) => s.messages[0].text === "Fresh request" && s.messages[1]?.text === "Plan accepted.");
    });
  });
}

describe("react: controller stability", () => {
  test("one controller over re-renders", async (t) => {
    const first = await (await openPage(t)).mount(text);
    await first.submit(human("Hello"));
    await first.idle();
    const page = await openPage(t);
    const { threadId } = await first.read();
    const view = await page.mount({ ...text, thread: threadId });
    await view.until("hydrated", (s) => s.messages.length === 2);
    for (let tick = 0; tick < 5; tick++) await view.update({ tick });
    await view.until("still there", (s) => s.messages.length === 2);
    assert.deepEqual(await page.notes("newController"), []);
    assert.equal(page.count("/state"), 1);
    assert.ok(page.count("/history") <= 1);
  });
});
