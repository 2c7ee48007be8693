// What holds for every page: it is accessible in every look, fits on a phone, moves for nobody who
// doesn't want that, and speaks Chinese.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, ask, button, chat, composer, messages, narrow, newTab, project, question, reviewOf, say, server, word } from "./app.mjs";

/** Every page, with something on it: an open question, an answered one, long names and texts. */
async function pages() {
  const mine = word();
  const long = `https://example.com/${mine}${"a-long-address/".repeat(12)}`;
  const open = await ask("human_in_the_loop", `Send an e-mail to ada@example.com about ${mine}: See ${long}`);
  const answeredOne = await ask("human_in_the_loop", `Transfer 250 EUR to ${mine} and delete record ${mine}`);
  const decided = await reviewOf(answeredOne);
  await project(`/reviews/${decided.review_id}/decide`, { decisions: [{ type: "edit", edited_action: { name: "transfer_money", args: { amount: 1, currency: "EUR", to: long } } }, { type: "reject" }] });
  const dated = await ask("claims", `Refund ${mine}`);
  return {
    "a new conversation": "/app/chat?agent=human_in_the_loop",
    "a question": `/app/chat/${open}`,
    "an answered question": `/app/chat/${answeredOne}`,
    "a form": `/app/chat/${await ask("labels", `Label ${mine}`)}`,
    "the list of reviews": `/reviews?q=${mine}`,
    "decided reviews": `/reviews?status=decided&q=${mine}`,
    "no reviews": `/reviews?q=${mine}none`,
    "a review": `/reviews/${(await reviewOf(open)).review_id}`,
    "a review by name": `/reviews/${(await reviewOf(dated)).review_id}`,
    "a decided review": `/reviews/${decided.review_id}`,
    executions: "/app/executions",
    "an execution": `/app/executions/${decided.execution_id}`,
    "the audit log": "/app/audit",
    "a filtered audit log": `/app/audit?review_id=${decided.review_id}`,
    keys: "/app/access",
    "no page": "/app/nothing",
  };
}

for (const [look, options] of Object.entries({ light: {}, dark: { dark: true }, phone: { phone: true, hasTouch: true, isMobile: true } })) {
  test(`no page has a serious fault for those who see, hear or use it differently: ${look}`, async (t) => {
    const tab = await newTab(t, options);
    for (const [name, path] of Object.entries(await pages())) {
      await tab.goto(server + path);
      await tab.getByRole("main").waitFor();
      await tab.getByText("Loading…").first().waitFor({ state: "detached" });
      // Until the conversation is connected nothing can be decided; a button that becomes one that can is neither for axe.
      if (name === "a question") await tab.locator("button:enabled", { hasText: "Approve" }).first().waitFor();
      await t.test(name, async () => {
        await accessible(tab);
        if (options.phone) await narrow(tab);
      });
    }
  });
}

test("nothing is cut off at the side of a tablet, however long a word is", async (t) => {
  const mine = word();
  const thread = await ask("human_in_the_loop", `Delete record ${mine}${"x".repeat(150)} and transfer 250 EUR to ${mine}`);
  const review = await reviewOf(thread);
  const tab = await newTab(t, { viewport: { width: 768, height: 900 } });
  for (const path of [`/reviews?q=${mine}`, `/reviews/${review.review_id}`, "/app/executions", `/app/audit?review_id=${review.review_id}`, `/app/chat/${thread}`]) {
    await tab.goto(server + path);
    await tab.getByRole("main").getByText(mine).or(tab.getByRole("row", { name: /Review requested/ })).filter({ visible: true }).first().waitFor();
    const wide = await tab.evaluate(() => [...document.querySelectorAll("main, main :not(pre)")].filter((e) => e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)).map((e) => e.className));
    assert.deepEqual(wide, [], path);
  }
});

test("on a phone everything is in reach, in Chinese and in the dark", async (t) => {
  const tab = await newTab(t, { phone: true, dark: true, locale: "zh-CN" });
  await tab.goto(`${server}/app/chat?agent=approval`);
  await tab.getByRole("textbox", { name: "消息" }).fill("Refund order 4711");
  await button(tab, "发送").click();
  await button(tab.getByRole("region", { name: /^需要审批/ }), "批准").click();
  await tab.getByText(/Done: Refund order 4711/).waitFor();
  await accessible(tab);
  await narrow(tab);
  await button(tab, "会话").click();
  await tab.getByRole("dialog", { name: "会话" }).getByRole("link", { name: /Refund order 4711/ }).first().waitFor();
});

test("on a phone every filter is on the screen", async (t) => {
  const tab = await newTab(t, { phone: true });
  for (const [path, last] of [["/reviews", "Assigned to"], ["/app/audit", "Until"]]) {
    await tab.goto(server + path);
    await tab.getByLabel(last, { exact: true }).waitFor();
    const outside = await tab.locator("header").locator("input, select").evaluateAll((all) => all.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.ariaLabel ?? e.id));
    assert.deepEqual(outside, [], path);
    await narrow(tab);
  }
});

