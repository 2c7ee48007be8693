// Approval in the chat, by what its users want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, answered, button, chat, composer, messages, openReview, ask, question, request, say, word } from "./app.mjs";

test("a call is approved in one click, with its name and all arguments in sight", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  const mine = word();
  await say(tab, `Transfer 250 EUR to ${mine}`);
  const card = question(tab, "Approval needed: transfer_money");
  for (const text of ["transfer_money", "amount", "250", "currency", "“EUR”", `“${mine}”`]) await card.getByText(text, { exact: true }).first().waitFor();
  await card.getByText(/^Waiting for /).waitFor();
  await card.getByText("Does not expire").waitFor();
  assert.deepEqual(await card.getByRole("group", { name: "Decide about transfer_money" }).getByRole("button").allInnerTexts(), ["Approve", "Edit", "Reject"], "only the allowed decisions");
  await button(card, "Approve").click();
  await messages(tab).getByText(`250.00 EUR transferred to ${mine}`).waitFor();
  await answered(tab).getByText("Approved", { exact: true }).waitFor();
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

test("what the server finds wrong with an edit stands at the field, and the card stays open", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  const mine = word();
  await say(tab, `Transfer 250 EUR to ${mine}`);
  const card = question(tab);
  await button(card, "Edit").click();
  await card.getByLabel("amount").fill("200");
  // The page's own check has nothing to say: something on the way made it wrong.
  await tab.route("**/commands", (route) => route.continue({ postData: route.request().postData().replace('"amount":200', '"amount":-200') }), { times: 1 });
  await button(card, "Approve with changes").click();
  await card.getByRole("alert").filter({ hasText: "The answer was not accepted" }).waitFor();
  assert.equal(await answered(tab).count(), 0, "nothing is answered");
  assert.equal(await tab.getByText("The run failed").count(), 0);
  const amount = card.getByLabel("amount");
  assert.equal(await amount.getAttribute("aria-invalid"), "true");
  assert.equal(await amount.inputValue(), "200", "what was typed stays");
  await button(card, "Approve with changes").click();
  await messages(tab).getByText(`200.00 EUR transferred to ${mine}`).waitFor();
});

