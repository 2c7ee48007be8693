// Review of tool calls with the demo agents, end to end, while the server lives and
// across its death by SIGKILL between a question and its answer (spec/runtime.md 6).
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { human, rejects, start } from "./server.mjs";

const dir = await mkdtemp(join(tmpdir(), "parley-"));
after(() => rm(dir, { recursive: true, force: true }));
const args = ["--agents", "demo", "--data", dir];
let server = await start(args);
after(() => server.stop());

const batch = "human_in_the_loop";
const perCall = "human_in_the_loop_per_call";
const forms = "hitl_interrupt_forms";
const decisions = (...list) => ({ decisions: list });
const approve = { type: "approve" };
const mail = "Send an e-mail to ada@example.com about the order: It is on its way";
const card = { type: "ai", id: "card-1", content: "", response_metadata: { card: "flight-booking" } };

/**
 * A case: what the user asks for, and the steps that follow. A step gives the answer
 * to what is open, made of the questions by `give`; `refused` says with which part of
 * a message an answer is turned down and the question stays.
 */
const cases = {
  "approve runs the tool": {
    agent: batch, ask: mail, steps: [{ give: () => decisions(approve) }],
    tools: ['E-mail "the order" sent to ada@example.com, receipt …'],
  },
  "reject with a message tells the model why": {
    agent: batch, ask: mail, steps: [{ give: () => decisions({ type: "reject", message: "wrong address" }) }],
    tools: [/rejected.*wrong address/s],
  },
  "reject without a message says that nothing ran": {
    agent: batch, ask: mail, steps: [{ give: () => decisions({ type: "reject" }) }],
    tools: [/not (run|executed|carried out)/],
  },
  "edit runs what the reviewer wrote": {
    agent: batch, ask: "Transfer 250 EUR to Grace",
    steps: [{ give: () => decisions({ type: "edit", editedAction: { name: "transfer_money", args: { amount: 200, currency: "EUR", to: "Grace" } } }) }],
    tools: [/200\.00 EUR transferred to Grace, receipt …/],
  },
  "an edit to wrong arguments is turned down, and the question stays": { // D-35
    agent: batch, ask: "Transfer 250 EUR to Grace",
    steps: [
      { give: () => decisions({ type: "edit", edited_action: { name: "transfer_money", args: { amount: -1, currency: "EUR", to: "Grace" } } }), refused: "amount" },
      { give: () => decisions({ type: "edit", edited_action: { name: "launch", args: {} } }), refused: "name" },
      { give: () => decisions({ type: "respond", message: "no" }), refused: "type" },
      { give: () => decisions(approve, approve), refused: "decisions" },
      { give: () => "yes", refused: "" },
      { give: () => decisions(approve) },
    ],
    tools: ["250.00 EUR transferred to Grace, receipt …"],
  },
  "respond answers in the tool's place": {
    agent: batch, ask: "Ask me: Which colour?", steps: [{ give: () => decisions({ type: "respond", message: "Blue" }) }],
    tools: ["Blue"],
  },
  "mixed decisions apply to each call": { // D-45, D-46
    agent: batch, ask: "Delete record A-17 and transfer 250 EUR to Grace and search for refunds and ask me: Really?",
    steps: [{ give: () => decisions({ type: "reject", message: "keep it" }, approve, { type: "respond", message: "Yes" }) }],
    tools: [/keep it/, "250.00 EUR transferred to Grace, receipt …", "The handbook says: Refunds up to 1,000 EUR need one approval.", "Yes"],
  },
  "a chain asks again in the same run": {
    agent: batch, ask: "Ask me: Which colour? Then delete record A-17 then send an e-mail to bob@example.com about it: Done",
    steps: [
      { give: () => decisions({ type: "respond", message: "Blue" }) },
      { give: () => decisions(approve) },
      { give: () => decisions(approve) },
    ],
    tools: ["Blue", "Record A-17 deleted, receipt …", 'E-mail "it" sent to bob@example.com, receipt …'],
  },
  "per call: answers in any order, one by one": { // D-33
    agent: perCall, ask: "Delete record A-17 and transfer 250 EUR to Grace and delete record B-2", open: 3,
    steps: [
      { give: (open) => ({ [open.at(2).id]: approve }), left: 2 },
      { give: (open) => ({ [open.find((q) => q.value.name === "transfer_money").id]: { type: "edit", edited_action: { name: "transfer_money", args: { amount: 1, currency: "EUR", to: "Grace" } } } }), left: 1 },
      { give: (open) => ({ [open[0].id]: { type: "reject" } }) },
    ],
    count: 3,
  },
  "per call: all at once, and one bad answer stores none": { // D-37
    agent: perCall, ask: "Delete record A-17 and transfer 250 EUR to Grace", open: 2,
    steps: [
      { give: (open) => Object.fromEntries(open.map((q) => [q.id, q.value.name === "delete_record" ? approve : { type: "respond", message: "no" }])), refused: "", left: 2 },
      { give: (open) => Object.fromEntries(open.map((q) => [q.id, approve])) },
    ],
    tools: ["Record A-17 deleted, receipt …", "250.00 EUR transferred to Grace, receipt …"],
  },
  "a form is answered with its card": {
    agent: forms, ask: "Book a flight from Berlin to Lisbon on 2026-12-24",
    steps: [
      { give: () => ({ approved: true, values: { cabin: "rocket" } }), refused: "cabin" },
      { give: () => ({ approved: true, values: { cabin: "business" } }), update: { messages: [card] } },
    ],
    tools: ["Flight from Berlin to Lisbon on 2026-12-24 booked, business. Receipt: …"], cards: 1,
  },
  "a refused form": {
    agent: forms, ask: "Refund order 4711, 20 EUR", steps: [{ give: () => ({ approved: false, message: "too late" }) }],
    tools: ["The refund was not done: the reviewer refused, because: too late"],
  },
};

