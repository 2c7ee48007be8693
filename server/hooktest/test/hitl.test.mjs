// A person in the loop, in a real browser: pushed cards in every frame, reloads,
// crashes, broken networks, two tabs, several questions.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { IDLE, LOADING, human, openPage, react } from "./page.mjs";
import { startProxy } from "./proxy.mjs";
import { start } from "./server.mjs";

const CARD = "[data-card=tool_validation]";
const cards = (shown) => shown.messages.filter((m) => m.card === "tool_validation").length;
const executed = (s) => s.loading === IDLE && s.messages.at(-1)?.text === "Done." && s.messages.some((m) => m.text === 'Executed "delete_db".');
const asks = (n) => (s) => s.interrupts.length === n;

/** A durable server of this test alone, which can be killed and started again. */
async function ownServer(t, agents) {
  const data = await mkdtemp(join(tmpdir(), "hooktest-"));
  let server = await start(["--agents", agents, "--data", data]);
  t.after(async () => {
    await server.stop();
    await rm(data, { recursive: true, force: true });
  });
  return {
    url: server.url,
    port: server.port,
    kill: () => server.stop("SIGKILL"),
    restart: async () => (server = await start(["--agents", agents, "--data", data], { port: server.port })),
  };
}

/** Mounts the agent with the card and waits for its question. */
async function asked(t, api = react) {
  const view = await (await openPage(t)).mount({ api, graph: "interrupt_card_graph" });
  await view.submit({ toolArg: "delete_db" });
  await view.until("the question", asks(1));
  return view;
}

/** Answers with the question's card pushed into the conversation, and looks at every frame from then on. */
function approve(view) {
  return view.tab.evaluate(([name, selector]) => {
    const stream = window.streams[name];
    const [question] = stream.interrupts;
    const card = { ...question.value, id: "review-card-1" };
    stream.respond({ approved: true }, { update: { messages: [card] }, interruptId: question.id })
      .catch((error) => window.note("rejected", String(error)));
    window.frames_ = window.watchFrames(selector);
  }, [view.name, CARD]);
}

/** Asserts that each frame since approve() showed the card exactly once. */
async function onceInEveryFrame(view) {
  const counts = await view.tab.evaluate(() => window.frames_.stop());
  assert.ok(counts.length > 10, `${counts.length} frames`);
  assert.deepEqual([...new Set(counts)], [1], `cards per frame: ${counts.join("")}`);
}

/** A second look at the thread from a fresh load of the page. */
async function reload(view) {
  const { threadId } = await view.read();
  await view.page.load();
  return view.page.mount({ ...view.props, thread: threadId });
}

describe("a pushed card", () => {
  // M-15, M-31
  test("is shown once in every frame from the click to the end, and after a reload", async (t) => {
    const view = await asked(t);
    await approve(view);
    await view.until("the end", executed, 10_000);
    await onceInEveryFrame(view);
    const again = await reload(view);
    assert.equal(cards(await again.until("the conversation", (s) => s.messages.length === 4)), 1);
  });

  test("over WebSocket, too", async (t) => {
    const view = await (await openPage(t)).mount({ api: react, graph: "interrupt_card_graph", options: { transport: "websocket" } });
    await view.submit({ toolArg: "delete_db" });
    await view.until("the question", asks(1));
    await approve(view);
    await view.until("the end", executed, 10_000);
    await onceInEveryFrame(view);
  });
});

describe("reload", () => {
  // M-36, M-39
  test("in mid-interrupt: the question is there, and the answer works", async (t) => {
    const view = await reload(await asked(t));
    await view.until("the question", asks(1));
    await approve(view);
    await view.until("the end", executed, 10_000);
    await onceInEveryFrame(view);
  });

  // M-10, M-39, M-47
  test("while the resumed tool works: the card is there once, and the run ends", async (t) => {
    const first = await asked(t);
    await approve(first);
    await first.until("the tool works", (s) => s.loading === LOADING && cards(s) === 1);
    const view = await reload(first);
    await view.until("the card", (s) => cards(s) === 1);
    await view.settles("the end", (s) => {
      assert.ok(executed(s));
      assert.deepEqual([cards(s), s.interrupts], [1, []]);
    }, 10_000);
  });
});

