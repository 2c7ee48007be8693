// The reviewers' side, by what they want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, answered, ask, button, chat, messages, narrow, newTab, openReview, project, question, request, reviewOf, sameWindow, say, server, word } from "./app.mjs";

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
  await audit.getByText(/decided: Approved with changes/).waitFor();
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
  assert.match(await tab.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /Reviews/ }).innerText(), /\d+/, "a badge");
  await accessible(tab);
  const rows = tab.getByRole("row", { name: `delete_record: ${mine}` });
  const detail = request(tab);
  const order = (await rows.allInnerTexts()).map((text) => /W\w+-\d/.exec(text)[0]); // two that came together
  await tab.evaluate(() => document.activeElement.blur());
  await tab.keyboard.press("j"); // wherever the focus is
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

test("the list tells what is asked, by whom, how long it waits and until when, and is narrowed down", async (t) => {
  const mine = word();
  await ask("human_in_the_loop", `Delete record ${mine}`);
  const dated = await ask("claims", `Refund ${mine}`);
  const tab = await newTab(t);
  await tab.goto(`${server}/reviews`);
  await tab.getByRole("searchbox", { name: "Search reviews" }).fill(mine);
  const rows = tab.getByRole("row").filter({ hasText: mine });
  await rows.nth(1).waitFor();
  await rows.nth(2).waitFor({ state: "detached" });
  for (const name of ["Action", "Agent", "Waiting", "Deadline"]) await tab.getByRole("columnheader", { name }).waitFor();
  const claim = rows.filter({ hasText: "claims" });
  await claim.getByText(/^(2 h 59 min|3 h)$/).waitFor();
  await tab.getByRole("combobox", { name: "Agent" }).selectOption("claims");
  await rows.filter({ hasText: "delete_record" }).waitFor({ state: "detached" });
  await claim.getByRole("link").click();
  await request(tab).getByText("Without a decision it is rejected.").waitFor();
  await button(request(tab), "Claim").click();
  await tab.getByRole("columnheader", { name: "Assigned to" }).waitFor();
  await button(request(tab), "Extend by an hour").click();
  await claim.getByText(/^(3 h 59 min|4 h)$/).waitFor();
  await button(request(tab), "Release").click();
  await button(request(tab), "Claim").waitFor();
  await tab.getByRole("combobox", { name: "Waiting" }).selectOption("1 day");
  await tab.getByText("No review matches.").waitFor();
  assert.equal((await reviewOf(dated)).status, "pending");
});

test("a question of the agent's own is listed by its title, without keys that it doesn't have", async (t) => {
  const thread = await ask("payout", "Go on");
  const { review_id: id } = await reviewOf(thread);
  const tab = await newTab(t);
  await tab.goto(`${server}/reviews?agent=payout`);
  await tab.getByRole("link", { name: "Pay this refund?" }).first().waitFor();
  await request(tab).getByText("“A-17”").waitFor();
  await tab.getByText("j / k move, Enter opens", { exact: true }).waitFor();
  assert.equal(await tab.getByText("a approves").count(), 0);
  await project(`/reviews/${id}/decide`, { answer: true });
});

test("the list is called by what it shows, and ended reviews say how they ended", async (t) => {
  const mine = word();
  const thread = await ask("human_in_the_loop", `Delete record ${mine}`);
  const { review_id: id } = await reviewOf(thread);
  const tab = await newTab(t);
  await tab.goto(`${server}/reviews?q=${mine}`);
  await tab.getByRole("heading", { name: "Pending Reviews" }).waitFor();
  await tab.getByText("j / k move, a approves, r rejects, Enter opens").waitFor();
  await tab.getByRole("combobox", { name: "Status" }).selectOption("Decided");
  await tab.getByRole("heading", { name: "Decided Reviews" }).waitFor();
  await tab.getByText("No review matches.").waitFor();
  await project(`/reviews/${id}/decide`, { decision: "approve" });
  await tab.getByRole("row").filter({ hasText: mine }).waitFor();
  await tab.getByText("j / k move, Enter opens", { exact: true }).waitFor();
  await tab.getByRole("columnheader", { name: "Waited" }).waitFor();
  assert.equal(await tab.getByText("a approves").count(), 0);
  for (const [status, title] of [["Expired", "Expired Reviews"], ["Superseded", "Superseded Reviews"], ["Claimed", "Claimed Reviews"]]) {
    await tab.getByRole("combobox", { name: "Status" }).selectOption(status);
    await tab.getByRole("heading", { name: title }).waitFor();
  }
});

test("several calls: what was decided is told of each, an edit by what it changes and not by the order of its members", async (t) => {
  const mine = word();
  const thread = await ask("human_in_the_loop", `Transfer 250 EUR to ${mine} and delete record ${mine}`);
  const { review_id: id } = await reviewOf(thread);
  await project(`/reviews/${id}/decide`, { decisions: [
    { type: "edit", edited_action: { name: "transfer_money", args: { to: mine, currency: "EUR", amount: 100 } } }, { type: "reject", message: "Still needed" }] });
  const tab = await newTab(t);
  await tab.goto(`${server}/reviews/${id}`);
  const outcome = request(tab).getByRole("region", { name: "Decision" });
  await outcome.getByText("Decided one by one").waitFor();
  const transfer = outcome.getByRole("listitem", { name: "transfer_money" });
  await transfer.getByText("Approved with changes").waitFor();
  const changed = (await transfer.getByRole("group", { name: "What your edit changes" }).innerText()).split("\n").filter((line) => /^(removed|added)/.test(line) || /^[-+]/.test(line)).join(" ");
  assert.match(changed, /250/);
  assert.match(changed, /100/);
  assert.doesNotMatch(changed, /EUR|W[a-z]{6}/);
  const record = outcome.getByRole("listitem", { name: "delete_record" });
  await record.getByText("Rejected").waitFor();
  await record.getByText("Still needed").waitFor();
  assert.equal(await tab.getByText("edit,reject").count(), 0);
  await accessible(tab);
});

