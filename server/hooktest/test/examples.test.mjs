// The example pages of examples/react and examples/svelte on the demo agent `approval`.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { demo, openTab } from "./page.mjs";

const examples = JSON.parse(process.env.HOOKTEST_EXAMPLES);

for (const name of ["react", "svelte"]) {
  describe(`examples/${name}`, () => {
    /** Opens the page, asks for something and waits for the approval card. */
    async function asked(t) {
      const tab = await openTab(t);
      const errors = [];
      tab.on("pageerror", (error) => errors.push(error));
      t.after(() => assert.deepEqual(errors, []));
      await tab.goto(`${examples[name]}/?api=${encodeURIComponent(demo)}`);
      await tab.getByLabel("Message").fill("Refund order 4711");
      await tab.getByRole("button", { name: "Send" }).click();
      await question(tab).waitFor();
      return tab;
    }
    const question = (tab) => tab.getByLabel("Approval needed");
    const message = (tab, text) => tab.locator("li").filter({ hasText: text });
    const cards = (tab) => tab.locator("li.card").count();

    test("an approval, with a card in every frame from the click on", async (t) => {
      const tab = await asked(t);
      await tab.evaluate(() => {
        window.counts = [];
        addEventListener("click", () => requestAnimationFrame(function look() {
          window.counts.push(document.querySelectorAll("li.card").length);
          requestAnimationFrame(look);
        }), { once: true, capture: true });
      });
      await tab.getByRole("button", { name: "Approve" }).click();
      await message(tab, "Receipt:").last().waitFor();
      await question(tab).waitFor({ state: "detached" });
      assert.deepEqual([...new Set(await tab.evaluate(() => window.counts))], [1]);
      await tab.reload();
      await message(tab, "Approved: Refund order 4711").waitFor();
      await message(tab, "Done: Refund order 4711").waitFor();
      assert.equal(await cards(tab), 1);
    });

    test("an answer that doesn't get through leaves the question, and no card", async (t) => {
      const tab = await asked(t);
      await tab.route("**/commands", (route) => route.abort());
      await tab.getByRole("button", { name: "Approve" }).click();
      await tab.getByRole("alert").waitFor();
      assert.equal(await tab.getByRole("alert").count(), 1, "said once");
      await question(tab).waitFor();
      await tab.locator("li.card").waitFor({ state: "detached" });
      await tab.unroute("**/commands");
      await tab.getByRole("button", { name: "Approve" }).click();
      await message(tab, "Done: Refund order 4711").waitFor();
      await question(tab).waitFor({ state: "detached" });
      assert.equal(await cards(tab), 1);
    });

    test("a rejection after a reload", async (t) => {
      const tab = await asked(t);
      await tab.reload();
      await tab.getByRole("button", { name: "Reject" }).click();
      await message(tab, "I did not do it: Refund order 4711").waitFor();
      await question(tab).waitFor({ state: "detached" });
      assert.equal(await cards(tab), 1);
    });

    test("two tabs: one answers, and the other's question goes", async (t) => {
      const one = await asked(t);
      const other = await openTab(t);
      await other.goto(one.url());
      await question(other).waitFor();
      await one.getByRole("button", { name: "Approve" }).click();
      await message(other, "Done: Refund order 4711").waitFor();
      await question(other).waitFor({ state: "detached" });
      assert.equal(await cards(other), 1);
    });
  });
}
