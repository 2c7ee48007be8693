// A tool call that a person reviews: the agent with the card, and what a page must show of it.
import assert from "node:assert/strict";
import { mountOn } from "./libraries.mjs";
import { IDLE } from "./page.mjs";

/** The ways to the server that a page may take. */
export const transports = [
  { way: "SSE", options: undefined },
  { way: "WebSocket", options: { transport: "websocket" } },
];

export const asks = (n) => (s) => s.interrupts.length === n;
export const cards = (shown) => shown.messages.filter((m) => m.card === "tool_validation").length;
const toolMessages = (shown) => shown.messages.filter((m) => m.type === "tool");

/** The tool was run, once, and the agent has said so. */
export const executed = (s) =>
  s.loading === IDLE && s.messages.at(-1)?.text.startsWith("Done.") && toolMessages(s).map((m) => m.text).join() === 'Executed "delete_db".';

/** Mounts the agent with the card and waits for its question. */
export async function asked(t, library, props = {}) {
  const view = await mountOn(t, library, "interrupt_card_graph", props);
  await view.submit({ toolArg: "delete_db" });
  await view.until("the question", (s) => asks(1)(s) && s.loading === IDLE);
  return view;
}

/** Answers with the question's card pushed into the conversation, and looks at every frame from then on. */
export function approve(view) {
  return view.tab.evaluate((name) => {
    const stream = window.streams[name];
    const [question] = stream.interrupts;
    const card = { ...question.value, id: "review-card-1" };
    stream.respond({ approved: true }, { update: { messages: [card] }, interruptId: question.id })
      .catch((error) => window.note("rejected", String(error)));
    window.watchFrames(name, () => document.querySelectorAll("[data-card=tool_validation]").length);
  }, view.name);
}

/** Asserts that each frame since approve() showed the card exactly once. */
export async function onceInEveryFrame(view) {
  const counts = await view.frames();
  assert.ok(counts.length > 2, `${counts.length} frames`);
  assert.deepEqual([...new Set(counts)], [1], `cards per frame: ${counts.join("")}`);
}

/** Waits for the run's end with the card there once, and no question left. */
export const ends = (view, timeout = 30_000) =>
  view.settles("the end", (s) => {
    assert.ok(executed(s), `executed; shown: ${JSON.stringify(s)}`);
    assert.deepEqual([cards(s), s.interrupts], [1, []]);
  }, timeout);

/** A fresh load of the page, on the same thread. */
export async function reload(view) {
  const { threadId } = await view.read();
  await view.page.load();
  return view.page.mount({ ...view.props, thread: threadId });
}
