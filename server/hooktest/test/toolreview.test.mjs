// The demo agents whose tool calls are reviewed, in both libraries: each kind of
// decision, several at once, one per call, chains, forms with a pushed card; and all of
// it across kill -9 between the question and the answer (spec/runtime.md 6).
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { libraries } from "./libraries.mjs";
import { IDLE, demo, human, openPage } from "./page.mjs";
import { ownServer } from "./server.mjs";
import { asks } from "./reviews.mjs";

const approve = { type: "approve" };
const receipt = /([Rr]eceipt:? )[0-9a-f]{8}/;
const form = { type: "ai", id: "form-card-1", content: "", response_metadata: { card: "flight-booking" } };

/** What people ask, what they decide (made of the open questions), and what the tools answer. */
const reviews = [
  {
    name: "approved", graph: "human_in_the_loop", request: "Send an e-mail to ada@example.com about the order: It is on its way",
    steps: [{ open: 1, give: () => ({ decisions: [approve] }) }],
    tools: ['E-mail "the order" sent to ada@example.com, receipt …'],
  },
  {
    name: "rejected, with the reason", graph: "human_in_the_loop", request: "Delete record A-17",
    steps: [{ open: 1, give: () => ({ decisions: [{ type: "reject", message: "still needed" }] }) }],
    tools: [/still needed/],
  },
  {
    name: "edited, to wrong arguments first", graph: "human_in_the_loop", request: "Transfer 250 EUR to Grace",
    steps: [
      { open: 1, give: () => ({ decisions: [{ type: "edit", editedAction: { name: "transfer_money", args: { amount: -5, currency: "EUR", to: "Grace" } } }] }), refused: /amount/ },
      { open: 1, give: () => ({ decisions: [{ type: "edit", editedAction: { name: "transfer_money", args: { amount: 5, currency: "EUR", to: "Grace" } } }] }) },
    ],
    tools: [/5\.00 EUR transferred to Grace, receipt …/],
  },
  {
    name: "several at once, decided differently", graph: "human_in_the_loop", request: "Delete record A-17 and transfer 250 EUR to Grace and ask me: Really?",
    steps: [{ open: 1, give: () => ({ decisions: [{ type: "reject" }, approve, { type: "respond", message: "Yes" }] }) }],
    tools: [/not/, "250.00 EUR transferred to Grace, receipt …", "Yes"],
  },
  {
    name: "one after the other in one run", graph: "human_in_the_loop", request: "Ask me: Which colour? Then send an e-mail to bob@example.com about it: Done",
    steps: [{ open: 1, give: () => ({ decisions: [{ type: "respond", message: "Blue" }] }) }, { open: 1, give: () => ({ decisions: [approve] }) }],
    tools: ["Blue", 'E-mail "it" sent to bob@example.com, receipt …'],
  },
  {
    name: "one per call, the last first", graph: "human_in_the_loop_per_call", request: "Delete record A-17 and transfer 250 EUR to Grace",
    steps: [
      { open: 2, pick: (open) => open.find((q) => q.value.name === "transfer_money"), give: () => approve },
      { open: 1, pick: ([q]) => q, give: () => ({ type: "reject", message: "keep it" }) },
    ],
    tools: [/keep it/, "250.00 EUR transferred to Grace, receipt …"],
  },
  {
    name: "by a form, with its card pushed along", graph: "hitl_interrupt_forms", request: "Book a flight from Berlin to Lisbon on 2026-12-24",
    steps: [
      { open: 1, give: () => ({ approved: true, values: { cabin: "rocket" } }), refused: /cabin/ },
      { open: 1, give: () => ({ approved: true, values: { cabin: "business" } }), update: { messages: [form] } },
    ],
    tools: ["Flight from Berlin to Lisbon on 2026-12-24 booked, business. Receipt: …"], cards: 1,
  },
];

/** Waits for the step's questions; a new one is another than those seen. */
async function questions(view, step, seen) {
  const shown = await view.until(`${step.open} open questions`, (s) =>
    s.loading === IDLE && asks(step.open)(s) && s.interrupts.some((q) => !seen.has(q.id)), 20_000);
  return shown.interrupts;
}

async function decide(view, step, seen) {
  const open = await questions(view, step, seen);
  const question = step.pick?.(open) ?? open[0];
  const before = (await view.page.notes("rejected")).length;
  await view.respond(step.give(open), { interruptId: question.id, ...(step.update && { update: step.update }) });
  if (step.refused) {
    const told = await view.tab.waitForFunction((n) => window.notes.filter(([what]) => what === "rejected").length > n, before).then(() => view.page.notes("rejected"));
    assert.match(JSON.stringify(told.at(-1)), step.refused);
    return;
  }
  seen.add(question.id);
}

/** Checks what is shown in the end: one answer per call, no question, the card once. */
function ended(view, review) {
  return view.settles("the end", (s) => {
    assert.equal(s.loading, IDLE);
    assert.deepEqual(s.interrupts, []);
    assert.match(s.messages.at(-1).text, /^This is what came of it:/);
    const results = s.messages.filter((m) => m.type === "tool").map((m) => m.text.replace(receipt, "$1…"));
    assert.equal(results.length, review.tools.length, JSON.stringify(results));
    for (const want of review.tools) {
      assert.ok(results.some((r) => (want instanceof RegExp ? want.test(r) : r === want)), `${want} in ${JSON.stringify(results)}`);
    }
    assert.equal(s.messages.filter((m) => m.id === form.id).length, review.cards ?? 0);
  }, 20_000);
}

for (const library of libraries) {
  describe(`${library.name}: a reviewed tool call`, () => {
    for (const review of reviews) {
      // D-35, D-42, D-45, D-46
      test(review.name, async (t) => {
        const view = await (await openPage(t, { library: library.name })).mount({ api: demo, graph: review.graph });
        await view.submit(human(review.request));
        const seen = new Set();
        for (const step of review.steps) await decide(view, step, seen);
        await ended(view, review);
      });
    }

    // D-22, D-43
    test("all of them on a server that dies before each answer", async (t) => {
      const server = await ownServer(t, "demo");
      const all = [];
      for (const review of reviews) { // each in a window of its own: a browser has six connections per origin
        const view = await (await openPage(t, { library: library.name })).mount({ api: server.url, graph: review.graph });
        await view.submit(human(review.request));
        all.push({ review, view, seen: new Set() });
      }
      for (let i = 0; all.some(({ review }) => i < review.steps.length); i++) {
        for (const { review, view, seen } of all) if (review.steps[i]) await questions(view, review.steps[i], seen);
        await server.restart("SIGKILL");
        for (const { review, view, seen } of all) if (review.steps[i]) await decide(view, review.steps[i], seen);
      }
      for (const { review, view } of all) await ended(view, review);
    });
  });
}
