// Approval in the chat where several people, pages and servers have to agree about it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, answered, button, chat, composer, messages, newTab, project, question, request, reviewOf, sameWindow, say, word } from "./app.mjs";
import { ownServer } from "./durable.mjs";
import { signedIn, withPeople } from "./people.mjs";

/** The line of a tool call among the messages. */
const call = (tab, name) => tab.getByRole("button", { name: new RegExp(`^${name} `) });

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

test("an answer that doesn't get through is told of once, leaves no card, and the same one is sent again", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  const mine = word();
  await say(tab, `Delete record ${mine} and transfer 5 EUR to ${mine}`);
  const card = question(tab);
  await card.waitFor();
  const thread = new URL(tab.url()).pathname.split("/").at(-1);
  const review = await reviewOf(thread);
  let go;
  const held = new Promise((resolve) => (go = resolve));
  await tab.route("**/commands", async (route) => (await held, route.abort()));
  await button(card, "Approve all").click();
  await button(card, "Send 2 decisions").click();
  await button(card, "Sending…").waitFor();
  assert.equal(await answered(tab).count(), 0, "nothing is decided while it is on its way");
  go();
  const failed = tab.getByRole("alert");
  await failed.filter({ hasText: "The answer did not get through" }).waitFor({ timeout: 120_000 }); // the hook tries for a while
  assert.equal(await failed.count(), 1, "told once");
  assert.equal(await answered(tab).count(), 0, "nothing is decided");
  assert.equal(await tab.getByText("The run failed").count(), 0, "no run has");
  await card.getByText("2 of 2 decided").waitFor();
  await call(tab, "transfer_money").getByText("Waiting for approval").waitFor();
  await accessible(tab);
  await tab.unroute("**/commands");
  assert.equal(await answered(tab).count(), 0);
  await button(card, "Send 2 decisions").click();
  await messages(tab).getByText(`5.00 EUR transferred to ${mine}`).waitFor();
  await card.waitFor({ state: "detached" });
  assert.equal(await answered(tab).count(), 1);
  assert.equal((await project(`/reviews/${review.review_id}`)).status, "decided", "the same review");
});

test("an answer to a server that is away is sent again when it is back, to the same question", async (t) => {
  const own = await ownServer(t);
  const tab = await newTab(t);
  await tab.goto(`${own.url}/app/chat?agent=human_in_the_loop`);
  await say(tab, "Delete record A-17");
  const card = question(tab);
  await card.waitFor();
  await own.stop("SIGKILL");
  await button(card, "Reject").click();
  await card.getByLabel("Reason (optional)").fill("It is still needed");
  await button(card, "Reject").click();
  await card.getByRole("alert").filter({ hasText: "The answer did not get through" }).waitFor({ timeout: 120_000 }); // the hook may try for a while
  assert.equal(await tab.getByRole("alert").count(), 1, "told once");
  assert.equal(await answered(tab).count(), 0, "nothing is decided");
  await own.begin();
  await tab.getByRole("status").filter({ hasText: /Connection lost|Reconnecting/ }).waitFor({ state: "detached" }); // what is said then passes
  assert.equal(await answered(tab).count(), 0, "nothing is decided");
  assert.equal(await tab.getByText("The run failed").count(), 0, "no run has");
  assert.equal(await card.getByLabel("Reason (optional)").inputValue(), "It is still needed", "what was typed stays");
  await button(card, "Reject").click();
  await answered(tab).getByText("It is still needed").waitFor();
  await card.waitFor({ state: "detached" });
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
  await other.reload();
  await answered(other).getByText("Approved", { exact: true }).waitFor();
  assert.equal(await answered(other).getByRole("button").count(), 0, "what was sent is read-only");
});

test("a reviewer was faster: the chat says so, and what they chose, whatever is pressed there", async (t) => {
  const tab = await chat(t, "human_in_the_loop");
  const mine = word();
  await say(tab, `Delete record ${mine}`);
  await question(tab).waitFor();
  const thread = new URL(tab.url()).pathname.split("/").at(-1);
  const review = await reviewOf(thread);
  await tab.route("**/commands", async (route) => {
    await project(`/reviews/${review.review_id}/decide`, { decision: "reject", reviewer_notes: "Not this one" });
    await route.continue();
  }, { times: 1 });
  await button(question(tab), "Approve").click();
  await question(tab).waitFor({ state: "detached" });
  await tab.getByRole("alert").getByText("Somebody was faster. Decision: Rejected").waitFor();
  await messages(tab).getByText(/Not this one/).first().waitFor();
  await call(tab, "delete_record").getByText("Rejected").waitFor(); // without a card that would tell it
  assert.equal(await answered(tab).count(), 0, "what was pressed here isn't shown as decided");
  assert.equal(await tab.getByText("The run failed").count(), 0, "no run has");
  assert.equal(await tab.getByText(`Record ${mine} deleted`).count(), 0);
  await accessible(tab);
  await say(tab, "Leave it then");
  await tab.getByText("was faster").waitFor({ state: "detached" }); // an old story
});

