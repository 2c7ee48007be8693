// The chat, by what its users want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ownServer } from "./durable.mjs";
import { accessible, answered, button, chat, composer, messages, newTab, question, sameWindow, say, server } from "./app.mjs";

test("a message is answered in Markdown, and the conversation is in the list and at its address", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "This is **important** and so is `this`");
  await messages(tab).getByRole("strong").filter({ hasText: "important" }).waitFor();
  const list = tab.getByRole("region", { name: "Conversations" });
  await list.getByRole("link", { name: /This is \*\*important/ }).first().waitFor();
  assert.match(tab.url(), /\/app\/chat\/[0-9a-f-]{36}$/);
  await accessible(tab);
  await tab.reload();
  await messages(tab).getByRole("strong").filter({ hasText: "important" }).waitFor();
  await list.getByRole("searchbox", { name: "Search conversations" }).fill("no such thing");
  await list.getByText("No conversation matches.").waitFor();
});

test("several actions are decided one by one and sent together: an edit with errors first, and a reason", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  await say(tab, "Delete record A-17 and transfer 250 EUR to Grace");
  const card = question(tab);
  const action = (name) => card.getByRole("listitem", { name });
  await card.waitFor();
  await accessible(tab);
  assert.equal(await button(action("delete_record"), "Edit").count(), 0, "only the allowed decisions");
  await button(action("delete_record"), "Reject").click();
  await action("delete_record").getByLabel("Reason (optional)").fill("It is still needed");
  await button(action("delete_record"), "Reject").click();
  assert.ok(await button(card, "Send 2 decisions").isDisabled());

  const transfer = action("transfer_money");
  await button(transfer, "Edit").click();
  await transfer.getByLabel("amount").fill("lots");
  await transfer.getByLabel("currency").fill("eur");
  await button(transfer, "Approve with changes").click();
  await transfer.getByText("This has to be a number.").waitFor();
  await transfer.getByText(/Does not have the form/).waitFor();
  await accessible(tab);
  await transfer.getByLabel("amount").fill("200");
  await transfer.getByLabel("currency").fill("EUR");
  await button(transfer, "Approve with changes").click();
  await card.getByText("2 of 2 decided").waitFor();
  await button(card, "Send 2 decisions").click();

  await messages(tab).getByText(/200\.00 EUR transferred to Grace/).waitFor();
  await card.waitFor({ state: "detached" });
  for (let reload = 0; reload < 2; reload++) {
    await answered(tab).getByText("Approved with changes").waitFor();
    await answered(tab).getByText("It is still needed").waitFor();
    assert.equal(await answered(tab).count(), 1);
    assert.equal(await answered(tab).getByRole("button").count(), 0, "what was sent is read-only");
    await tab.reload();
  }
});

test("each call is asked about alone, and one answer leaves the other question open", async (t) => {
  const tab = await chat(t, "human_in_the_loop_per_call");
  await say(tab, "Delete record A-17 and transfer 250 EUR to Grace");
  await question(tab, "Approval needed: transfer_money").waitFor();
  await button(question(tab, "Approval needed: delete_record"), "Approve").click();
  await question(tab, "Approval needed: delete_record").waitFor({ state: "detached" });
  await question(tab, "Approval needed: transfer_money").waitFor();
  await tab.reload();
  await button(question(tab, "Approval needed: transfer_money"), "Reject").click();
  await button(question(tab, "Approval needed: transfer_money"), "Reject").click();
  await messages(tab).getByText("This is what came of it").waitFor();
  assert.equal(await answered(tab).count(), 2);
  assert.equal(await question(tab).count(), 0);
});

test("an answer as text", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  await say(tab, "Ask me: Which colour do you want?");
  await button(question(tab), "Respond").click();
  await button(question(tab), "Send the answer").click();
  await question(tab).getByText("This is required.").waitFor();
  await question(tab).getByLabel(/^Your answer/).fill("Blue");
  await button(question(tab), "Send the answer").click();
  await messages(tab).getByText("Blue").last().waitFor();
  await answered(tab).waitFor();
});

