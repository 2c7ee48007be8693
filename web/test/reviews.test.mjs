// The reviewers' side, by what they want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "../../server/hooktest/test/server.mjs";
import { accessible, answered, ask, button, chat, messages, newTab, project, question, say, server } from "./app.mjs";

/** A word of this run alone: a second try finds what the first one left. */
const word = () => `W${Array.from({ length: 6 }, () => String.fromCharCode(97 + Math.random() * 26)).join("")}`;

const request = (tab) => tab.getByRole("article", { name: "Review Request" });

/** The page of the review that a thread waits for. */
async function open(t, thread, options) {
  const { reviews } = await project("/reviews?status=open&limit=200");
  const review = reviews.find((r) => r.thread_id === thread);
  const tab = await newTab(t, options);
  await tab.goto(`${server}/reviews/${review.review_id}`);
  await request(tab).waitFor();
  return { tab, review };
}

test("the story: a user asks, a reviewer in another window claims, edits and approves, the user's page goes on, the audit log has it", async (t) => {
  const user = await chat(t, "human_in_the_loop");
  const mine = word();
  await say(user, `Transfer 250 EUR to Grace ${mine}`);
  await question(user).waitFor();

  const reviewer = await newTab(t);
  await reviewer.goto(`${server}/reviews`);
  await reviewer.getByRole("row", { name: `transfer_money: 250, EUR, Grace ${mine}` }).click();
  const page = request(reviewer);
  await page.getByText(`Transfer 250 EUR to Grace ${mine}`, { exact: true }).waitFor();
  await button(page, "Claim").click();
  await page.getByText(/^Claimed by you until/).waitFor();
  await page.getByRole("radio", { name: "Edit" }).check();
  await page.getByLabel("amount").fill("-1");
  await page.getByText("More than 0.").waitFor();
  assert.ok(await button(page, "Submit Decision").isDisabled());
  await page.getByLabel("amount").fill("200");
  assert.match(await page.getByRole("group", { name: "What your edit changes" }).innerText(), /- +"amount": 250[\s\S]*\+ +"amount": 200/);
  await page.getByLabel("Reviewer Notes").fill(`Half of it at first, ${mine}`);
  await accessible(reviewer);
  await button(page, "Submit Decision").click();

  await messages(user).getByText(`200.00 EUR transferred to Grace ${mine}`).waitFor();
  await question(user).waitFor({ state: "detached" });
  await answered(user).getByText("Approved with changes").waitFor();

  const audit = await newTab(t);
  await audit.goto(`${server}/app/audit`);
  const decided = audit.getByRole("row", { name: /Review decided/ }).filter({ hasText: `Half of it at first, ${mine}` });
  await decided.first().waitFor();
  await button(audit, "Verify the chain").click();
  await audit.getByText(/The chain is intact/).waitFor();
  await accessible(audit);
  const [download] = await Promise.all([audit.waitForEvent("download"), audit.getByRole("link", { name: "CSV" }).click()]);
  assert.match(download.suggestedFilename(), /\.csv$/);
  await decided.first().getByRole("link", { name: "Open the review" }).click();
  await audit.getByText(`Half of it at first, ${mine}`).waitFor();
  await audit.getByRole("link", { name: /^[0-9a-f-]{36}$/ }).click();
  await audit.getByText(/decided: edit/).waitFor();
  await audit.getByText("Slowest").waitFor();
  await accessible(audit);
});

test("a list that is live, and is worked through from the keyboard", async (t) => {
  const tab = await newTab(t);
  const mine = word();
  await tab.goto(`${server}/reviews?q=${mine}`);
  await tab.getByText("No review matches.").waitFor();
  await ask("human_in_the_loop_per_call", `Delete record ${mine}-1 and delete record ${mine}-2`);
  await tab.getByRole("row", { name: `delete_record: ${mine}-2` }).waitFor();
  assert.match(await tab.title(), /^\(\d+\) Parley$/);
  await accessible(tab);
  const rows = tab.getByRole("row", { name: `delete_record: ${mine}` });
  const detail = request(tab);
  const order = (await rows.allInnerTexts()).map((text) => /W\w+-\d/.exec(text)[0]); // two that came together
  await rows.first().getByRole("link").focus();
  await tab.keyboard.press("j");
  await detail.getByText(`“${order[1]}”`).waitFor();
  await tab.keyboard.press("k");
  await detail.getByText(`“${order[0]}”`).waitFor();
  await tab.keyboard.press("r");
  assert.ok(await detail.getByRole("radio", { name: "Reject" }).isChecked());
  await tab.keyboard.press("a");
  assert.ok(await detail.getByRole("radio", { name: "Approve" }).isChecked());
  await button(detail, "Submit Decision").click();
  await tab.getByRole("row", { name: `delete_record: ${order[0]}` }).waitFor({ state: "detached" });
  await rows.first().getByRole("link").focus();
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/reviews\/[0-9a-f]{32}$/);
});

