// Files interrupts, interrupt-card-update, nested-interrupts and headless-tools of spec/streaming-protocol.md 7.1.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, LOADING, human, remount, says, stays } from "./page.mjs";

const request = { request: "Send the weekly report" };
const asks = (n) => (s) => s.interrupts.length === n;
const APPROVED = { approved: true };

for (const library of libraries) {
  const mounted = (t, graph, props) => mountOn(t, library, graph, props);

  /** Mounts a graph, starts it and waits for its questions. */
  async function interrupted(t, graph, input, count = 1, props = {}) {
    const view = await mounted(t, graph, props);
    await view.submit(input);
    await view.until(`${count} interrupts`, asks(count));
    return view;
  }

  describe(`${library.name}: interrupts`, () => {
    const { asking } = library;
    const ended = (s) => asking.answered(s) && asks(0)(s) && s.loading === IDLE;

    // M-28, M-30
    test("surface with question and id, and the state so far stays", async (t) => {
      const view = await interrupted(t, asking.graph, asking.input);
      await view.settles("stopped", (shown) => {
        assert.equal(shown.loading, IDLE);
        const [question] = shown.interrupts;
        assert.deepEqual(question.value, asking.question);
        assert.ok(question.id.length > 0);
        assert.ok(shown.values.completed === false || says("Hello", "Before interrupt")(shown));
      });
    });

    // M-2, M-15
    test("respond completes the run", async (t) => {
      const view = await interrupted(t, asking.graph, asking.input);
      await view.respond(asking.answer);
      await view.until("completed", ended);
    });

    // M-37, M-38
    test("streams that break while a question waits come back, and the answer works", async (t) => {
      const view = await interrupted(t, asking.graph, asking.input, 1, { wrapper: "droppable" });
      const opens = () => view.tab.evaluate(() => window.wrappers.droppable.opens);
      const before = await opens();
      await view.tab.evaluate(() => window.wrappers.droppable.drop());
      await view.tab.waitForFunction((n) => window.wrappers.droppable.opens > n, before, { timeout: 30_000 });
      assert.ok((await view.page.notes("reconnect")).length > 0);
      await view.respond(asking.answer);
      await view.until("completed", ended);
    });

    // M-5, M-17, D-21
    test("a resolved question stays hidden when it is replayed", async (t) => {
      const first = await interrupted(t, "interrupt_once_graph", request, 1, { wrapper: "durableReplay" });
      await first.respond(APPROVED);
      await first.until("one turn", (s) => s.values.completedTurns === 1 && s.loading === IDLE);
      const view = await remount(first);
      await view.until("hydrated", (s) => s.values?.completedTurns === 1 && asks(0)(s));
      await view.submit(request);
      await view.until("two turns", (s) => s.values.completedTurns === 2 && s.loading === IDLE);
      assert.ok((await view.tab.evaluate(() => window.wrappers.durableReplay.replayed)) >= 1);
      // SDK 1.9.28 takes replayed questions back into stream.interrupts.
      await stays(view, "no question", (s) => s.open.length === 0 && (library.name === "svelte" || asks(0)(s)), 1000);
    });

    // M-15, M-29
    test("respondAll answers parallel questions at once", async (t) => {
      const view = await interrupted(t, "multi_interrupt_graph", { prompts: ["A", "B"] }, 2);
      const { interrupts } = await view.until("stopped", (s) => s.loading === IDLE);
      const answers = Object.fromEntries(interrupts.map((i) => [i.id, { approved: i.value.action === "A" }]));
      await view.call("respondAll", answers);
      const shown = await view.until("completed", (s) => s.values.completed === true && asks(0)(s));
      assert.deepEqual(shown.values.decisions, { A: { approved: true }, B: { approved: false } });
    });
  });

  describe(`${library.name}: interrupt card update`, () => {
    const cards = (shown) => shown.messages.filter((m) => m.card === "tool_validation");

    /** Answers and pushes the question's own card into the conversation. */
    async function decide(t, approved) {
      const view = await interrupted(t, "interrupt_card_graph", { toolArg: "delete_db" });
      const { interrupts } = await view.read();
      const card = { ...interrupts[0].value, id: "review-card-1" };
      assert.equal(card.response_metadata.cards.kind, "tool_validation");
      await view.watch(() => JSON.stringify([
        document.querySelector("[data-field=loading]").textContent, document.querySelectorAll("[data-card=tool_validation]").length,
      ]));
      await view.respond({ approved }, { update: { messages: [card] } });
      return view;
    }

    // M-14, M-23, M-31
    test("an approved card is shown once, while the tool works and after it", async (t) => {
      const view = await decide(t, true);
      await view.settles("the result", (shown) => {
        assert.ok(shown.loading === IDLE && shown.messages.some((m) => m.type === "tool" && m.text === 'Executed "delete_db".'));
        assert.equal(cards(shown).length, 1);
        assert.deepEqual(shown.interrupts, []);
      });
      const frames = (await view.frames()).map((frame) => JSON.parse(frame));
      assert.ok(frames.some(([label, shown]) => label === LOADING && shown === 1), "while loading");
      assert.ok(frames.every(([, shown], i) => shown === (frames[i - 1]?.[1] === 1 ? 1 : shown)), "it never goes");
    });

    // M-31
    test("a rejected card is shown once", async (t) => {
      const view = await decide(t, false);
      await view.settles("the result", (shown) => {
        assert.ok(shown.loading === IDLE && shown.messages.some((m) => m.type === "tool" && m.text === "User has rejected the toolcall"));
        assert.equal(cards(shown).length, 1);
        assert.deepEqual(shown.interrupts, []);
      });
    });
  });

  describe(`${library.name}: nested interrupts`, () => {
    /** Starts a graph and waits for its question, which React lists in stream.interrupts, too. */
    async function asked(t, graph, input) {
      const view = await mounted(t, graph);
      await view.submit(input);
      await view.idle();
      const found = await view.tab.waitForFunction((name) => window.streams[name].getThread()?.interrupts[0], view.name);
      const question = await found.jsonValue();
      if (library.name === "react") await view.until("the question", (s) => s.interrupts[0]?.id === question.interruptId);
      return { view, question };
    }

    // M-16, M-28, D-50, D-51
    test("of a nested graph, live", async (t) => {
      const { view, question } = await asked(t, "nested_interrupt_graph", request);
      assert.equal(question.payload.prompt, "Approve nested subgraph action?");
      assert.ok(question.interruptId.length > 0 && question.namespace.length > 0);
      await view.respond(APPROVED);
      await view.until("completed", (s) => s.values.completed === true && asks(0)(s));
    });

    // M-16, M-28, D-50
    test("of a subagent, live", async (t) => {
      const { view, question } = await asked(t, "deep_agent_interrupt", human("Request approval"));
      assert.equal(question.payload.prompt, "Approve subagent tool action?");
      assert.ok(question.interruptId.length > 0 && question.namespace.length > 0);
      await view.respond(APPROVED);
      await view.until("idle", (s) => asks(0)(s) && s.loading === IDLE && s.messages.at(-1)?.text === "Subagent approval completed.");
    });

    // M-16, M-39, M-42, D-26
    test("are restored after a remount", async (t) => {
      const { view: first, question } = await asked(t, "nested_interrupt_graph", request);
      const view = await remount(first);
      const shown = await view.until("the question", asks(1));
      assert.equal(shown.interrupts[0].id, question.interruptId);
      if (library.name === "react") assert.equal(shown.interrupts[0].namespace[0], question.namespace[0]);
      await view.respond(APPROVED, { interruptId: question.interruptId }); // the id is enough
      await view.until("completed", (s) => s.values.completed === true && asks(0)(s));
    });
  });

  describe(`${library.name}: headless tools`, () => {
    const input = { messages: [{ type: "human", content: "Where am I?" }] };
    const done = (s) => s.loading === IDLE && s.messages.at(-1)?.text === "Location received!" && asks(0)(s);

    // M-28
    test("run in the browser", async (t) => {
      const view = await mounted(t, "headless_tool_graph", { tools: "works" });
      await view.submit(input);
      await view.until("the answer", done);
      assert.deepEqual(await view.page.notes("tool"), [["start:get_location"], ['success:get_location:{"latitude":37.7749,"longitude":-122.4194}']]);
    });

    test("that throw tell the agent", async (t) => {
      const view = await mounted(t, "headless_tool_graph", { tools: "throws" });
      await view.submit(input);
      await view.until("the answer", done);
      assert.deepEqual(await view.page.notes("tool"), [["start:get_location"], ["error:get_location:GPS unavailable"]]);
    });
  });
}
