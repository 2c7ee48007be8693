// The audit log, by what auditors want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, ask, button, download, newTab, project, reviewOf, server, word } from "./app.mjs";

/** Decides two calls, each in another way; returns the review. */
async function decided(mine) {
  const thread = await ask("human_in_the_loop", `Transfer 250 EUR to ${mine} and delete record ${mine}`);
  const review = await reviewOf(thread);
  await project(`/reviews/${review.review_id}/claim`, {});
  await project(`/reviews/${review.review_id}/decide`, { decisions: [{ type: "approve" }, { type: "reject", message: `Keep ${mine}` }] });
  return review;
}

test("an entry about several calls names them all, and what was decided about each", async (t) => {
  const review = await decided(word());
  const tab = await newTab(t);
  await tab.goto(`${server}/audit?review_id=${review.review_id}`);
  await tab.waitForURL(/\/app\/audit\?review_id=/);
  const row = (name) => tab.getByRole("row", { name });
  for (const name of [/Review requested/, /Review claimed/, /Review decided/]) {
    const calls = row(name).getByRole("list", { name: "2 tool calls" });
    await calls.waitFor();
    const told = /decided/.test(name) ? ["delete_record: Rejected", "transfer_money: Approved"] : ["delete_record", "transfer_money"];
    assert.deepEqual((await calls.getByRole("listitem").allInnerTexts()).sort(), told, String(name));
  }
  await accessible(tab);
  await button(row(/Review decided/), "Entry").click();
  await tab.getByRole("dialog").getByText("digest").waitFor();
});

test("a filtered log says by what, how many there are, and leads back to everything", async (t) => {
  const mine = word();
  const review = await decided(mine);
  const tab = await newTab(t);
  await tab.goto(`${server}/app/audit?review_id=${review.review_id}`);
  await tab.getByRole("combobox", { name: "What" }).selectOption("Review decided");
  await tab.getByText("1 entry matches.").waitFor();
  const filters = tab.getByRole("list", { name: "Filters" });
  await filters.getByText("What: Review decided").waitFor();
  await filters.getByText(`Review: ${review.review_id}`).waitFor();
  await tab.getByText(`“Keep ${mine}”`).waitFor();
  await accessible(tab);
  const lines = (await download(tab, tab.getByRole("link", { name: "JSON Lines" }))).trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((entry) => [entry.action, entry.review_id]), [["review.decided", review.review_id]], "exported as filtered");
  await button(filters, "Remove the filter: What").click();
  await tab.getByRole("row", { name: /Review requested/ }).waitFor();
  await tab.getByRole("combobox", { name: "What" }).selectOption("Key created");
  await tab.getByText("No entry matches.").waitFor();
  await button(tab, "Show everything").click();
  await tab.getByRole("row", { name: /Review requested/ }).first().waitFor();
  assert.ok(!tab.url().includes("?"));
});

test("why something was refused or ended is told in words", async (t) => {
  const thread = await ask("human_in_the_loop", `Delete record ${word()}`);
  const { review_id: id } = await reviewOf(thread);
  await project(`/reviews/${id}/decide`, { answer: { decisions: [{ type: "approve" }, { type: "approve" }] } });
  await fetch(`${server}/threads/${thread}/runs/wait`, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ assistant_id: "human_in_the_loop", input: { messages: [{ type: "human", content: "Leave it" }] } }),
  });
  const tab = await newTab(t);
  await tab.goto(`${server}/app/audit?review_id=${id}`);
  await tab.getByRole("row", { name: /Attempt refused/ }).getByText("The answer doesn't fit the question").waitFor();
  await tab.getByRole("row", { name: /Review superseded/ }).getByText("New input came instead of an answer").waitFor();
});

test("the chain is verified, and the log exported for those who verify it themselves", async (t) => {
  const review = await decided(word());
  const tab = await newTab(t);
  await tab.goto(`${server}/app/audit`);
  await button(tab, "Verify the chain").click();
  await tab.getByText(/The chain is intact: [\d,]+ entries were checked/).waitFor();
  assert.match(await download(tab, tab.getByRole("link", { name: "CSV" })), new RegExp(review.review_id));
});