test("another reviewer decides: the chat names them and what they chose, pressed or not, and its card keeps the name", async (t) => {
  const { url, other, people, decide } = await withPeople(t, { ada: ["owner"], grace: ["reviewer"] });
  const tab = await signedIn(t, url, people.ada);
  const begin = async (text) => {
    await tab.goto(`${url}/app/chat?agent=human_in_the_loop`);
    await composer(tab).waitFor();
    await say(tab, text);
    await question(tab).waitFor();
    return new URL(tab.url()).pathname.split("/").at(-1);
  };
  // By the API, which leaves no card.
  const first = await begin("Delete record E-1");
  await decide(people.grace, first, { decision: "approve" });
  await tab.getByRole("status").getByText("grace decided: Approved").waitFor();
  await question(tab).waitFor({ state: "detached" });

  // By the page, which does: in the other replica, where there is one.
  const second = await begin("Delete record E-2");
  const reviewer = await signedIn(t, other, people.grace);
  await reviewer.goto(`${other}/reviews`);
  await reviewer.getByRole("row", { name: /E-2/ }).getByRole("link").first().click();
  await request(reviewer).getByRole("radio", { name: "Reject" }).check();
  await button(request(reviewer), "Submit Decision").click();
  await answered(tab).getByText("Decided by grace").waitFor();
  await call(tab, "delete_record").getByText("Rejected").waitFor();
  assert.equal(await tab.getByText("grace decided").count(), 0, "told once");
  await tab.reload();
  await answered(tab).getByText("Decided by grace").waitFor();
  await call(tab, "delete_record").getByText("Rejected").waitFor();
  assert.ok(tab.url().includes(second));

  // Both at once.
  const third = await begin("Delete record E-3 and transfer 5 EUR to Eve");
  await tab.route("**/commands", async (route) => {
    await decide(people.grace, third, { answer: { decisions: [{ type: "reject" }, { type: "approve" }] } });
    await route.continue();
  }, { times: 1 });
  await button(question(tab), "Approve all").click();
  await button(question(tab), "Send 2 decisions").click();
  await tab.getByRole("alert").getByText("grace was faster. Decision: delete_record: Rejected · transfer_money: Approved").waitFor();
  await messages(tab).getByText(/5.00 EUR transferred to Eve/).waitFor();
  assert.equal(await answered(tab).count(), 0);

  // Both at once, and the other's page left a card.
  const fourth = await begin("Delete record E-4");
  await reviewer.goto(`${other}/reviews`);
  await reviewer.getByRole("row", { name: /E-4/ }).getByRole("link").first().click();
  await request(reviewer).getByRole("radio", { name: "Reject" }).check();
  await tab.route("**/commands", async (route) => {
    await button(request(reviewer), "Submit Decision").click();
    await request(reviewer).getByText("Decided", { exact: true }).or(reviewer.getByText("There are no pending reviews.")).first().waitFor();
    await route.continue();
  }, { times: 1 });
  await button(question(tab), "Approve").click();
  await tab.getByRole("alert").getByText("grace was faster. Decision: Rejected").waitFor();
  await answered(tab).getByText("Rejected", { exact: true }).waitFor();
  await answered(tab).getByText("Decided by grace").waitFor();
  assert.equal(await answered(tab).count(), 1);
  assert.equal(await tab.getByText("The run failed").count(), 0);
  assert.ok(tab.url().includes(fourth));
});

test("a rejected call is called rejected, in the reader's language, also after a reload", async (t) => {
  const words = { "en-US": ["Reject", "Rejected", "Failed"], "zh-CN": ["拒绝", "已拒绝", "失败"] };
  for (const [locale, [reject, rejected, failed]] of Object.entries(words)) {
    const tab = await newTab(t, { locale });
    await tab.goto(`${process.env.WEB_URL}/app/chat?agent=human_in_the_loop`);
    const write = tab.getByRole("textbox");
    await write.fill("Delete record R-1");
    await write.press("Enter");
    await tab.getByRole("button", { name: reject, exact: true }).click();
    await tab.getByRole("button", { name: reject, exact: true }).click(); // without a reason
    for (const again of [false, true]) {
      if (again) await tab.reload();
      await call(tab, "delete_record").getByText(rejected, { exact: true }).waitFor();
      assert.equal(await call(tab, "delete_record").getByText(failed, { exact: true }).count(), 0);
    }
  }
});

test("who may only read sees the question and why they can't answer it, and is offered nothing that they may not do", async (t) => {
  const { url, people, decide } = await withPeople(t, { ada: ["owner"], vic: ["viewer"] });
  const tab = await signedIn(t, url, people.ada);
  await tab.goto(`${url}/app/chat?agent=human_in_the_loop`);
  await composer(tab).waitFor();
  await say(tab, "Delete record V-1 and transfer 5 EUR to Eve");
  await question(tab).waitFor();
  const thread = new URL(tab.url()).pathname;
  const viewer = await signedIn(t, url, people.vic);
  await viewer.getByText("Your role lets you read conversations, not write in them.").waitFor();
  assert.equal(await viewer.getByRole("link", { name: "New conversation" }).count(), 0);
  await viewer.goto(url + thread);
  await question(viewer).getByText("You may not decide this: Your roles don't cover this review.").waitFor();
  await question(viewer).getByText("“V-1”").waitFor();
  assert.ok(await button(question(viewer), "Send 2 decisions").isDisabled());
  for (const each of await question(viewer).getByRole("button").all()) assert.ok(await each.isDisabled());
  await accessible(viewer);
  await decide(people.ada, thread.split("/").at(-1), { answer: { decisions: [{ type: "approve" }, { type: "approve" }] } });
  await viewer.getByRole("status").getByText("ada decided: Approved").waitFor();
  await viewer.goto(`${url}/audit`);
  await viewer.getByText("Only owners see this page.").waitFor();
});
