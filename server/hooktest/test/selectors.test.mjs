// Files selectors, subscriptions, websocket, fanout-reconnect and idle-pumps of spec/streaming-protocol.md 7.1.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, LOADING, human, remount, says, stays, texts } from "./page.mjs";

const panel = (id, rest) => ({ id, kind: "messages", ...rest });
const count = (scoped) => Object.keys(scoped).length;

for (const library of libraries) {
  const mounted = (t, graph, props) => mountOn(t, library, graph, props);

  describe(`${library.name}: selectors`, () => {
    // M-32, M-34, M-45
    test("discover subagents", async (t) => {
      const view = await mounted(t, "deep_agent", { panels: [panel("r", { subagent: "researcher" })] });
      await view.submit(human("Research the protocol risks"));
      const shown = await view.idle((s) => s.subagents.length === 2 && s.subagents.every((a) => a.status === "complete") && s.panels.r?.length > 0);
      assert.deepEqual(shown.subagents.map((a) => a.name).sort(), ["data-analyst", "researcher"]);
      assert.ok(shown.toolCalls.includes("task"));
    });

    // M-33
    test("discover a subgraph", async (t) => {
      const view = await mounted(t, "subgraph_graph", { panels: [panel("child", { subgraph: 0 })] });
      await view.submit(human("Hello"));
      const shown = await view.idle((s) => s.panels.child?.length > 0);
      assert.equal(shown.subgraphs.length, 1);
      assert.equal(shown.subgraphs[0].nodeName, "child");
    });

    // M-33
    test("ignore leaf nodes", async (t) => {
      const view = await mounted(t, "embedded_subgraph_graph");
      await view.submit(human("Hello"));
      const shown = await view.idle((s) => texts(s).includes("Summary line"));
      assert.deepEqual(shown.subgraphs.map((g) => g.nodeName), ["research"]);
    });
  });

  describe(`${library.name}: channels`, () => {
    const custom = (id, rest) => ({ id, channels: ["custom"], ...rest });
    const answered = (s) => texts(s).filter((x) => x === "Custom channel reply").length;

    /** Runs custom_channel_graph once or twice with a panel. */
    async function run(t, panels, runs = 1) {
      const view = await mounted(t, "custom_channel_graph", { panels });
      for (let i = 1; i <= runs; i++) {
        await view.submit(human(`Hello ${i}`));
        await view.idle((s) => answered(s) === i);
      }
      return view;
    }

    // M-35
    test("a raw channel", async (t) => {
      const view = await run(t, [custom("c", { kind: "channel" })]);
      const { panels } = await view.until("three events", (s) => s.panels.c.length === 3);
      assert.ok(panels.c.every((event) => event.method === "custom"));
    });

    // M-35
    test("a buffer of one keeps one", async (t) => {
      const view = await run(t, [custom("c", { kind: "channel", options: { bufferSize: 1 } })]);
      await view.until("one event", (s) => s.panels.c.length === 1);
    });

    // M-35
    test("a named extension", async (t) => {
      const view = await run(t, [{ id: "x", kind: "extension", extension: "status" }]);
      const { panels } = await view.until("its value", (s) => s.panels.x !== null);
      assert.deepEqual(panels.x, { label: "answering" });
    });

    // M-4, M-27
    test("a channel over two submits gets each event once", async (t) => {
      const view = await run(t, [custom("c", { kind: "channel" })], 2);
      await view.until("six events", (s) => s.panels.c.length === 6);
      await stays(view, "six events", (s) => s.panels.c.length === 6, 300);
    });

    // M-27
    test("an extension over two submits is updated twice", async (t) => {
      const view = await run(t, [{ id: "x", kind: "extension", extension: "status" }], 2);
      for (let tries = 0; (await view.page.notes("extension")).length < 2 && tries < 50; tries++) await new Promise((r) => setTimeout(r, 20));
      assert.equal((await view.page.notes("extension")).length, 2);
    });

    for (const [runs, events] of [[1, 3], [2, 6]]) {
      // M-27, M-35
      test(`an effect is called for each event of ${runs} run(s)`, async (t) => {
        const view = await run(t, [custom("e", { kind: "effect", enabled: true })], runs);
        for (let tries = 0; (await view.page.notes("effect")).length < events && tries < 50; tries++) await new Promise((r) => setTimeout(r, 20));
        await stays(view, "still there", () => true, 200);
        assert.equal((await view.page.notes("effect")).length, events);
      });
    }

    test("a disabled effect is never called", async (t) => {
      const view = await run(t, [custom("e", { kind: "effect", enabled: false })]);
      assert.equal((await view.page.notes("effect")).length, 0);
    });

    test("useValues", async (t) => {
      const view = await run(t, [{ id: "v", kind: "values" }]);
      await view.until("two messages", (s) => s.panels.v?.messages?.length === 2);
    });
  });

  describe(`${library.name}: subscriptions`, () => {
    const input = human("Research the protocol risks");
    const researched = (s) => s.subagents.length === 2 && s.subagents.every((a) => a.status === "complete");
    const researcher = panel("r", { subagent: "researcher" });
    const analyst = panel("a", { subagent: "data-analyst" });

    async function finished(t, props) {
      const view = await mounted(t, "deep_agent", props);
      await view.submit(input);
      await view.idle(researched);
      return view;
    }

    test("a page without panels has none", async (t) => {
      assert.equal(count((await (await finished(t)).read()).scoped), 0);
    });

    test("messages of the root need none", async (t) => {
      const view = await finished(t, { panels: [panel("root", {})] });
      const shown = await view.until("root messages", (s) => s.panels.root?.length > 0);
      assert.equal(count(shown.scoped), 0);
    });

    // M-32, M-34, M-45
    test("one per selector and namespace", async (t) => {
      const view = await finished(t);
      await view.update({ panels: [researcher] });
      const shown = await view.until("its messages", (s) => s.panels.r?.length > 0 && count(s.scoped) === 1);
      assert.match(Object.keys(shown.scoped)[0], /^messages\|tools:/);
      await view.update({ panels: [] });
      await view.until("released", (s) => count(s.scoped) === 0);
    });

    // M-37, M-45
    test("are shared by consumers", async (t) => {
      const view = await finished(t);
      await view.update({ panels: [researcher, { ...researcher, id: "again" }] });
      const shown = await view.until("both filled", (s) => s.panels.r?.length > 0 && s.panels.again?.length === s.panels.r.length);
      assert.deepEqual(Object.values(shown.scoped), [2]);
      await view.update({ panels: [researcher] });
      await view.until("one left", (s) => JSON.stringify(Object.values(s.scoped)) === "[1]");
      await view.update({ panels: [] });
      await view.until("released", (s) => count(s.scoped) === 0);
    });

    // M-45
    test("of two subagents are apart", async (t) => {
      const view = await finished(t);
      await view.update({ panels: [researcher, analyst] });
      await view.settles("both filled", (shown) => {
        assert.ok(shown.panels.r?.length > 0 && shown.panels.a?.length > 0);
        assert.equal(count(shown.scoped), 2);
        assert.notDeepEqual(shown.panels.r, shown.panels.a);
      });
    });

    // M-32
    test("of two kinds are apart", async (t) => {
      const view = await finished(t);
      await view.update({ panels: [researcher, { id: "c", kind: "toolCalls", subagent: "researcher" }] });
      await view.settles("both filled", (shown) => {
        assert.ok(shown.panels.r?.length > 0 && shown.panels.c?.includes("search_web"));
        assert.equal(count(shown.scoped), 2);
      });
    });

    // M-45
    test("begin when a panel is mounted and end with it", async (t) => {
      const view = await finished(t);
      const calls = { id: "c", kind: "toolCalls", subagent: "researcher" };
      const steps = [[[researcher], 1], [[researcher, panel("root", {})], 1], [[researcher, analyst], 2], [[researcher, analyst, calls], 3], [[researcher, analyst], 2], [[researcher], 1], [[], 0]];
      for (const [panels, expected] of steps) {
        await view.update({ panels });
        await view.until(`${expected} subscriptions`, (s) => count(s.scoped) === expected);
      }
    });
  });

  describe(`${library.name}: websocket`, () => {
    const options = { transport: "websocket" };

    // M-9
    test("streams", async (t) => {
      const view = await mounted(t, "stategraph_text", { options });
      await view.submit(human("Hello"));
      await view.idle(says("Hello", "Plan accepted."));
      assert.equal(view.page.count("/stream/events", "POST"), 0);
    });

    // M-9, M-33
    test("discovers subgraphs", async (t) => {
      const view = await mounted(t, "embedded_subgraph_graph", { options });
      await view.submit(human("Hello"));
      const shown = await view.idle((s) => texts(s).includes("Summary line"));
      assert.deepEqual(shown.subgraphs.map((g) => g.nodeName), ["research"]);
    });

    // M-9, M-15
    test("answers a question", async (t) => {
      const { asking } = library;
      const view = await mounted(t, asking.graph, { options });
      await view.submit(asking.input);
      await view.until("the question", (s) => s.interrupts.length === 1);
      await view.respond(asking.answer);
      await view.until("completed", (s) => asking.answered(s) && s.interrupts.length === 0);
    });
  });

  describe(`${library.name}: fan-out and reconnect`, () => {
    const open = (n, kind = "subagent") => Array.from({ length: n }, (_, i) => panel(`p${i}`, { [kind]: i }));
    const filled = (n) => (s) => open(n).every(({ id }) => s.panels[id]?.length > 0);

    const completed = (s) => texts(s).some((text) => text.startsWith("All workers completed."));

    async function fannedOut(t) {
      const view = await mounted(t, "parallel_fanout");
      await view.submit(human("Fan out"));
      await view.idle((s) => s.subagents.length === 6 && completed(s));
      return view;
    }

    // M-43, M-48
    test("six subagents come back from bounded history", async (t) => {
      const first = await fannedOut(t);
      first.page.requests.length = 0;
      const view = await remount(first);
      await view.until("six cards", (s) => s.subagents.length === 6 && s.subagents.every((a) => a.status === "complete"));
      assert.ok(view.page.count("/history") <= 3, `${view.page.count("/history")} reads of the history`);
      assert.equal(count((await view.read()).scoped), 0);
      await view.update({ panels: open(1) });
      await view.until("an opened panel", filled(1));
      assert.ok(view.page.count("/history") <= 4);
    });

    // M-34, M-40, M-43
    test("all cards open at once, and the root's last message stays", async (t) => {
      const first = await fannedOut(t);
      first.page.requests.length = 0;
      const view = await remount(first);
      // A panel that opens before the history has told its subagent's namespace reads twice.
      await view.until("six cards", (s) => s.subagents.length === 6 && s.subagents.every((a) => a.namespace[0] !== `tools:${a.id}`));
      await view.update({ panels: open(6) });
      const shown = await view.until("six panels", filled(6));
      assert.ok(view.page.count("/history") <= 8, `${view.page.count("/history")} reads of the history`);
      assert.ok(completed(shown));
    });

    // M-43
    test("six subgraphs come back from history alone", async (t) => {
      const first = await mounted(t, "parallel_subgraph");
      await first.submit(human("Hello"));
      await first.idle((s) => s.subgraphs.length === 6 && s.messages.length === 13);
      first.page.requests.length = 0;
      const view = await remount(first);
      const shown = await view.until("six hosts", (s) => s.subgraphs.length === 6);
      assert.equal(shown.subagents.length, 0);
      assert.ok(view.page.count("/history") <= 3);
      await view.update({ panels: open(1, "subgraph") });
      await view.until("an opened panel", filled(1));
    });

    // M-39, M-43, M-48
    test("a finished thread opens no streams", async (t) => {
      const first = await fannedOut(t);
      first.page.requests.length = 0;
      const view = await remount(first, { panels: open(6) });
      await view.until("cards and panels", (s) => s.subagents.length === 6 && filled(6)(s));
      await stays(view, "still there", filled(6), 400);
      assert.equal(view.page.count("/events"), 0);
      await view.submit(human("Again"));
      await view.sawLoading();
      await view.until("idle", (s) => s.loading === IDLE);
      assert.ok(view.page.count("/events") > 0);
    });

    // M-39
    test("an interrupted thread opens them", async (t) => {
      const first = await mounted(t, library.asking.graph);
      await first.submit(library.asking.input);
      await first.until("the question", (s) => s.interrupts.length === 1 && s.loading === IDLE);
      await first.unmount();
      first.page.requests.length = 0;
      const view = await first.page.mount({ ...first.props, thread: (await first.page.notes("threadId"))[0][0] }, { name: "again" });
      await view.until("the question", (s) => s.interrupts.length === 1);
      for (let tries = 0; view.page.count("/events") === 0 && tries < 100; tries++) await new Promise((r) => setTimeout(r, 20));
      assert.ok(view.page.count("/events") > 0);
    });
  });
}