test("somebody else was faster: the page says who, and what they chose", async (t) => {
  const thread = await ask("human_in_the_loop", "Delete record F-1");
  const { tab, review } = await open(t, thread);
  await tab.getByRole("radio", { name: "Approve" }).check();
  // The decision of another one arrives in the moment before this one's.
  await tab.route("**/decide", async (route) => {
    await project(`/reviews/${review.review_id}/decide`, { decision: "reject", notes: "Not this one" });
    await route.continue();
  });
  await button(tab, "Submit Decision").click();
  await tab.getByText(/was faster and chose “reject”/).waitFor();
  await tab.getByText("Not this one").waitFor();
  assert.equal(await button(tab, "Submit Decision").count(), 0);
});

test("nothing is approved while a part of it is cut off", async (t) => {
  const thread = await ask("human_in_the_loop", `Send an e-mail to ada@example.com about the order: ${"one more line. ".repeat(400)}`);
  const { tab } = await open(t, thread);
  const page = request(tab);
  assert.ok(await page.getByRole("radio", { name: "Approve" }).isDisabled());
  assert.ok(await page.getByRole("radio", { name: "Reject" }).isEnabled(), "refusing is always possible");
  await button(page, "Show all").click();
  await page.getByRole("radio", { name: "Approve" }).check();
  await button(page, "Submit Decision").click();
  await page.getByText("Decided", { exact: true }).waitFor();
});

test("only identical requests are decided together", async (t) => {
  const mine = word();
  for (const amount of [77, 77, 78]) await ask("human_in_the_loop", `Transfer ${amount} EUR to ${mine}`);
  const tab = await newTab(t);
  await tab.goto(`${server}/reviews?q=${mine}`);
  const row = (amount) => tab.getByRole("row", { name: `${amount}, EUR, ${mine}` });
  await row(78).waitFor();
  await row(77).first().getByRole("checkbox").check();
  assert.ok(await row(78).getByRole("checkbox").isDisabled());
  await row(77).last().getByRole("checkbox").check();
  await button(tab, "Approve all selected").click();
  await tab.getByText("2 of 2 decided.").waitFor();
  await row(77).first().waitFor({ state: "detached" });
  await row(78).waitFor();
});

test("a form is decided on a phone, and the conversation shows what was filled in", async (t) => {
  const thread = await ask("hitl_interrupt_forms", "Refund order 4712, 30 EUR");
  const { tab } = await open(t, thread, { phone: true, dark: true });
  await tab.getByLabel("Reason", { exact: true }).selectOption("Late");
  await accessible(tab);
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 360);
  await button(tab, "Refund").click();
  await tab.getByText("Decided", { exact: true }).waitFor();
  await tab.getByRole("link", { name: "Open the conversation" }).click();
  await messages(tab).getByText(/30\.00 EUR refunded \(late/).waitFor();
  await answered(tab).getByText("Late").waitFor();
});

test("an owner makes a key, sees it once, and ends it", async (t) => {
  const own = await start(["--ephemeral"]);
  t.after(() => own.stop());
  const tab = await newTab(t);
  await tab.goto(`${own.url}/app/access`);
  await button(tab, "Create a key").click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Night shift");
  await button(dialog, "Create a key").click();
  await dialog.getByText("Choose at least one role.").waitFor();
  await accessible(tab);
  await dialog.getByRole("checkbox", { name: /^owner/ }).check();
  await button(dialog, "Create a key").click();
  const key = await dialog.getByRole("code").innerText();
  await button(dialog, "Done").click();

  await tab.getByRole("row", { name: /Night shift/ }).waitFor();

  // From now on the server wants to know who is there; this window goes on with the key.
  const other = await newTab(t);
  await other.goto(`${own.url}/app/access`);
  await other.getByLabel("API key or token").fill("nonsense");
  await button(other, "Sign in").click();
  await other.getByText("The server does not know this key or token.").waitFor();
  await accessible(other);
  await other.getByLabel("API key or token").fill(key);
  await button(other, "Sign in").click();
  await other.getByRole("row", { name: /Night shift/ }).waitFor();
  await button(other, "Account").click();
  await other.getByRole("menuitem", { name: "Sign out" }).click();
  await other.getByLabel("API key or token").waitFor();
  await tab.getByRole("row", { name: /Night shift/ }).waitFor();
  await button(tab.getByRole("row", { name: /Night shift/ }), "Revoke").click();
  await button(tab.getByRole("dialog"), "Revoke").click();
  await tab.getByRole("row", { name: /Revoked/ }).or(tab.getByLabel("API key or token")).first().waitFor();
});
