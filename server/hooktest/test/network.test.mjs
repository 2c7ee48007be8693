// Networks that break, fall silent and lose answers. The cases wait most of the
// time, so they run side by side, each with a server and a proxy of its own.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { libraries, mountOn } from "./libraries.mjs";
import { IDLE, human, openPage } from "./page.mjs";
import { startProxy } from "./proxy.mjs";
import { approve, asked, asks, cards, ends, executed, onceInEveryFrame, reload, transports } from "./reviews.mjs";
import { ownServer } from "./server.mjs";

const timeout = 240_000;
/** The client tries five times; then only a reload helps. */
const LONG = 40;

/** A server behind a proxy. */
async function behindProxy(t, set) {
  const server = await ownServer(t, set);
  return { server, proxy: await startProxy(t, server.port) };
}

const get = async (url) => (await fetch(url)).json();

describe("a network that breaks", { concurrency: 6 }, () => {
  for (const seconds of [LONG, 3]) {
    for (const library of libraries) {
      // M-37, M-38, D-20
      test(`${library.name}: for ${seconds} s in mid-interrupt`, { timeout }, async (t) => {
        const { proxy } = await behindProxy(t, `conformance-${library.name}`);
        let view = await asked(t, library, { api: proxy.url });
        proxy.cut();
        await sleep(seconds * 1000);
        proxy.mend();
        if (seconds === LONG) view = await reload(view);
        await view.until("the question", asks(1));
        await approve(view);
        await ends(view, 60_000);
        await onceInEveryFrame(view);
      });

      // M-10, M-37, M-38
      test(`${library.name}: for ${seconds} s in mid-run`, { timeout }, async (t) => {
        const { proxy } = await behindProxy(t, `conformance-${library.name}`);
        let view = await asked(t, library, { api: proxy.url });
        await approve(view);
        await view.until("the answer is accepted", (s) => cards(s) === 1 && asks(0)(s));
        proxy.cut();
        await sleep(seconds * 1000);
        await onceInEveryFrame(view); // while there was no network, too
        proxy.mend();
        if (seconds === LONG) view = await reload(view);
        await ends(view, 60_000);
      });
    }
  }

  for (const library of libraries) {
    for (const { way, options } of transports) {
      // M-28, D-20
      test(`${library.name} over ${way}: a question that is asked meanwhile is there afterwards, without a reload`, { timeout }, async (t) => {
        const { server, proxy } = await behindProxy(t);
        const view = await (await openPage(t, { library: library.name })).mount({
          api: proxy.url, graph: "questions", options: { ...options, optimistic: false },
        });
        await view.submit({ count: 1, delay_ms: 3000 });
        // A socket that breaks before its subscriptions are answered loses them in all SDKs.
        const { threadId } = await view.until("values from the server", (s) => s.values.count === 1);
        proxy.cut();
        const asking = async () => (await get(`${server.url}/threads/${threadId}/state`)).tasks?.[0]?.interrupts?.length === 1;
        while (!(await asking())) await sleep(50);
        proxy.mend();
        const shown = await view.until("the question", (s) => asks(1)(s) && s.loading === IDLE, 60_000);
        await view.respond({ ok: true }, { interruptId: shown.interrupts[0].id });
        await view.until("the end", (s) => s.values.answers?.[0]?.ok === true && asks(0)(s), 60_000);
      });
    }

    // D-08
    test(`${library.name}: connections that die without a word are given up, and nothing is missed`, { timeout }, async (t) => {
      const { proxy } = await behindProxy(t, `conformance-${library.name}`);
      const view = await asked(t, library, { api: proxy.url });
      const { threadId } = await view.read();
      // The client's watchdog needs two heartbeats to know their pace.
      await sleep(11_000);
      proxy.freeze();
      const frozen = Date.now();
      const other = await mountOn(t, library, "interrupt_card_graph", { api: proxy.url, thread: threadId });
      await other.until("the question", asks(1));
      await approve(other);
      await ends(other);
      await view.until("what happened meanwhile", (s) => executed(s) && cards(s) === 1 && s.open.length === 0, 60_000);
      t.diagnostic(`recovered after ${Date.now() - frozen} ms`);
    });

    // M-27, D-47
    test(`${library.name}: a run whose acceptance is lost is not started again`, { timeout }, async (t) => {
      const { server, proxy } = await behindProxy(t, "bench");
      const view = await (await openPage(t, { library: library.name })).mount({ api: proxy.url, graph: "echo_stream" });
      proxy.loseReply("/commands");
      await view.submit(human("tokens=100 delay_us=40000")); // goes on for longer than the client waits
      const shown = await view.until("the answer", (s) => s.loading === IDLE && s.messages[1]?.text.length === 500, 60_000);
      assert.equal(shown.messages.length, 2);
      assert.equal(proxy.posts("/commands"), 2);
      assert.equal((await get(`${server.url}/threads/${shown.threadId}/runs`)).length, 1);
    });
  }
});
