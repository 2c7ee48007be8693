// The chat, by what its users want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ownServer } from "./durable.mjs";
import { accessible, ask, button, chat, composer, messages, newTab, putItem, question, sameWindow, say, server, word } from "./app.mjs";

/** Lets the agent builder go on in the conversation that is shown. */
const openGate = (tab) => putItem(["gates"], new URL(tab.url()).pathname.split("/").at(-1), { open: true });

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

test("an agent is picked, and says what one may ask it", async (t) => {
  const tab = await chat(t, "approval");
  await tab.getByRole("combobox", { name: "Agent" }).selectOption("echo");
  await tab.waitForURL(/agent=/);
  await button(tab, "Hello, can you hear me?").click();
  await messages(tab).getByText("Hello, can you hear me?").nth(1).waitFor();
  await tab.getByRole("heading", { name: "echo" }).waitFor();
  await tab.getByRole("link", { name: "New conversation" }).click();
  await tab.getByRole("combobox", { name: "Agent" }).waitFor();
  await composer(tab).waitFor();
  await tab.reload();
  assert.equal(await tab.getByRole("combobox", { name: "Agent" }).locator("option:checked").innerText(), "echo", "the agent of last time");
});

test("who is new here meets the agent that asks before it acts", async (t) => {
  const tab = await newTab(t);
  await tab.goto(`${server}/app/chat`);
  await composer(tab).waitFor();
  assert.equal(await tab.getByRole("combobox", { name: "Agent" }).locator("option:checked").innerText(), "human in the loop");
});

test("conversations are found by what they need, renamed and deleted", async (t) => {
  const tab = await chat(t, "approval");
  const mine = word();
  await say(tab, `Refund ${mine}`);
  await question(tab).waitFor();
  const list = tab.getByRole("region", { name: "Conversations" });
  await list.getByRole("searchbox").fill(mine);
  const item = list.getByRole("listitem").filter({ hasText: mine });
  await item.getByText("Needs an answer").waitFor();
  const cut = (locator) => locator.evaluate((element) => element.scrollWidth > element.clientWidth);
  assert.equal(await cut(item.getByText("approval", { exact: true })), false, "the agent's name is there in full");
  await list.getByRole("combobox", { name: "Status" }).selectOption("Failed");
  await item.waitFor({ state: "detached" });
  await list.getByRole("combobox", { name: "Status" }).selectOption("Needs an answer");
  await item.waitFor();
  await button(item, `Actions for Refund ${mine}`).click();
  await tab.getByRole("menuitem", { name: "Rename" }).click();
  await tab.getByRole("dialog").getByLabel("Title").fill(`Order of ${mine}`);
  await button(tab.getByRole("dialog"), "Save").click();
  await list.getByRole("link", { name: `Order of ${mine}` }).waitFor();
  await button(item, `Actions for Order of ${mine}`).click();
  await tab.getByRole("menuitem", { name: "Delete" }).click();
  await button(tab.getByRole("dialog"), "Delete").click();
  await item.waitFor({ state: "detached" });
  await tab.waitForURL(/\/app\/chat$/);
});

test("what a model thinks is folded away, and what it used is told", async (t) => {
  const tab = await chat(t, "thinker");
  await say(tab, "What is six times seven?");
  await messages(tab).getByRole("strong").filter({ hasText: "42" }).waitFor();
  await messages(tab).getByText("Reasoning", { exact: true }).click();
  await messages(tab).getByText("Six times seven is what is asked for.").waitFor();
  await messages(tab).getByText("1,234 tokens").waitFor();
  await button(tab, "State and checkpoints").click();
  const panel = tab.getByRole("dialog", { name: "State" });
  await panel.getByRole("tab", { name: "Usage" }).click();
  await panel.getByText("1,200", { exact: true }).waitFor();
  await accessible(tab);
});