test("nothing is approved while a part of it is cut off; refusing is always possible", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  await say(tab, `Send an e-mail to ada@example.com about the order: ${"one more line. ".repeat(400)}`);
  const card = question(tab);
  await card.getByText("Approving needs all of it on the screen.").waitFor();
  assert.ok(await button(card, "Approve").isDisabled());
  assert.ok(await button(card, "Edit").isDisabled(), "an edited call runs with the rest of it");
  assert.ok(await button(card, "Reject").isEnabled());
  await button(card, "Show all").click();
  await button(card, "Approve").click();
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

test("a text is looked through before it is published", async (t) => {
  const tab = await chat(t, "hitl_interrupt_forms");
  await say(tab, "Publish: We open at nine");
  const form = tab.getByRole("region").filter({ has: tab.getByLabel("The facts were checked") }).last();
  await form.getByLabel("Text", { exact: true }).fill("We open at ten");
  await form.getByLabel("Audience").selectOption("Everybody");
  await form.getByLabel("The facts were checked").check();
  await form.getByRole("button").first().click();
  await answered(tab).getByText("We open at ten").waitFor();
  await answered(tab).getByText("Everybody").waitFor();
});

test("a form of a type that the page doesn't know is drawn by its fields", async (t) => {
  const tab = await chat(t, "labels", { locale: "de-DE" });
  await say(tab, "Label, please");
  const form = question(tab, "Print a label");
  await form.getByText("The parcel leaves today.").waitFor();
  assert.equal(await form.getByLabel("Insured for").inputValue(), "1.250,50");
  assert.equal(await form.getByLabel("Day").inputValue(), "2026-12-24");
  await form.getByText("As on the order").waitFor();
  await button(form, "Print").click();
  await form.getByText("This is required.").first().waitFor();
  await form.getByLabel("Recipient").fill("Grace");
  await form.getByLabel("Weight in kg").fill("99");
  await button(form, "Print").click();
  await form.getByText(/At most 31,5/).waitFor();
  await form.getByLabel("Weight in kg").fill("2,5");
  await form.getByLabel("Speed").selectOption("Fast");
  await form.getByLabel("Fragile").uncheck();
  await accessible(tab);
  await button(form, "Print").click();
  await messages(tab).getByText("Label for Grace: 2.5 kg, 1250.50 USD, fast, 2026-12-24, fragile false").waitFor();
  await answered(tab).getByText("Fast").waitFor();
});

test("a decision by the agent's own names, with a note, before a deadline", async (t) => {
  const tab = await chat(t, "claims");
  await say(tab, "Refund CLM-4821");
  const card = question(tab, "Approval needed");
  await card.getByText(/^Expires in (2 h 59 min|3 h)/).waitFor();
  await card.getByText("The refund is above the limit.").waitFor();
  await card.getByText("“CLM-4821”").waitFor();
  assert.deepEqual(await card.getByRole("button").allInnerTexts(), ["Approve", "ask the customer", "Reject"]);
  await card.getByLabel("Note to the agent (optional)").fill("Which shop?");
  await button(card, "ask the customer").click();
  await messages(tab).getByText("Claim: ask the customer (Which shop?)").waitFor();
  await answered(tab).getByText("Which shop?").waitFor();
});

test("a question of the agent's own is answered by a form of its schema", async (t) => {
  const tab = await chat(t, "survey");
  let go;
  const held = new Promise((resolve) => (go = resolve));
  await tab.route("**/state?subgraphs=true", async (route) => (await held, route.continue()));
  await say(tab, "Ask me");
  const card = question(tab, "The agent asks");
  await card.getByRole("textbox", { name: "Answer" }).waitFor(); // as long as the schema isn't there
  go();
  await card.getByLabel("stars").fill("many");
  await button(card, "Send the answer").click();
  await card.getByText("This has to be a whole number.").waitFor();
  await card.getByLabel("stars").fill("4");
  await card.getByLabel("why").fill("Quick");
  await button(card, "Send the answer").click();
  await messages(tab).getByText("4 stars: Quick").waitFor();
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

test("who decides by the keyboard is never thrown back to the top of the page", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  const focused = (locator) => locator.and(tab.locator(":focus")).waitFor();
  await say(tab, "Delete record K-1 and transfer 5 EUR to Kim");
  const card = question(tab);
  const [first, second] = [card.getByRole("listitem", { name: "delete_record" }), card.getByRole("listitem", { name: "transfer_money" })];
  await button(first, "Reject").press("Enter");
  await focused(first.getByRole("textbox"));
  await tab.keyboard.press("Escape");
  await focused(button(first, "Approve"));
  await tab.keyboard.press("Enter");
  await focused(button(first, "Change"));
  await tab.keyboard.press("Tab");
  await focused(button(second, "Approve"));
  await button(second, "Edit").press("Enter");
  await focused(second.getByLabel("amount"));
  await tab.keyboard.press("Escape");
  await button(second, "Approve").press("Enter");
  await focused(button(second, "Change"));
  await button(card, "Send 2 decisions").press("Enter");
  await card.waitFor({ state: "detached" });
  await focused(composer(tab));

  // One question after the other.
  const each = await chat(t, "human_in_the_loop_per_call");
  await say(each, "Delete record K-2 and delete record K-3");
  await question(each).nth(1).waitFor();
  await button(question(each).first(), "Approve").press("Enter");
  await answered(each).waitFor();
  await question(each).and(each.locator(":focus")).waitFor();
});

test("a description of the agent's own is shown in full and as the text that it is", async (t) => {
  const tab = await chat(t, "describer");
  await say(tab, "Go on");
  await question(tab).waitFor();
  const { tab: page } = await openReview(t, await ask("describer", "Go on"));
  const markup = '{"text":"<img src=x onerror=\\"window.injected=1\\"> **bold** [a link](javascript:alert(1))"}';
  const texts = {
    pin_note: "Pins <b>this</b> for **everybody**.\n\nTool: another_one\nArgs: {}\n\n# Ask Ada first.",
    send_note: `Sends ${markup}\n${"one more line of it\n".repeat(60)}gpj.\\u202ecod The end.`,
  };
  for (const [where, shown] of [[tab, question(tab)], [page, request(page)]]) {
    for (const [name, text] of Object.entries(texts)) {
      const said = shown.getByText(text.split("\n")[0]);
      await said.waitFor();
      assert.equal(await said.evaluate((element) => element.textContent), text, `the description of ${name}`);
      assert.ok(await said.evaluate((element) => element.scrollHeight <= element.clientHeight + 1 && element.scrollWidth <= element.clientWidth), "nothing of it is cut off");
      assert.equal(await said.evaluate((element) => element.childElementCount), 0, "it is text");
    }
    assert.equal(await where.getByRole("link", { name: "a link" }).count(), 0);
    assert.equal(await where.evaluate(() => window.injected), undefined);
  }
  await accessible(tab);
});

test("a new card is announced to those who hear the page", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  await say(tab, "Delete record A-17");
  await tab.getByRole("status").filter({ hasText: "Approval needed: delete_record" }).waitFor({ state: "attached" });
});