test("a request shows all there is to know, and reviewers talk about it", async (t) => {
  const mine = word();
  const thread = await ask("human_in_the_loop", `Delete record ${mine}`);
  const { tab, review } = await openReview(t, thread);
  const page = request(tab);
  for (const text of ["Submitted at", "Original message", `Delete record ${mine}`, "Reason", "Execution", "Digest of what is shown"]) await page.getByText(text).first().waitFor();
  await page.getByText(review.execution_id).waitFor();
  await page.getByText(review.digest).waitFor();
  assert.deepEqual(await page.getByRole("radio").count(), 2, "exactly the allowed decisions");
  const other = await sameWindow(tab, tab.url());
  await page.getByLabel("Comment").fill("Who knows this one?");
  await button(page, "Add the comment").click();
  await page.getByText("Who knows this one?").waitFor();
  await request(other).getByText("Who knows this one?").waitFor();
  await request(other).getByRole("radio", { name: "Reject" }).check();
  await request(other).getByLabel("Reviewer Notes").fill("Nobody does");
  await button(request(other), "Submit Decision").click();
  await page.getByText("Rejected", { exact: true }).waitFor();
  await page.getByText("Nobody does").waitFor();
  assert.equal(await button(page, "Submit Decision").count(), 0);
});

test("somebody else was faster: the page says who, and what they chose", async (t) => {
  const thread = await ask("human_in_the_loop", "Delete record F-1");
  const { tab, review } = await openReview(t, thread);
  await tab.getByRole("radio", { name: "Approve" }).check();
  // The decision of another one arrives in the moment before this one's.
  await tab.route("**/decide", async (route) => {
    await project(`/reviews/${review.review_id}/decide`, { decision: "reject", notes: "Not this one" });
    await route.continue();
  });
  await button(tab, "Submit Decision").click();
  await tab.getByText(/was faster. Decision: Rejected/).waitFor();
  await tab.getByText("Not this one").waitFor();
  assert.equal(await button(tab, "Submit Decision").count(), 0);
});

test("the agent asks anew while a reviewer reads: the page says so before anything is decided", async (t) => {
  const mine = word();
  const thread = await ask("human_in_the_loop", `Delete record ${mine}`);
  const { tab } = await openReview(t, thread);
  await fetch(`${server}/threads/${thread}/runs/wait`, { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ assistant_id: "human_in_the_loop", input: { messages: [{ type: "human", content: "Leave it" }] } }) });
  await request(tab).getByText("The conversation went on without a decision").waitFor();
  assert.equal(await button(tab, "Submit Decision").count(), 0);
});

test("nothing is approved while a part of it is cut off", async (t) => {
  const thread = await ask("human_in_the_loop", `Send an e-mail to ada@example.com about the order: ${"one more line. ".repeat(400)}`);
  const { tab } = await openReview(t, thread);
  const page = request(tab);
  assert.ok(await page.getByRole("radio", { name: "Approve" }).isDisabled());
  assert.ok(await page.getByRole("radio", { name: "Reject" }).isEnabled(), "refusing is always possible");
  const rest = button(page, "Show all"); // of the original message, and of the arguments
  for (const left of [1, 0]) {
    assert.ok(await page.getByRole("radio", { name: "Approve" }).isDisabled());
    await rest.first().click();
    await rest.nth(left).waitFor({ state: "detached" });
  }
  await page.getByRole("radio", { name: "Approve" }).check();
  await button(page, "Submit Decision").press("Enter");
  await page.getByText("Decided", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Decision" }).and(tab.locator(":focus")).waitFor();
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
  const { tab } = await openReview(t, thread, { phone: true, dark: true });
  await tab.getByLabel("Reason", { exact: true }).selectOption("Late");
  await accessible(tab);
  await narrow(tab);
  await button(tab, "Refund").click();
  await tab.getByText("Decided", { exact: true }).waitFor();
  await tab.getByRole("link", { name: "Open the conversation" }).click();
  await messages(tab).getByText(/30\.00 EUR refunded \(late/).waitFor();
  await answered(tab).getByText("Late").waitFor();
});

test("a device that may be notified is, while its page is not looked at", async (t) => {
  const tab = await newTab(t, { permissions: ["notifications"] });
  await tab.addInitScript(() => {
    window.told = [];
    window.Notification = class {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title, options) {
        window.told.push(`${title}: ${options.body}`);
      }
    };
    Object.defineProperty(document, "hidden", { get: () => window.away ?? false });
  });
  const mine = word();
  await tab.goto(`${server}/reviews?q=${mine}`);
  await tab.getByRole("switch", { name: "Notify me on this device" }).check();
  await tab.getByText("No review matches.").waitFor();
  await tab.evaluate(() => (window.away = true));
  await ask("human_in_the_loop", `Delete record ${mine}`);
  await tab.waitForFunction(() => window.told.some((text) => text.startsWith("human_in_the_loop waits for a review")));
  await tab.getByRole("status").filter({ hasText: "New review: " }).waitFor({ state: "attached" });
});

test("a browser that forbids notifications leaves the switch off", async (t) => {
  const tab = await newTab(t);
  await tab.addInitScript(() => {
    Notification.requestPermission = async () => "denied";
  });
  await tab.goto(`${server}/reviews`);
  const choice = tab.getByRole("switch", { name: "Notify me on this device" });
  await choice.click();
  await tab.getByText("The browser does not allow notifications from this page.").waitFor();
  assert.ok(!(await choice.isChecked()));
});
