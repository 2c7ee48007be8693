// Files optimistic, queue, multisubmit, submit-threadid, threadid, reattach, message-metadata and suspense of spec/streaming-protocol.md 7.1.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, bench, human, openPage, react, remount, says, stays, texts } from "./page.mjs";

for (const library of libraries) {
  const mounted = (t, graph = "stategraph_text", props, options) => mountOn(t, library, graph, props, options);

  describe(`${library.name}: optimistic`, () => {
    const settings = { on: undefined, off: { optimistic: false } };
    const statuses = () => [...document.querySelectorAll("[data-message]")].map((m) => m.dataset.status ?? "none").join();
    /** What frames showed, without repeats, after the first one that was not empty. */
    const shownIn = (frames) => frames.filter((now, i) => now !== "" && now !== frames[i - 1]);

    /** A mount whose content is held back: it learns of runs and questions, not of values. */
    async function heldBack(t, graph, options = settings.on) {
      const view = await mounted(t, graph, { wrapper: "held", options });
      return Object.assign(view, { release: () => view.tab.evaluate(() => window.wrappers.held.release()) });
    }

    // M-23
    test("a message is pending until the server has it, then sent", async (t) => {
      const view = await heldBack(t, "slow_graph");
      await view.watch(statuses);
      await view.submit(human("Hello"));
      await view.until("the message", (s) => s.messages[0]?.text === "Hello");
      await view.release();
      await view.idle(says("Hello", "Done."));
      const frames = shownIn(await view.frames());
      assert.deepEqual([...new Set(frames.map((now) => now.split(",")[0]))], ["pending", "sent"], frames.join(" "));
    });

    // M-23, M-25
    test("the server's echo replaces it", async (t) => {
      const view = await mounted(t);
      await view.submit(human("Hello"));
      const shown = await view.idle(says("Hello", "Plan accepted."));
      assert.equal(shown.messages[0].status, "sent");
    });

    // M-21, M-44: which of two streams a page reads first decides between "failed" and
    // "sent"; here the end of the run comes first.
    test("a failed run marks it failed, for good", async (t) => {
      const view = await heldBack(t, "error_graph");
      await view.submit(human("Hello"));
      const failed = (s) => s.loading === IDLE && s.error.includes("Intentional error") && says("Hello")(s) && s.messages[0].status === "failed";
      await view.until("failed", failed);
      await view.release();
      await stays(view, "still failed", failed, 300);
      assert.ok(view.page.requests.some((r) => r.path.endsWith("/stream/events") && r.body?.includes("values")), "the content was read");
    });

    test("switched off, nothing is echoed before the server does", async (t) => {
      const view = await heldBack(t, "slow_graph", settings.off);
      await view.watch(statuses);
      await view.submit(human("Hello"));
      await view.sawLoading();
      await stays(view, "no message", (s) => s.messages.length === 0, 300);
      await view.release();
      await view.until("the end", (s) => s.loading === IDLE && says("Hello", "Done.")(s));
      for (const frame of await view.frames()) assert.match(frame, /^(none(,none)?)?$/);
    });

    test("other keys of the input are shown at once", async (t) => {
      const view = await mounted(t, "stateful_values_graph");
      await view.submit({ ...human("Hello"), status: "draft" });
      const shown = await view.idle((s) => s.values.status === "final" && s.messages.length === 2);
      assert.equal(shown.messages[1].text, "Done.");
      assert.deepEqual(await view.page.notes("status"), [[undefined], ["draft"], ["final"]]);
    });

    // M-3
    test("a run that never starts takes them back", async (t) => {
      const view = await mounted(t, "missing_graph");
      await view.submit({ ...human("Hello"), status: "draft" });
      await view.idle((s) => s.error !== "" && s.values.status === undefined);
    });

    test("other keys are not shown when switched off", async (t) => {
      const view = await heldBack(t, "stateful_values_graph", settings.off);
      await view.submit({ ...human("Hello"), status: "draft" });
      await view.sawLoading();
      await stays(view, "no status", (s) => s.values?.status === undefined, 300);
      await view.release();
      await view.idle((s) => s.values.status === "final");
      const [[first]] = await view.page.notes("status");
      assert.equal(first, undefined);
    });
  });

  describe(`${library.name}: queue`, () => {
    const all = ["Msg1", "Done.", "Msg2", "Done.", "Msg3", "Done.", "Msg4", "Done."];

    /**
     * One run and three submits behind it; then() is called in the page once they wait.
     * Over one socket: with two streams, a busy page may read the end of a run on the
     * second only after it has sent the next message, and takes it for that one's end.
     */
    async function queued(t, then = () => {}, options = { transport: "websocket" }) {
      const view = await mounted(t, "slow_graph", { options });
      await view.tab.evaluate(async (source) => {
        const stream = window.streams.main;
        window.controller = stream[Object.getOwnPropertySymbols(stream).find((s) => s.description.endsWith("controller"))];
        const submit = (content, options) => stream.submit({ messages: [{ type: "human", content }] }, options).catch(() => {});
        submit("Msg1");
        for (const content of ["Msg2", "Msg3", "Msg4"]) submit(content, { multitaskStrategy: "enqueue" });
        while (window.controller.queueStore.getSnapshot().length < 3) await new Promise((resolve) => setTimeout(resolve));
        (0, eval)(`(${source})`)();
      }, String(then));
      return view;
    }

    test("records what was submitted", async (t) => {
      const view = await queued(t);
      await view.until("all answered", (s) => s.messages.length === 8);
      const sizes = (await view.page.notes("queue")).map(([size]) => size);
      assert.deepEqual(sizes, [0, 3, 2, 1, 0]);
    });

    // M-2, M-20, M-24, M-27
    test("drains", async (t) => {
      const view = await queued(t);
      await view.settles("all answered", (shown) => {
        assert.ok(shown.loading === IDLE && shown.queue.length === 0 && shown.messages.length === 8);
        assert.deepEqual(texts(shown), all);
      });
    });

    // M-2, M-20, M-24, M-27
    test("drains over SSE, too", async (t) => {
      for (let attempt = 1; ; attempt++) {
        const view = await queued(t, undefined, {});
        try {
          await view.until("all answered", (s) => s.loading === IDLE && s.queue.length === 0 && says(...all)(s), 15_000);
          return;
        } catch (error) {
          if (attempt === 3) throw error;
        }
      }
    });

    test("one entry can be cancelled", async (t) => {
      const view = await queued(t, () => {
        const { controller } = window;
        controller.cancelQueued(controller.queueStore.getSnapshot()[0].id);
      });
      await view.until("the others", (s) => s.loading === IDLE && says("Msg1", "Done.", "Msg3", "Done.", "Msg4", "Done.")(s));
    });

    test("can be cleared", async (t) => {
      const view = await queued(t, () => window.controller.clearQueue());
      await view.until("the first alone", (s) => s.queue.length === 0 && s.loading === IDLE && says("Msg1", "Done.")(s));
      await stays(view, "nothing follows", says("Msg1", "Done."), 300);
    });

    // M-46
    test("is empty after a switch of the thread", async (t) => {
      const view = await (await openPage(t, { library: library.name })).mount({ api: bench, graph: "echo_stream" });
      await view.submit(human("tokens=100 delay_us=40000"));
      await view.submit(human("Msg2"), { multitaskStrategy: "enqueue" });
      await view.until("streaming, with an entry", (s) => s.queue.length === 1 && s.messages[1]?.text.length > 10);
      await view.update({ thread: randomUUID() });
      await view.until("empty", (s) => s.queue.length === 0 && s.messages.length === 0 && s.loading === IDLE);
      await stays(view, "still empty", (s) => s.queue.length === 0 && s.messages.length === 0, 300);
    });
  });

  describe(`${library.name}: several submits`, () => {
    // M-4, M-23, M-24
    test("one after another", async (t) => {
      const view = await mounted(t);
      await view.submit(human("Hello (1)"));
      await view.idle(says("Hello (1)", "Plan accepted."));
      await view.submit(human("Hello (2)"));
      await view.until("both", says("Hello (1)", "Plan accepted.", "Hello (2)", "Plan accepted."));
    });

    test("both at once, enqueued", async (t) => {
      const view = await mounted(t, "stategraph_text", { options: { transport: "websocket" } });
      await view.submit(human("Hello (1)"), { multitaskStrategy: "enqueue" });
      await view.submit(human("Hello (2)"), { multitaskStrategy: "enqueue" });
      await view.until("both", says("Hello (1)", "Plan accepted.", "Hello (2)", "Plan accepted."));
    });
  });

  describe(`${library.name}: thread ids`, () => {
    // M-11
    test("one given to a submit is used", async (t) => {
      const view = await mounted(t);
      const threadId = randomUUID();
      await view.submit(human("Hello"), { threadId });
      const shown = await view.idle(says("Hello", "Plan accepted."));
      assert.equal(shown.threadId, threadId);
    });

    // M-46
    test("a switch shows nothing of the old thread", async (t) => {
      const view = await mounted(t, "stategraph_text", { thread: randomUUID() });
      await view.until("hydrated", (s) => s.threadLoading === "false");
      await view.submit(human("Hello"));
      await view.idle(says("Hello", "Plan accepted."));
      await view.update({ thread: randomUUID() });
      await view.until("empty", (s) => s.messages.length === 0 && s.threadLoading === "false");
      await view.submit(human("Hello"));
      await view.until("the new thread's answer", says("Hello", "Plan accepted."));
    });

    // M-46
    test("null empties the page", async (t) => {
      const view = await mounted(t, "stategraph_text", { thread: randomUUID() });
      await view.until("hydrated", (s) => s.threadLoading === "false");
      await view.submit(human("Hello"));
      await view.idle(says("Hello", "Plan accepted."));
      await view.update({ thread: null });
      await view.until("empty", (s) => s.messages.length === 0 && s.threadId === "none");
    });

    // M-40
    test("a remount reads the thread", async (t) => {
      const first = await mounted(t);
      await first.submit(human("Hello"));
      await first.idle(says("Hello", "Plan accepted."));
      await (await remount(first)).until("the conversation", says("Hello", "Plan accepted."));
    });
  });

  describe(`${library.name}: reattach`, () => {
    // M-2, M-10, M-23, M-39, M-47
    test("a second hook that mounts in mid-run sees the run", async (t) => {
      const props = { api: bench, graph: "echo_stream" };
      const first = await (await openPage(t, { library: library.name })).mount(props);
      const input = "tokens=100 delay_us=40000";
      const answer = Array.from({ length: 100 }, (_, i) => `${i.toString(36).padStart(4, "0")} `).join("");
      let expected = [input, answer];
      for (let turn = 1; turn <= 2; turn++) {
        await first.submit(human(input));
        const { threadId } = await first.until("some text", (s) => s.messages[2 * turn - 1]?.text.length > 10);
        const second = await first.page.mount({ ...props, thread: threadId }, { name: `second-${turn}` });
        await second.idle(says(...expected));
        await first.until("idle", (s) => s.loading === IDLE && says(...expected)(s));
        await second.unmount();
        expected = [...expected, input, answer];
      }
    });
  });

  describe(`${library.name}: message metadata`, () => {
    // M-22
    test("tells where to fork a message, also to a selector that mounts later", async (t) => {
      const view = await mounted(t);
      await view.submit(human("Hello"));
      const shown = await view.idle((s) => s.messages.length === 2 && s.messages[0].parent);
      await view.update({ panels: [{ id: "late", kind: "metadata", message: 0 }] });
      const later = await view.until("the panel", (s) => s.panels.late?.parentCheckpointId);
      assert.equal(later.panels.late.parentCheckpointId, shown.messages[0].parent);
    });

    // M-22, M-24, D-53
    test("a fork answers the new message in place of the old", async (t) => {
      const first = await mounted(t);
      await first.submit(human("Hello"));
      const { threadId } = await first.idle(says("Hello", "Plan accepted."));
      const history = await (await fetch(`${library.api}/threads/${threadId}/history`)).json();
      await first.submit(human("Instead"), { forkFrom: history.at(-1).checkpoint.checkpoint_id });
      await first.until("the new answer", (s) => texts(s).includes("Instead") && s.loading === IDLE);
      await (await remount(first)).until("the branch alone", says("Instead", "Plan accepted."));
      const after = await (await fetch(`${library.api}/threads/${threadId}/history`)).json();
      const ids = after.map((entry) => entry.checkpoint.checkpoint_id);
      assert.ok(history.every((entry) => ids.includes(entry.checkpoint.checkpoint_id)), "the old branch is kept");
    });
  });
}