test("no text of the pages is left in English for those who read Chinese", async (t) => {
  const tab = await newTab(t, { locale: "zh-CN" });
  for (const [path, title] of [["/reviews", "待审批"], ["/reviews?status=decided", "已决定的审批"], ["/app/executions", "执行"], ["/app/audit", "审计日志"], ["/app/access", "密钥与角色"]]) {
    await tab.goto(server + path);
    await tab.getByRole("heading", { level: 1, name: title }).waitFor();
    const head = await tab.locator("header, nav, thead").allInnerTexts();
    const english = head.join("\n").match(/[A-Za-z]{3,}/g) ?? [];
    assert.deepEqual(english.filter((text) => !["JSON", "Lines", "CSV"].includes(text) && !/^[a-z]/.test(text)), [], path);
  }
  assert.equal(await tab.evaluate(() => document.documentElement.lang), "zh-Hans");
});

test("the language and the looks are chosen, and stay chosen", async (t) => {
  const tab = await newTab(t);
  await tab.goto(`${server}/reviews`);
  await tab.getByRole("heading", { name: "Pending Reviews" }).waitFor();
  const background = () => tab.evaluate(() => getComputedStyle(document.querySelector("main")).backgroundColor + getComputedStyle(document.documentElement).colorScheme);
  const light = await background();
  await button(tab, "Account").click();
  await tab.getByRole("menuitemradio", { name: "Dark" }).click();
  await tab.getByRole("menuitemradio", { name: "中文" }).click();
  await tab.getByRole("heading", { name: "待审批" }).waitFor();
  await tab.reload();
  await tab.getByRole("heading", { name: "待审批" }).waitFor();
  assert.notEqual(await background(), light);
});

test("nothing moves for those who don't want it", async (t) => {
  const tab = await chat(t, "approval", { reducedMotion: "reduce" });
  await say(tab, "Refund order 4711");
  await question(tab).waitFor();
  await button(tab, "State and checkpoints").click();
  await tab.getByRole("dialog", { name: "State" }).waitFor();
  const moving = await tab.evaluate(() => document.getAnimations().map((a) => a.effect.getComputedTiming()).filter((timing) => timing.activeDuration > 10).length);
  assert.equal(moving, 0);
  const slow = await tab.evaluate(() => [...document.querySelectorAll("*")].filter((e) => getComputedStyle(e).transitionDuration.split(",").some((d) => parseFloat(d) > 0.01)).length);
  assert.equal(slow, 0);
});

test("the keyboard leads past the navigation to what the page is about, and back", async (t) => {
  const tab = await newTab(t);
  await tab.goto(`${server}/app/executions`);
  await tab.getByRole("heading", { name: "Executions" }).waitFor();
  await tab.keyboard.press("Tab");
  const skip = tab.getByRole("link", { name: "Skip to content" });
  assert.ok(await skip.evaluate((element) => element === document.activeElement));
  await tab.keyboard.press("Enter");
  assert.ok(await tab.getByRole("main").evaluate((element) => element === document.activeElement));
});

test("a thread of 1,000 messages has only those in the document that are in sight", async (t) => {
  const thread = await ask("echo", "begin");
  const many = Array.from({ length: 499 }, (_, i) => [{ type: "human", id: `h${i}`, content: `Question ${i}` }, { type: "ai", id: `a${i}`, content: `Answer **${i}**` }]).flat();
  await fetch(`${server}/threads/${thread}/state`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ values: { messages: many } }) });
  const tab = await newTab(t);
  await tab.goto(`${server}/app/chat/${thread}`);
  await messages(tab).getByText("Answer 498").waitFor();
  assert.ok((await messages(tab).getByRole("listitem").count()) < 60);
  const region = tab.getByRole("region", { name: "Messages" });
  await region.press("Home");
  await messages(tab).getByText("begin").first().waitFor();
  await button(tab, "Go to the end").click();
  await messages(tab).getByText("Answer 498").waitFor();
  await region.evaluate((box) => (box.scrollTop /= 2));
  await messages(tab).getByText("Answer 498").waitFor({ state: "detached" });
  await region.press("End");
  await messages(tab).getByText("Answer 498").waitFor();
  await button(tab, "Go to the end").waitFor({ state: "detached" });
});

test("plain addresses lead to the pages", async (t) => {
  const tab = await newTab(t);
  for (const [path, at] of [["/", /\/app\/chat$/], ["/chat", /\/app\/chat$/], ["/executions", /\/app\/executions$/], ["/audit", /\/app\/audit$/], ["/keys", /\/app\/access$/], ["/app/keys", /\/app\/access$/], ["/app/reviews", /\/reviews$/]]) {
    await tab.goto(server + path);
    await tab.waitForURL(at);
    await tab.getByRole("main").waitFor();
  }
  await composer(await chat(t, "echo")).waitFor();
});
