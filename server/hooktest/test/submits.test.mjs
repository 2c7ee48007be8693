// Files optimistic, queue, multisubmit, submit-threadid, threadid, reattach, message-metadata and suspense of spec/streaming-protocol.md 7.1.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { IDLE, LOADING, human, openPage, react, remount, says, texts } from "./page.mjs";

const text = { api: react, graph: "stategraph_text" };
const slow = { api: react, graph: "slow_graph" };
const mounted = async (t, props, options) => (await openPage(t)).mount(props, options);

describe("optimistic", () => {
  // M-23
  test("a message is pending, then sent", async (t) => {
    const view = await mounted(t, slow);
    await view.tab.evaluate(() => {
      // Every status that a frame showed.
      window.statuses = new Set();
      requestAnimationFrame(function look() {
        window.statuses.add(document.querySelector("[data-message]")?.dataset.status);
        requestAnimationFrame(look);
      });
      new MutationObserver(() => window.statuses.add(document.querySelector("[data-message]")?.dataset.status))
        .observe(document.body, { subtree: true, childList: true, attributes: true });
    });
    await view.submit(human("Hello"));
    await view.until("the message", (s) => s.messages[0]?.text === "Hello");
    const shown = await view.idle(says("Hello", "Done."));
    assert.equal(shown.messages[0].status, "sent");
    assert.ok((await view.tab.evaluate(() => [...window.statuses])).includes("pending"));
  });

  // M-23, M-25
  test("the server's echo replaces it", async (t) => {
    const view = await mounted(t, text);
    await view.submit(human("Hello"));
    const shown = await view.idle(says("Hello", "Plan accepted."));
    assert.equal(shown.messages[0].status, "sent");
  });

  // M-21, M-44
  test("a failed run marks it failed", async (t) => {
    // Which of two connections is read first decides between "failed" and "sent"
    // (spec/streaming-protocol.md M-44), so a cold page may need a second try.
    for (let attempt = 1; ; attempt++) {
      const view = await mounted(t, { api: react, graph: "error_graph" });
      await view.submit(human("Hello"));
      const shown = await view.idle((s) => s.error !== "" && s.messages.length === 1);
      assert.equal(shown.messages[0].text, "Hello");
      if (shown.messages[0].status === "failed") return;
      assert.equal(shown.messages[0].status, "sent");
      assert.ok(attempt < 4, "sent in each of four tries");
      await view.tab.close(); // gives its connections back
    }
  });

  test("switched off, nothing is echoed before the server does", async (t) => {
    const view = await mounted(t, { ...slow, options: { optimistic: false } });
    await view.submit(human("Hello"));
    const shown = await view.idle(says("Hello", "Done."));
    assert.equal(shown.messages[0].status, undefined);
  });

  test("other keys of the input are shown at once", async (t) => {
    const view = await mounted(t, { api: react, graph: "stateful_values_graph" });
    await view.submit({ ...human("Hello"), status: "draft" });
    const shown = await view.idle((s) => s.values.status === "final");
    assert.equal(shown.messages[1].text, "Done.");
    assert.deepEqual(await view.page.notes("status"), [[undefined], ["draft"], ["final"]]);
  });

  // M-3
  test("a run that never starts takes them back", async (t) => {
    const view = await mounted(t, { api: react, graph: "missing_graph" });
    await view.submit({ ...human("Hello"), status: "draft" });
    await view.idle((s) => s.error !== "" && s.values.status === undefined);
  });

  test("other keys are not shown when switched off", async (t) => {
    const view = await mounted(t, { api: react, graph: "stateful_values_graph", options: { optimistic: false } });
    await view.submit({ ...human("Hello"), status: "draft" });
    await view.idle((s) => s.values.status === "final");
  });
});

describe("queue", () => {
  /** One run and three submits behind it. */
  async function queued(t) {
    const view = await mounted(t, slow);
    await view.tab.evaluate(() => {
      const submit = (content, options) => window.streams.main.submit({ messages: [{ type: "human", content }] }, options).catch(() => {});
      submit("Msg1");
      for (const content of ["Msg2", "Msg3", "Msg4"]) submit(content, { multitaskStrategy: "enqueue" });
    });
    return view;
  }
  const control = (view, method, ...args) =>
    view.tab.evaluate(([m, list]) => {
      const stream = window.streams.main;
      return stream[Object.getOwnPropertySymbols(stream).find((s) => s.description.endsWith("controller"))][m](...list);
    }, [method, args]);

  test("records what was submitted", async (t) => {
    const view = await queued(t);
    await view.until("all answered", (s) => s.messages.length === 8, 8_000);
    const sizes = (await view.page.notes("queue")).map(([size]) => size);
    assert.deepEqual(sizes, [0, 3, 2, 1, 0]);
  });

  // M-2, M-20, M-24, M-27
  test("drains", async (t) => {
    const view = await queued(t);
    await view.settles("all answered", (shown) => {
      assert.ok(shown.loading === IDLE && shown.queue.length === 0 && shown.messages.length === 8);
      assert.deepEqual(texts(shown), ["Msg1", "Done.", "Msg2", "Done.", "Msg3", "Done.", "Msg4", "Done."]);
    }, 8_000);
  });

  test("one entry can be cancelled", async (t) => {
    const view = await queued(t);
    const { queue } = await view.until("entries", (s) => s.queue.length >= 2);
    const rest = queue.slice(1).map((e) => e.text);
    await control(view, "cancelQueued", queue[0].id);
    await view.until("the others", (s) => s.loading === IDLE && s.queue.length === 0, 8_000);
    const shown = texts(await view.read());
    assert.ok(rest.every((text) => shown.includes(text)) && !shown.includes(queue[0].text), shown.join());
  });

  test("can be cleared", async (t) => {
    const view = await queued(t);
    await view.until("entries", (s) => s.queue.length > 0);
    await control(view, "clearQueue");
    await view.until("empty", (s) => s.queue.length === 0 && s.loading === IDLE);
    assert.ok(!texts(await view.read()).includes("Msg4"));
  });

  // M-46
  test("is empty after a switch of the thread", async (t) => {
    const view = await queued(t);
    await view.until("entries", (s) => s.queue.length > 0);
    await view.update({ thread: randomUUID() });
    await view.until("empty", (s) => s.queue.length === 0 && s.messages.length === 0);
  });
});

