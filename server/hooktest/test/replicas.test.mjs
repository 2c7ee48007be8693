// Three replicas behind a proxy with compression on: the one that serves the page is
// killed, and the page goes on with another one, without a reload.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { afterTest } from "./cleanup.mjs";
import { missing, proxies, startCluster } from "./cluster.mjs";
import { libraries } from "./libraries.mjs";
import { approve, asked, asks, cards, ends, onceInEveryFrame, transports } from "./reviews.mjs";

const timeout = 240_000;
/** How long a page may be without what happens, in ms. */
const RECOVERY = 20_000;

for (const library of libraries) {
  // One cluster per library: their sets have agents of the same names.
  describe(`${library.name} behind a proxy: kill -9 of the replica that serves`, { skip: missing() }, () => {
    let cluster;
    before(async () => (cluster = await startCluster(`conformance-${library.name}`)), { timeout });
    after(() => cluster?.close());

    // The streams that are open then are this page's.
    const open = async (t, proxy, options) => {
      await cluster.quiet();
      return asked(t, library, { api: cluster.urls[proxy], options });
    };
    const kill = async (t) => {
      const again = await cluster.killServing();
      afterTest(t, again);
      return Date.now();
    };
    const recovered = (t, killed) => {
      const took = Date.now() - killed;
      t.diagnostic(`recovered after ${took} ms`);
      assert.ok(took < RECOVERY, `${took} ms`);
    };

    for (const proxy of Object.keys(proxies)) {
      for (const { way, options } of transports) {
        // D-57, M-51
        test(`${proxy}, ${way}: in mid-interrupt, the open page answers`, { timeout }, async (t) => {
          const view = await open(t, proxy, options);
          const killed = await kill(t);
          // An answer that goes into a socket which is dead already is rejected, and the question stays.
          if (options) await view.tab.waitForFunction(() => window.notes.some(([what]) => what === "reconnect"));
          await approve(view);
          await ends(view, 60_000);
          recovered(t, killed);
          await onceInEveryFrame(view);
        });
      }

      // M-51, D-08
      test(`${proxy}: in mid-run, the open page sees the run go on to its end`, { timeout }, async (t) => {
        const view = await open(t, proxy);
        await approve(view);
        await view.until("the answer is accepted", (s) => cards(s) === 1 && asks(0)(s));
        const killed = await kill(t);
        await ends(view, 60_000);
        recovered(t, killed);
        await onceInEveryFrame(view);
      });
    }
  });
}