test("a tool call shows what it was asked, how far it is and what came of it, also when it fails", async (t) => {
  const tab = await chat(t, "builder");
  await say(tab, "Build it");
  const build = messages(tab).getByRole("button", { name: /^build/ });
  await build.filter({ hasText: "Running" }).waitFor();
  await messages(tab).getByText("compiled 2 of 2").waitFor();
  await openGate(tab);
  await messages(tab).getByText("Built, but not published.").waitFor();
  await build.filter({ hasText: "Done" }).click();
  await messages(tab).getByText("linux").first().waitFor();
  await messages(tab).getByText("warnings").waitFor();
  const publish = messages(tab).getByRole("button", { name: /^publish/ });
  await publish.filter({ hasText: "Failed" }).click();
  await messages(tab).getByText(/the registry is closed/).waitFor();
  await accessible(tab);
});

test("subagents at work are shown under their names, with what they do", async (t) => {
  const tab = await chat(t, "deep_agent");
  await say(tab, "Look into the protocol");
  const activity = tab.getByRole("region", { name: "Activity" });
  await activity.getByRole("button", { name: /data-analyst.*Done/ }).waitFor();
  await activity.getByRole("button", { name: /researcher.*Done/ }).click();
  await activity.getByText(/Research completed/).waitFor();
  await messages(tab).getByText("Both subagents completed their tasks successfully.").waitFor();
  await accessible(tab);
});

test("a graph in a node is shown as a part of the agent", async (t) => {
  const tab = await chat(t, "subgraph_graph");
  await say(tab, "Go");
  const part = tab.getByRole("region", { name: "Activity" }).getByRole("button", { name: /child/ });
  await part.click();
  await tab.getByRole("region", { name: "Activity" }).getByText("Reply from child").waitFor();
});

test("a run that fails says why, and is tried again", async (t) => {
  const tab = await chat(t, "moody");
  await say(tab, "How is the weather?");
  const failed = tab.getByRole("alert").filter({ hasText: "The run failed: the weather service is down" });
  const sunny = messages(tab).getByText("It is sunny.");
  // Each of several replicas fails once.
  for (let tries = 0; tries < 3 && (await failed.or(sunny).first().waitFor(), await failed.isVisible()); tries++) {
    // The next one may fail so soon that its words are never gone.
    await Promise.all([tab.waitForResponse((response) => response.url().endsWith("/commands")), button(failed, "Try again").click()]);
  }
  await sunny.waitFor();
  assert.equal(await messages(tab).getByText("How is the weather?").count(), 1);
});

test("a run that failed before the page was opened says why there, too, and is tried again", async (t) => {
  const thread = await ask("moody", "How is the weather?");
  const tab = await newTab(t);
  await tab.goto(`${server}/app/chat/${thread}`);
  const failed = tab.getByRole("alert").filter({ hasText: "The run failed: the weather service is down" });
  await failed.waitFor();
  await accessible(tab);
  const sunny = messages(tab).getByText("It is sunny.");
  for (let tries = 0; tries < 3 && (await failed.or(sunny).first().waitFor(), await failed.isVisible()); tries++) {
    await button(failed, "Try again").click();
    await failed.waitFor({ state: "detached" });
  }
  await sunny.waitFor();
  await tab.reload();
  await sunny.waitFor();
  assert.equal(await failed.count(), 0);
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
  const tab = await chat(t, "builder"); // it waits for the gate, which stays shut
  await say(tab, "Build it");
  await button(tab, "Stop").waitFor();
  await say(tab, "and then this");
  await tab.getByRole("region", { name: "Waiting to be sent" }).getByText("and then this").waitFor();
  await button(tab.getByRole("region", { name: "Waiting to be sent" }), "Remove from the queue").click();
  await button(tab, "Stop").click();
  await button(tab, "Stop").waitFor({ state: "detached" });
  await button(tab, "Send").waitFor();
});