describe("several submits", () => {
  // M-4, M-23, M-24
  test("one after another", async (t) => {
    const view = await mounted(t, text);
    await view.submit(human("Hello (1)"));
    await view.idle(says("Hello (1)", "Plan accepted."));
    await view.submit(human("Hello (2)"));
    await view.until("both", says("Hello (1)", "Plan accepted.", "Hello (2)", "Plan accepted."));
  });

  test("both at once, enqueued", async (t) => {
    const view = await mounted(t, text);
    await view.submit(human("Hello (1)"), { multitaskStrategy: "enqueue" });
    await view.submit(human("Hello (2)"), { multitaskStrategy: "enqueue" });
    await view.until("both", says("Hello (1)", "Plan accepted.", "Hello (2)", "Plan accepted."));
  });
});

describe("thread ids", () => {
  // M-11
  test("one given to a submit is used", async (t) => {
    const view = await mounted(t, text);
    const threadId = randomUUID();
    await view.submit(human("Hello"), { threadId });
    const shown = await view.idle(says("Hello", "Plan accepted."));
    assert.equal(shown.threadId, threadId);
  });

  // M-46
  test("a switch shows nothing of the old thread", async (t) => {
    const view = await mounted(t, { ...text, thread: randomUUID() });
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
    const view = await mounted(t, { ...text, thread: randomUUID() });
    await view.until("hydrated", (s) => s.threadLoading === "false");
    await view.submit(human("Hello"));
    await view.idle(says("Hello", "Plan accepted."));
    await view.update({ thread: null });
    await view.until("empty", (s) => s.messages.length === 0 && s.threadId === "none");
  });

  // M-40
  test("a remount reads the thread", async (t) => {
    const first = await mounted(t, text);
    await first.submit(human("Hello"));
    await first.idle(says("Hello", "Plan accepted."));
    await (await remount(first)).until("the conversation", says("Hello", "Plan accepted."));
  });
});

describe("reattach", () => {
  // M-2, M-10, M-23, M-39, M-47
  test("a second hook that mounts in mid-run sees the run", async (t) => {
    const first = await mounted(t, slow);
    let expected = ["Hello", "Done."];
    for (let turn = 1; turn <= 2; turn++) {
      // The second mounts the moment that the server has accepted the run.
      await first.tab.evaluate(
        ([props, n]) => {
          const { note } = window;
          window.note = (...what) => {
            note(...what);
            if (what[0] !== "created") return;
            window.note = note;
            window.pages.mount(`second-${n}`, "chat", { ...props, thread: window.streams.main.threadId });
          };
          window.streams.main.submit({ messages: [{ type: "human", content: n === 1 ? "Hello" : "Again" }] });
        },
        [slow, turn],
      );
      const second = first.page.view(`second-${turn}`, slow);
      await second.idle(says(...expected));
      await first.until("idle", (s) => s.loading === IDLE && says(...expected)(s));
      await second.unmount();
      expected = [...expected, "Again", "Done."];
    }
  });
});

describe("message metadata", () => {
  // M-22
  test("tells where to fork a message, also to a selector that mounts later", async (t) => {
    const view = await mounted(t, text);
    await view.submit(human("Hello"));
    const shown = await view.idle((s) => s.messages.length === 2 && s.messages[0].parent);
    await view.update({ panels: [{ id: "late", kind: "metadata", message: 0 }] });
    const later = await view.until("the panel", (s) => s.panels.late?.parentCheckpointId);
    assert.equal(later.panels.late.parentCheckpointId, shown.messages[0].parent);
  });

  // M-22, M-24
  test("a fork answers the new message in place of the old", async (t) => {
    const first = await mounted(t, text);
    await first.submit(human("Hello"));
    const { threadId } = await first.idle(says("Hello", "Plan accepted."));
    const history = await (await fetch(`${react}/threads/${threadId}/history`)).json();
    await first.submit(human("Instead"), { forkFrom: history.at(-1).checkpoint.checkpoint_id });
    await first.until("the new answer", (s) => texts(s).includes("Instead") && s.loading === IDLE);
    await (await remount(first)).until("the branch alone", says("Instead", "Plan accepted."));
  });
});

describe("suspense", () => {
  test("without a thread it renders at once", async (t) => {
    const view = await mounted(t, text, { kind: "suspense" });
    await view.submit(human("Hello"));
    await view.idle(says("Hello", "Plan accepted."));
  });

  // M-41
  test("with a thread it waits for its state", async (t) => {
    const view = await mounted(t, { ...text, thread: randomUUID() }, { kind: "suspense" });
    await view.until("content", (s) => s.loading === IDLE);
    assert.equal((await view.page.notes("fallback")).length >= 1, true);
  });

  test("an unreachable server reaches the error boundary", async (t) => {
    const view = await mounted(t, { ...text, api: "http://localhost:1", thread: randomUUID(), options: { callerOptions: { maxRetries: 0 } } }, { kind: "suspense" });
    await view.until("the error", (s) => s.thrown);
  });
});
