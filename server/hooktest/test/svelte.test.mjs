// What only the suite of @langchain/svelte 1.0.29 (SDK 1.9.28) has.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { IDLE, human, openPage, says, svelte } from "./page.mjs";

const mounted = async (t, graph, props = {}) => (await openPage(t, { library: "svelte" })).mount({ api: svelte, graph, ...props });

describe("svelte", () => {
  // M-26, M-36
  test("streams text bit by bit", async (t) => {
    const view = await mounted(t, "agent");
    await view.submit(human("Hello"));
    await view.idle(says("Hello", "Hey"));
    // The first turn opened the page's streams; the second is watched.
    await view.watch(() => document.querySelectorAll("[data-type=ai]")[1]?.textContent);
    await view.submit(human("Again"));
    await view.until("the second answer", (s) => s.loading === IDLE && says("Hello", "Hey", "Again", "Hey")(s));
    const shown = [...new Set((await view.frames()).filter(Boolean))];
    assert.ok(shown.length > 1, shown.join());
    assert.deepEqual(shown, ["H", "He", "Hey"].filter((text) => shown.includes(text)));
  });

  // M-18, D-55
  test("stop keeps what came", async (t) => {
    const view = await mounted(t, "agent");
    await view.submit(human("Hello"));
    await view.until("the beginning", (s) => s.messages[1]?.text.startsWith("H"));
    await view.call("stop");
    const shown = await view.until("idle", (s) => s.loading === IDLE);
    assert.match(shown.messages[1].text, /^He?y?$/);
  });

  // M-30, D-11, D-12
  test("what was said before a question is there with it, and stays", async (t) => {
    const view = await mounted(t, "interruptAgent");
    await view.watch(() => document.querySelectorAll("[data-message]").length);
    await view.submit(human("Hello"));
    await view.until("the question", (s) => s.interrupts.length === 1 && s.loading === IDLE && says("Hello", "Before interrupt")(s));
    await view.respond("Hi there");
    await view.until("the end", (s) => s.loading === IDLE && says("Hello", "Before interrupt", "Hey: Hi there", "After interrupt")(s));
    const counts = await view.frames();
    assert.deepEqual(counts, counts.toSorted((a, b) => a - b), "no message ever goes");
  });

  // M-32, M-34, M-45, M-57, D-14
  test("subagents run side by side, with a card and their tool calls each", async (t) => {
    const panels = ["researcher", "data-analyst"].flatMap((subagent) => [
      { id: `${subagent} says`, kind: "messages", subagent }, { id: `${subagent} calls`, kind: "toolCalls", subagent },
    ]);
    // The subagents work for a tenth of a second; a busy page may need another try to show it.
    let view;
    for (let attempt = 1; ; attempt++) {
      view = await mounted(t, "deepAgent");
      await view.watch(() => document.querySelector("[data-field=subagents]").textContent);
      await view.submit(human("Research"));
      await view.until("both complete", (s) => s.loading === IDLE && s.subagents.length === 2 && s.subagents.every((a) => a.status === "complete"));
      const running = (await view.frames()).map((text) => JSON.parse(text).filter((a) => a.status === "running").length);
      if (running.includes(2)) break;
      assert.ok(attempt < 5, "both cards were there while the subagents ran");
    }
    // A panel that is mounted as a run ends is a race of SDK 1.9.28, so they come afterwards.
    await view.update({ panels });
    await view.settles("their panels", ({ panels: shown }) => {
      assert.deepEqual([shown["researcher calls"], shown["data-analyst calls"]], [["search_web"], ["query_database"]]);
      assert.match(shown["researcher says"].at(-1).text, /^Research completed: found relevant results\. Tool output: \{/);
      assert.match(shown["data-analyst says"].at(-1).text, /^Analysis completed: found 2 records\. Tool output: /);
    });
  });
});