describe("react: suspense", () => {
  const mounted = async (t, props) => (await openPage(t)).mount({ api: react, graph: "stategraph_text", ...props }, { kind: "suspense" });

  test("without a thread it renders at once", async (t) => {
    const view = await mounted(t);
    await view.submit(human("Hello"));
    await view.idle(says("Hello", "Plan accepted."));
  });

  // M-41
  test("with a thread it waits for its state", async (t) => {
    const view = await mounted(t, { thread: randomUUID() });
    await view.until("content", (s) => s.loading === IDLE);
    assert.ok((await view.page.notes("fallback")).length >= 1);
  });

  test("an unreachable server reaches the error boundary", async (t) => {
    const view = await mounted(t, { api: "http://localhost:1", thread: randomUUID(), options: { callerOptions: { maxRetries: 0 } } });
    await view.until("the error", (s) => s.thrown);
  });
});

describe("svelte: hydration", () => {
  const svelte = libraries.find(({ name }) => name === "svelte");
  const mounted = (t, props) => mountOn(t, svelte, "stategraph_text", props, { kind: "hydrated" });

  // M-40
  test("a page that waits for it shows the whole thread at once", async (t) => {
    const first = await mountOn(t, svelte, "stategraph_text");
    await first.submit(human("Hello"));
    const { threadId } = await first.idle(says("Hello", "Plan accepted."));
    const view = await mounted(t, { thread: threadId });
    await view.watch(() => document.querySelectorAll("#main [data-message]").length);
    await view.until("content", says("Hello", "Plan accepted."));
    assert.deepEqual((await view.frames()).filter((n) => n !== 0 && n !== 2), []);
  });

  // M-41
  test("of a thread that doesn't exist ends, too", async (t) => {
    const view = await mounted(t, { thread: randomUUID() });
    await view.until("content", (s) => s.loading === IDLE && s.messages.length === 0);
  });

  test("of an unreachable server fails", async (t) => {
    const view = await mounted(t, { api: "http://localhost:1", thread: randomUUID(), options: { callerOptions: { maxRetries: 0 } } });
    await view.until("the error", (s) => s.thrown);
  });
});
