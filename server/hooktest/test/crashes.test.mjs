// The server is killed, or stopped and started again, under an open page.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { libraries } from "./libraries.mjs";
import { IDLE, human, openPage } from "./page.mjs";
import { approve, asked, asks, cards, ends, executed, onceInEveryFrame, reload, transports } from "./reviews.mjs";
import { ownServer } from "./server.mjs";

for (const library of libraries) {
  for (const { way, options } of transports) {
    describe(`${library.name} over ${way}: kill -9 and restart`, { concurrency: 3 }, () => {
      // M-51, M-53, D-22
      test("in mid-interrupt: the open page answers without a reload", async (t) => {
        const server = await ownServer(t, `conformance-${library.name}`);
        const view = await asked(t, library, { api: server.url, options });
        await server.restart("SIGKILL");
        // An answer that goes into a socket which is dead already is rejected, and the question stays.
        await view.tab.waitForFunction(() => window.notes.some(([what]) => what === "reconnect"));
        await approve(view);
        await ends(view, 60_000);
        await onceInEveryFrame(view);
      });

      // M-51, D-08
      test("in mid-run: the open page sees the run go on to its end", async (t) => {
        const server = await ownServer(t, `conformance-${library.name}`);
        const view = await asked(t, library, { api: server.url, options });
        await approve(view);
        await view.until("the answer is accepted", (s) => cards(s) === 1 && asks(0)(s));
        await server.restart("SIGKILL");
        await ends(view, 60_000);
        await onceInEveryFrame(view);
        assert.equal(cards(await (await reload(view)).until("the conversation", (s) => s.messages.length === 4)), 1);
      });

      // M-37, M-51, D-02
      test("in mid-message: the text is whole, and there once", async (t) => {
        const server = await ownServer(t, "bench");
        const view = await (await openPage(t, { library: library.name })).mount({ api: server.url, graph: "echo_stream", options });
        await view.submit(human("tokens=60 delay_us=20000"));
        await view.until("some text", (s) => s.messages[1]?.text.length > 50);
        await server.restart("SIGKILL");
        const chunks = Array.from({ length: 60 }, (_, i) => i.toString(36).padStart(4, "0"));
        // The hook is idle for a moment while it has no connection: only the last chunk tells the end.
        const ended = (s) => s.loading === IDLE && s.messages.length === 2 && s.messages[1].text.includes(chunks.at(-1));
        const shown = await view.until("the end", ended, 60_000);
        assert.deepEqual(shown.messages[1].text.trim().split(" "), chunks);
      });
    });
  }

  describe(`${library.name}: a server that is stopped and started again`, () => {
    // D-01, M-4
    test("cuts its streams off instead of ending them: the open page goes on", async (t) => {
      const server = await ownServer(t, `conformance-${library.name}`);
      const view = await asked(t, library, { api: server.url });
      await approve(view);
      await view.until("the answer is accepted", (s) => cards(s) === 1 && asks(0)(s));
      await server.restart("SIGTERM");
      await view.until("the end", executed, 60_000);
      await onceInEveryFrame(view);
      assert.ok((await view.page.notes("reconnect")).length > 0);
    });
  });
}