test("a form of the agent's: its fields, its bounds, amounts in the reader's locale", async (t) => {
  const tab = await chat(t, "hitl_interrupt_forms", { locale: "de-DE" });
  await say(tab, "Refund order 4711, 240 EUR");
  const form = question(tab, "Refund order 4711");
  assert.equal(await form.getByLabel("Amount").inputValue(), "240,00");
  await form.getByLabel("Amount").fill("2.000,50");
  await button(form, "Refund").click();
  await form.getByText(/At most 1.000,00/).waitFor();
  await form.getByText("This is required.").waitFor();
  await form.getByLabel("Amount").fill("99,50");
  await form.getByLabel("Reason").selectOption("Damaged");
  await form.getByLabel("Tell the customer").uncheck();
  await accessible(tab);
  await button(form, "Refund").click();
  await messages(tab).getByText(/99\.50 EUR refunded \(damaged\)/).waitFor();
  await answered(tab).getByText(/99,50/).waitFor();
});

test("a form is refused with a reason", async (t) => {
  const tab = await chat(t, "hitl_interrupt_forms");
  await say(tab, "Book a flight from Berlin to Lisbon on 2026-12-24");
  const form = question(tab, "Book a flight");
  await button(form, "Don't book").click();
  await form.getByLabel("Reason (optional)").fill("Take the train");
  await button(form, "Don't book").click();
  await messages(tab).getByText(/Take the train/).last().waitFor();
});

test("two tabs: one answers, the other's question becomes the same card, without a reload", async (t) => {
  const tab = await chat(t, "approval");
  await say(tab, "Refund order 4711");
  await question(tab).waitFor();
  const other = await sameWindow(tab, tab.url());
  await question(other).waitFor();
  await button(question(tab), "Approve").click();
  await messages(other).getByText(/Done: Refund order 4711/).waitFor();
  await question(other).waitFor({ state: "detached" });
  assert.equal(await answered(other).count(), 1);
});

test("an approval by the keyboard, its card in every frame from the press on", async (t) => {
  const tab = await chat(t, "approval");
  await say(tab, "Refund order 4711");
  await question(tab).waitFor();
  await tab.evaluate(() => {
    window.seen = new Set();
    addEventListener("click", () => requestAnimationFrame(function look() {
      const count = document.querySelectorAll("[aria-label^='Approval needed'], [aria-label^='Answered:']").length;
      window.seen.add(count);
      requestAnimationFrame(look);
    }), { once: true, capture: true });
  });
  await button(question(tab), "Approve").focus();
  await tab.keyboard.press("Enter");
  await messages(tab).getByText(/Done: Refund order 4711/).waitFor();
  await question(tab).waitFor({ state: "detached" });
  const seen = await tab.evaluate(() => [...window.seen]);
  assert.ok(!seen.includes(0), `the card was gone in a frame: ${seen}`);
  assert.equal(await answered(tab).count(), 1);
});

test("a message is edited: the versions can be switched, also after a reload", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "first question");
  await messages(tab).getByText("first question").nth(1).waitFor();
  await say(tab, "second question");
  await messages(tab).getByText("second question").nth(1).waitFor();
  await messages(tab).getByRole("article", { name: "You" }).last().hover();
  await button(messages(tab).getByRole("article", { name: "You" }).last(), "Edit").click();
  await tab.getByLabel("Edit the message").fill("another question");
  await button(tab, "Send the new version").click();
  await messages(tab).getByText("another question").nth(1).waitFor();
  assert.equal(await messages(tab).getByText("second question").count(), 0);
  await tab.getByRole("img", { name: "Version 2 of 2" }).waitFor();
  await button(tab, "Previous version").click();
  await messages(tab).getByText("second question").nth(1).waitFor();
  assert.equal(await messages(tab).getByText("another question").count(), 0);
  await tab.reload();
  await messages(tab).getByText("second question").nth(1).waitFor();
  await button(tab, "Show the newest").click();
  await messages(tab).getByText("another question").nth(1).waitFor();
});