test("what waits is sent when the agent is done, unless it is taken back", async (t) => {
  const tab = await chat(t, "builder");
  await say(tab, "Build it");
  await button(tab, "Stop").waitFor();
  await say(tab, "never mind this");
  await say(tab, "but do this");
  const queue = tab.getByRole("region", { name: "Waiting to be sent" });
  await button(queue.getByRole("listitem").filter({ hasText: "never mind this" }), "Remove from the queue").click();
  await queue.getByText("never mind this").waitFor({ state: "detached" });
  await tab.waitForURL(/\/chat\/[0-9a-f-]{36}$/);
  await openGate(tab);
  await messages(tab).getByText("Built, but not published.").nth(1).waitFor();
  await queue.waitFor({ state: "detached" });
  assert.deepEqual(await messages(tab).getByRole("article", { name: "You" }).getByRole("paragraph").allInnerTexts(), ["Build it", "but do this"]);
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

test("the agent runs again from an earlier checkpoint, and the state can be written", async (t) => {
  const tab = await chat(t, "echo");
  await say(tab, "one");
  await messages(tab).getByText("one").nth(1).waitFor();
  await say(tab, "two");
  await messages(tab).getByText("two").nth(1).waitFor();
  await button(tab, "State and checkpoints").click();
  const panel = tab.getByRole("dialog", { name: "State" });
  await panel.getByRole("tab", { name: "Checkpoints" }).click();
  await button(panel.getByRole("listitem").filter({ hasText: "Step 0" }), "Run again from here").click();
  await panel.waitFor({ state: "detached" });
  await messages(tab).getByText("two").first().waitFor({ state: "detached" });
  await messages(tab).getByText("one").nth(1).waitFor();
  await button(tab, "State and checkpoints").click();
  await panel.getByText("Edit state").first().click();
  await panel.getByLabel("Edit state").fill('{"messages": [{"type": "ai", "content": "written by hand"}');
  await button(panel, "Write the state").click();
  await panel.getByText("This is not valid JSON.").waitFor();
  await panel.getByLabel("Edit state").fill('{"messages": [{"type": "ai", "content": "written by hand"}]}');
  await button(panel, "Write the state").click();
  await messages(tab).getByText("written by hand").waitFor();
});

test("a message tells whether it is on its way, and that it has arrived", async (t) => {
  const tab = await chat(t, "builder");
  let go;
  const held = new Promise((resolve) => (go = resolve));
  await tab.route("**/commands", async (route) => (await held, route.continue()));
  await say(tab, "Build it");
  await messages(tab).getByText("Sending…").waitFor();
  go();
  await messages(tab).getByText("Sent", { exact: true }).waitFor();
  await button(tab, "Stop").click();
});

test("a message that could not be sent says so, and is sent again", async (t) => {
  const tab = await chat(t, "echo");
  await tab.route("**/commands", (route) => route.fulfill({ status: 400, json: { error: "not now" } }));
  await say(tab, "are you there");
  await tab.getByText("Not sent").waitFor();
  await tab.unroute("**/commands");
  await button(tab, "Send again").click();
  await tab.getByText("Not sent").waitFor({ state: "detached" });
  await messages(tab).getByText("are you there").nth(1).waitFor(); // the answer
  assert.equal(await messages(tab).getByText("are you there").count(), 2);
});

test("the server goes away and comes back: the page says so, and goes on by itself", async (t) => {
  const own = await ownServer(t);
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

test("a step whose outcome a crash left unknown: a person says whether it happened", async (t) => {
  const own = await ownServer(t);
  const tab = await newTab(t);
  await tab.goto(`${own.url}/app/chat?agent=courier`);
  await say(tab, "Deliver");
  await tab.getByText("Working…").waitFor();
  await own.stop("SIGKILL");
  await own.begin();
  const card = question(tab, "Did this happen?");
  await card.getByText(/The server stopped while “deliver” was running/).waitFor({ timeout: 120_000 }); // on Redis when the lease is over
  await button(card, "Run it again").click();
  await messages(tab).getByText("Parcel: ").waitFor();
});

test("a device that is offline is told so, and that the run goes on", async (t) => {
  const tab = await chat(t, "approval");
  await say(tab, "Refund order 4711");
  await question(tab).waitFor();
  await tab.context().setOffline(true);
  await tab.getByRole("status").filter({ hasText: "This device is offline. The run goes on at the server" }).waitFor();
  await tab.context().setOffline(false);
  await tab.getByText("Connected again").waitFor();
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