describe("kill -9 and restart", () => {
  // M-51, M-53
  test("in mid-interrupt: the open page answers without a reload", async (t) => {
    const server = await ownServer(t, "conformance-react");
    const view = await asked(t, server.url);
    await server.kill();
    await server.restart();
    await approve(view);
    await view.settles("the end", (s) => {
      assert.ok(executed(s));
      assert.deepEqual([cards(s), s.interrupts], [1, []]);
    }, 20_000);
    await onceInEveryFrame(view);
  });

  // M-51
  test("in mid-run: the open page sees the run go on to its end", async (t) => {
    const server = await ownServer(t, "conformance-react");
    const view = await asked(t, server.url);
    await approve(view);
    await view.until("the answer is accepted", (s) => cards(s) === 1 && asks(0)(s));
    await server.kill();
    await server.restart();
    const shown = await view.until("the end", executed, 20_000);
    assert.equal(cards(shown), 1);
    await onceInEveryFrame(view);
    assert.equal(cards(await (await reload(view)).until("the conversation", (s) => s.messages.length === 4)), 1);
  });

  // M-37, M-51
  test("in mid-message: the text is whole, and there once", async (t) => {
    const server = await ownServer(t, "bench");
    const view = await (await openPage(t)).mount({ api: server.url, graph: "echo_stream" });
    await view.submit(human("tokens=60 delay_us=20000"));
    await view.until("some text", (s) => s.messages[1]?.text.length > 50);
    await server.kill();
    await server.restart();
    const chunks = Array.from({ length: 60 }, (_, i) => i.toString(36).padStart(4, "0"));
    // The hook is idle for a moment while it has no connection: only the last chunk tells the end.
    const ended = (s) => s.loading === IDLE && s.messages.length === 2 && s.messages[1].text.includes(chunks.at(-1));
    const shown = await view.until("the end", ended, 20_000);
    assert.deepEqual(shown.messages[1].text.trim().split(" "), chunks);
  });
});

describe("a network that breaks", () => {
  for (const seconds of [3, 40]) {
    // M-37, M-38
    test(`for ${seconds} s in mid-interrupt and mid-run`, { timeout: 120_000 }, async (t) => {
      const server = await ownServer(t, "conformance-react");
      const proxy = await startProxy(server.port);
      t.after(() => proxy.close());
      let view = await asked(t, proxy.url);
      proxy.cut();
      await sleep(seconds * 1000);
      proxy.mend();
      if (seconds > 30) view = await reload(view); // the client gives up after five tries
      await view.until("the question", asks(1));
      await approve(view);
      await view.until("the answer is accepted", (s) => cards(s) === 1 && asks(0)(s), 10_000);
      proxy.cut();
      await sleep(3000);
      proxy.mend();
      await view.settles("the end", (s) => {
        assert.ok(executed(s));
        assert.deepEqual([cards(s), s.interrupts], [1, []]);
      }, 30_000);
      await onceInEveryFrame(view);
    });
  }
});

describe("two tabs", () => {
  // M-47
  test("one answers, and the other's question goes", async (t) => {
    const one = await asked(t);
    const { threadId } = await one.until("stopped", (s) => s.loading === IDLE);
    const other = await (await openPage(t)).mount({ api: react, graph: "interrupt_card_graph", thread: threadId });
    await other.until("the question", (s) => s.open.length === 1);
    await approve(one);
    await one.until("the end", executed, 10_000);
    const shown = await other.until("the question is gone", (s) => s.open.length === 0 && executed(s), 10_000);
    assert.equal(cards(shown), 1);
  });

  test("both answer: one is accepted, the other is told", async (t) => {
    const one = await asked(t);
    const { threadId } = await one.until("stopped", (s) => s.loading === IDLE);
    const other = await (await openPage(t)).mount({ api: react, graph: "interrupt_card_graph", thread: threadId });
    const { interrupts } = await other.until("the question", asks(1));
    await Promise.all([one.respond({ approved: true }, { interruptId: interrupts[0].id }), other.respond({ approved: false }, { interruptId: interrupts[0].id })]);
    for (const view of [one, other]) await view.until("the end", (s) => s.loading === IDLE && s.messages.at(-1)?.text === "Done.", 10_000);
    const rejected = [...(await one.page.notes("rejected")), ...(await other.page.notes("rejected"))];
    assert.equal(rejected.length, 1);
  });
});

describe("several questions", () => {
  // M-15, M-17, M-19
  test("five in a row on one thread", async (t) => {
    const view = await (await openPage(t)).mount({ api: react, graph: "interrupt_graph" });
    const seen = new Set();
    for (let turn = 1; turn <= 5; turn++) {
      await view.submit({ request: `Request ${turn}`, completed: false, decision: null });
      const shown = await view.until(`question ${turn}`, (s) => asks(1)(s) && s.interrupts[0].value.request === `Request ${turn}` && s.loading === IDLE);
      seen.add(shown.interrupts[0].id);
      await view.respond({ turn });
      await view.until(`answer ${turn}`, (s) => asks(0)(s) && s.values.completed === true && s.values.decision?.turn === turn && s.loading === IDLE);
    }
    assert.equal(seen.size, 5);
  });

  // M-15, M-16, M-29
  test("two parallel ones, answered one by one", async (t) => {
    const view = await (await openPage(t)).mount({ api: react, graph: "multi_interrupt_graph" });
    await view.submit({ prompts: ["A", "B"] });
    const { interrupts } = await view.until("both", (s) => asks(2)(s) && s.loading === IDLE);
    const [a, b] = ["A", "B"].map((action) => interrupts.find((i) => i.value.action === action));
    await view.respond({ approved: true }, { interruptId: a.id });
    const left = await view.until("one left", (s) => asks(1)(s) && s.loading === IDLE);
    assert.equal(left.interrupts[0].id, b.id);
    assert.equal(left.values.completed, false);
    await view.respond({ approved: false }, { interruptId: b.id });
    const shown = await view.until("completed", (s) => s.values.completed === true && asks(0)(s));
    assert.deepEqual(shown.values.decisions, { A: { approved: true }, B: { approved: false } });
  });
});
