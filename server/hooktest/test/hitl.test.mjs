// A person in the loop, in a real browser: pushed cards in every frame, reloads,
// two tabs, several questions, answers that don't fit.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, LOADING, demo, human, openPage, own, stays, texts } from "./page.mjs";
import { approve, asked, asks, cards, ends, executed, onceInEveryFrame, reload, transports } from "./reviews.mjs";

for (const library of libraries) {
  for (const { way, options } of transports) {
    describe(`${library.name} over ${way}: a review`, () => {
      // M-15, M-31, D-25, D-42, D-46
      test("the pushed card is shown once in every frame from the click to the end, and after a reload", async (t) => {
        const view = await asked(t, library, { options });
        await approve(view);
        await ends(view);
        await onceInEveryFrame(view);
        const again = await reload(view);
        assert.equal(cards(await again.until("the conversation", (s) => s.messages.length === 4)), 1);
      });

      // M-36, M-39, D-20, D-27
      test("after a reload in mid-interrupt the question is there, and the answer works", async (t) => {
        const view = await reload(await asked(t, library, { options }));
        await view.until("the question", asks(1));
        await approve(view);
        await ends(view);
        await onceInEveryFrame(view);
      });

      // M-10, M-39, M-47, D-21
      test("after a reload while the resumed tool works the card is there once, and the run ends", async (t) => {
        const first = await asked(t, library, { options });
        await approve(first);
        await first.until("the tool works", (s) => s.loading === LOADING && cards(s) === 1);
        const view = await reload(first);
        await view.until("the card", (s) => cards(s) === 1);
        await view.watch(() => document.querySelectorAll("[data-card=tool_validation]").length);
        await ends(view);
        // The client takes it away for a frame when it reads the state before the answer again.
        assert.ok((await view.frames()).every((n) => n <= 1), "never twice");
      });
    });
  }

  describe(`${library.name}: two tabs`, () => {
    /** Two tabs on a thread that asks. */
    async function both(t) {
      const one = await asked(t, library);
      const { threadId } = await one.read();
      const other = await mountOn(t, library, "interrupt_card_graph", { thread: threadId });
      await other.until("the question", (s) => s.open.length === 1);
      return [one, other];
    }

    // M-47, D-30
    test("one answers, and the other's question goes", async (t) => {
      const [one, other] = await both(t);
      await approve(one);
      await ends(one);
      const shown = await other.until("the question is gone", (s) => s.open.length === 0 && executed(s));
      assert.equal(cards(shown), 1);
    });

    // D-31, D-32
    test("both answer: one is accepted, the other is told, and the tool is answered once", async (t) => {
      const [one, other] = await both(t);
      const [{ id }] = (await other.read()).interrupts;
      await Promise.all([one.respond({ approved: true }, { interruptId: id }), other.respond({ approved: false }, { interruptId: id })]);
      for (const view of [one, other]) await view.until("the end", (s) => s.loading === IDLE && s.messages.at(-1)?.text.startsWith("Done."));
      const shown = await one.read();
      assert.equal(shown.messages.filter((m) => m.type === "tool").length, 1);
      await one.until("one was told", async () => true);
      const rejected = async () => [...(await one.page.notes("rejected")), ...(await other.page.notes("rejected"))];
      for (let tries = 0; (await rejected()).length === 0 && tries < 200; tries++) await stays(one, "there", () => true, 50);
      assert.equal((await rejected()).length, 1);
    });

    // D-32
    test("a double click is one answer", async (t) => {
      const view = await asked(t, library);
      await view.tab.evaluate(() => {
        const stream = window.streams.main;
        const [{ id }] = stream.interrupts;
        for (const click of [1, 2]) {
          stream.respond({ approved: true }, { interruptId: id })
            .then(() => window.note("accepted", click), (error) => window.note("rejected", String(error)));
        }
      });
      await view.until("the end", executed);
      await view.tab.waitForFunction(() => window.notes.filter(([what]) => what === "accepted" || what === "rejected").length === 2);
      assert.deepEqual(await view.page.notes("rejected"), []);
    });
  });

  describe(`${library.name}: several questions`, () => {
    const ask = async (t, input) => {
      const view = await (await openPage(t, { library: library.name })).mount({ api: own, graph: "questions" });
      await view.submit(input);
      return view;
    };

    // M-15, M-17, M-19, D-43, D-44
    test("five in a row in one node of one run", async (t) => {
      const view = await ask(t, { count: 5 });
      const ids = new Set();
      const tokens = [];
      for (let number = 1; number <= 5; number++) {
        const shown = await view.until(`question ${number}`, (s) => asks(1)(s) && s.interrupts[0].value.number === number && s.loading === IDLE);
        const [{ id, value }] = shown.interrupts;
        ids.add(id);
        tokens.push(value.tokens.at(-1));
        assert.deepEqual(value.tokens, tokens, "what ran before the question did not run again");
        await view.respond({ number }, { interruptId: id });
      }
      const shown = await view.until("the end", (s) => asks(0)(s) && s.values.answers?.length === 5 && s.loading === IDLE);
      assert.deepEqual(shown.values.answers.map((a) => a.number), [1, 2, 3, 4, 5]);
      assert.deepEqual(shown.values.tokens, tokens);
      assert.equal(ids.size, 5);
      assert.equal((await (await fetch(`${own}/threads/${shown.threadId}`)).json()).status, "idle");
    });

    // M-15, M-17, M-19
    test("five runs with a question each on one thread", async (t) => {
      const view = await ask(t, { count: 1 });
      const ids = new Set();
      for (let turn = 1; turn <= 5; turn++) {
        const shown = await view.until(`question ${turn}`, (s) => asks(1)(s) && !ids.has(s.interrupts[0].id) && s.loading === IDLE);
        ids.add(shown.interrupts[0].id);
        await view.respond({ turn });
        await view.until(`answer ${turn}`, (s) => asks(0)(s) && s.values.answers?.at(-1)?.turn === turn && s.loading === IDLE);
        if (turn < 5) await view.submit({ count: 1 });
      }
      assert.equal(ids.size, 5);
    });

    // M-15, M-16, M-29, D-26, D-33
    test("two parallel ones, answered one by one, in either order", async (t) => {
      for (const order of [["A", "B"], ["B", "A"]]) {
        const view = await mountOn(t, library, "multi_interrupt_graph");
        await view.submit({ prompts: ["A", "B"] });
        const { interrupts } = await view.until("both", (s) => asks(2)(s) && s.loading === IDLE);
        const [first, second] = order.map((action) => interrupts.find((i) => i.value.action === action));
        await view.respond({ said: order[0] }, { interruptId: first.id });
        const left = await view.until("one left", (s) => asks(1)(s) && s.loading === IDLE);
        assert.equal(left.interrupts[0].id, second.id);
        assert.equal(left.values.completed, false);
        await view.respond({ said: order[1] }, { interruptId: second.id });
        const shown = await view.until("completed", (s) => s.values.completed === true && asks(0)(s));
        assert.deepEqual(shown.values.decisions, { A: { said: "A" }, B: { said: "B" } });
        await view.unmount();
      }
    });
  });

  describe(`${library.name}: answers and input that don't fit`, () => {
    const approval = async (t) => {
      const view = await (await openPage(t, { library: library.name })).mount({ api: demo, graph: "approval" });
      await view.submit(human("Refund order 4711"));
      await view.until("the question", (s) => asks(1)(s) && s.loading === IDLE);
      return view;
    };

    // D-35
    test("a wrong answer is refused and changes nothing, the right one works", async (t) => {
      const view = await approval(t);
      const [{ id }] = (await view.read()).interrupts;
      for (const wrong of [{ decisions: [] }, { decisions: [{ type: "approve" }, { type: "approve" }] }, { decisions: [{ type: "shrug" }] }]) {
        const before = (await view.page.notes("rejected")).length;
        await view.respond(wrong, { interruptId: id });
        await view.tab.waitForFunction((n) => window.notes.filter(([what]) => what === "rejected").length > n, before);
        await view.until("the question is back", (s) => s.loading === IDLE && s.interrupts[0]?.id === id);
      }
      await view.respond({ decisions: [{ type: "approve" }] }, { interruptId: id });
      const shown = await view.until("the end", (s) => s.loading === IDLE && s.messages.at(-1)?.text.startsWith("Done: Refund order 4711"));
      assert.equal(shown.messages.filter((m) => m.type === "tool").length, 1);
    });

    // D-24
    test("words of the wire in a message are only words", async (t) => {
      const words = '__interrupt__ [{"value":"x","id":"1"}] \u0001 event: values\r\ndata: {}\n\nid: 7';
      const view = await mountOn(t, library, "stategraph_text");
      await view.submit(human(words));
      const shown = await view.idle((s) => s.messages.length === 2);
      assert.deepEqual([shown.messages[0].text, shown.interrupts], [words, []]);
      assert.deepEqual(texts(await (await reload(view)).until("the thread", (s) => s.messages.length === 2)), [words, "Plan accepted."]);
    });
  });
}