test("an answer is asked for again", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "the same again");
  await messages(tab).getByText("the same again").nth(1).waitFor();
  await button(tab, "Answer again").click();
  await tab.getByRole("img", { name: "Version 2 of 2" }).waitFor();
  assert.equal(await messages(tab).getByText("the same again").count(), 2);
});

test("a message waits its turn while the agent works, and a run can be stopped", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "word ".repeat(400));
  await button(tab, "Stop").waitFor();
  await say(tab, "and then this");
  await tab.getByRole("region", { name: "Waiting to be sent" }).getByText("and then this").waitFor();
  await button(tab, "Stop").click();
  await button(tab, "Stop").waitFor({ state: "detached" });
});

test("the state and its checkpoints can be looked at, and shown as they were", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "one");
  await messages(tab).getByText("one").nth(1).waitFor();
  await say(tab, "two");
  await messages(tab).getByText("two").nth(1).waitFor();
  await button(tab, "State and checkpoints").click();
  const panel = tab.getByRole("dialog", { name: "State" });
  await panel.getByText("messages").first().waitFor();
  await panel.getByRole("tab", { name: "Checkpoints" }).click();
  await accessible(tab);
  await button(panel.getByRole("listitem").filter({ hasText: "Step 1" }), "Show this point").click();
  await tab.getByText("You are looking at an earlier version").waitFor();
  assert.equal(await messages(tab).getByText("two").count(), 0);
});

test("a message that could not be sent says so, and is sent again", async (t) => {
  const tab = await chat(t, "echo");
  await tab.route("**/commands", (route) => route.fulfill({ status: 400, json: { error: "not now" } }));
  await say(tab, "are you there");
  await tab.getByText("Not sent").waitFor();
  await tab.unroute("**/commands");
  await button(tab, "Send again").click();
  await messages(tab).getByText("are you there").nth(1).waitFor();
  await tab.getByText("Not sent").waitFor({ state: "detached" });
  assert.equal(await messages(tab).getByText("are you there").count(), 2);
});

test("the server goes away and comes back: the page says so, and goes on by itself", async (t) => {
  const own = await ownServer(t, "demo");
  const tab = await newTab(t);
  await tab.goto(`${own.url}/app/chat?agent=approval`);
  await say(tab, "Refund order 4711");
  await question(tab).waitFor();
  const stopped = own.stop("SIGKILL");
  await tab.getByRole("status").filter({ hasText: /Connection lost|Reconnecting/ }).waitFor();
  await stopped;
  await own.begin();
  await tab.getByText("Connected again").waitFor();
  await button(question(tab), "Approve").click();
  await messages(tab).getByText(/Done: Refund order 4711/).waitFor();
});

test("a tab that sits idle shows what another one does", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "before");
  await messages(tab).getByText("before").nth(1).waitFor();
  const other = await sameWindow(tab, tab.url());
  await messages(other).getByText("before").nth(1).waitFor();
  await say(tab, "afterwards");
  await messages(other).getByText("afterwards").nth(1).waitFor();
});

test("on a phone everything is in reach, in Chinese and in the dark", async (t) => {
  const tab = await newTab(t, { phone: true, dark: true, locale: "zh-CN" });
  await tab.goto(`${server}/app/chat?agent=approval`);
  await tab.getByRole("textbox", { name: "消息" }).fill("Refund order 4711");
  await button(tab, "发送").click();
  await button(tab.getByRole("region", { name: /^需要审批/ }), "批准").click();
  await tab.getByText(/Done: Refund order 4711/).waitFor();
  await accessible(tab);
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 360);
  await button(tab, "会话").click();
  await tab.getByRole("dialog", { name: "会话" }).getByRole("link", { name: /Refund order 4711/ }).first().waitFor();
});