const open = async (id) => (await server.client.threads.getState(id)).tasks.flatMap((t) => t.interrupts);
const ran = async (id) => (await server.client.threads.getState(id)).values.messages.filter((m) => m.type === "tool");

/** Asks, up to the question. */
async function ask(c) {
  const t = await server.client.threads.create();
  await server.client.runs.wait(t.thread_id, c.agent, { input: { messages: [human(c.ask)] } });
  assert.equal((await open(t.thread_id)).length, c.open ?? 1);
  return t.thread_id;
}

async function step(id, c, s) {
  const before = await open(id);
  const command = { resume: s.give(before), ...(s.update && { update: s.update }) };
  const run = server.client.runs.wait(id, c.agent, { command });
  if (s.refused !== undefined) {
    const failure = await rejects(run, s.refused);
    assert.match(String(failure.message), /422|400/);
    assert.deepEqual(await open(id), before, "the question stays as it was");
    return;
  }
  await run;
  if (s.left) assert.equal((await open(id)).length, s.left);
}

/** Checks the end: each call has one answer. c.tools are these in the order of the calls. */
async function ended(id, c) {
  const state = await server.client.threads.getState(id);
  assert.deepEqual([state.next, await open(id)], [[], []]);
  const results = await ran(id);
  const calls = state.values.messages.flatMap((m) => m.tool_calls ?? []).map((call) => call.id);
  assert.deepEqual(results.map((m) => m.tool_call_id).toSorted(), calls.toSorted(), "one answer per call");
  const texts = calls.map((id) => results.find((m) => m.tool_call_id === id).content.replace(/([Rr]eceipt:? )[0-9a-f]{8}/, "$1…"));
  assert.equal(texts.length, c.count ?? c.tools.length);
  (c.tools ?? []).forEach((want, i) => (want instanceof RegExp ? assert.match(texts[i], want) : assert.equal(texts[i], want)));
  if (c.cards) assert.equal(state.values.messages.filter((m) => m.id === "card-1").length, c.cards);
  assert.equal(state.values.messages.at(-1).type, "ai");
}

describe("reviews", () => {
  for (const [name, c] of Object.entries(cases)) {
    test(name, async () => {
      const id = await ask(c);
      for (const s of c.steps) await step(id, c, s);
      await ended(id, c);
    });
  }
});

// Every case is at the same step when the server dies: before the first answer, and behind each one.
describe("reviews across kill -9", () => {
  test("all of them go on from where they were, and nothing runs twice", async () => {
    const all = await Promise.all(Object.values(cases).map(async (c) => ({ c, id: await ask(c), before: new Map() })));
    const most = Math.max(...all.map(({ c }) => c.steps.length));
    for (let i = 0; i <= most; i++) {
      for (const one of all) one.done = await ran(one.id);
      const { port } = server;
      await server.stop("SIGKILL");
      server = await start(args, { port });
      for (const { c, id, done } of all) {
        assert.deepEqual(await ran(id), done, "results are as they were, receipts included");
        if (c.steps[i]) await step(id, c, c.steps[i]);
        const now = await ran(id);
        for (const m of done) assert.deepEqual(now.find((n) => n.id === m.id), m);
      }
    }
    for (const { c, id } of all) await ended(id, c);
  });
});
