// Keys, roles and signing in, by what owners and those they let in want.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, button, narrow, newTab } from "./app.mjs";
import { ownServer } from "./durable.mjs";

const dialog = (tab) => tab.getByRole("dialog");

/** The key that was just made. */
async function made(tab) {
  const told = dialog(tab).getByText(/^pk_/).or(tab.getByRole("alert")).or(tab.getByLabel("API key or token")).first();
  await told.waitFor();
  const text = await told.innerText();
  assert.match(text, /^pk_/, `instead of the key: ${text}`);
  return text;
}

/** Opens the form on a server without keys. */
async function creating(t, options) {
  const own = await ownServer(t);
  const tab = await newTab(t, options);
  await tab.goto(`${own.url}/keys`);
  await tab.waitForURL(/\/app\/access$/);
  await button(tab, "Create a key").click();
  return { own, tab };
}

async function signIn(t, url, key) {
  const tab = await newTab(t);
  await tab.goto(url);
  await tab.getByLabel("API key or token").fill(key);
  await button(tab, "Sign in").click();
  return tab;
}

test("an owner makes a key, sees it once, and ends it", async (t) => {
  const { own, tab } = await creating(t);
  await dialog(tab).getByLabel("Name").fill("Night shift");
  await button(dialog(tab), "Create a key").click();
  await dialog(tab).getByText("Choose at least one role.").waitFor();
  await accessible(tab);
  await dialog(tab).getByRole("checkbox", { name: /^Owner/ }).check();
  // Between the key and the session with it the server knows nobody here: other requests are refused.
  const refused = tab.waitForResponse((response) => response.status() === 401);
  await tab.route("**/api/v1/session", async (route) => {
    if (route.request().method() === "POST") {
      await tab.evaluate(() => setInterval(() => document.dispatchEvent(new Event("visibilitychange")), 300)); // lists are read again
      await refused;
    }
    await route.continue();
  });
  await button(dialog(tab), "Create a key").click();
  const key = await made(tab);
  await button(dialog(tab), "Done").click();
  const row = tab.getByRole("row", { name: /Night shift/ });
  await row.waitFor();

  // From now on the server wants to know who is there; this window goes on with the key.
  const other = await signIn(t, `${own.other}/app/access`, "nonsense");
  await other.getByText("The server does not know this key or token.").waitFor();
  await accessible(other);
  await other.getByLabel("API key or token").fill(key);
  await button(other, "Sign in").click();
  await other.getByRole("row", { name: /Night shift/ }).waitFor();
  await button(other, "Account").click();
  await other.getByRole("menuitem", { name: "Sign out" }).click();
  await other.getByLabel("API key or token").waitFor();
  await button(row, "Revoke").click();
  await button(dialog(tab), "Revoke").click();
  await tab.getByRole("row", { name: /Revoked/ }).or(tab.getByLabel("API key or token")).first().waitFor();
});

test("roles are chosen one by one: a reviewer of a tool alone reads and starts no runs", async (t) => {
  const { own, tab } = await creating(t);
  const form = dialog(tab);
  const role = (name) => form.getByRole("checkbox", { name: new RegExp(`^${name}`) });
  await form.getByText("None includes another one, apart from the owner").waitFor();
  assert.deepEqual(await form.getByText(/^Also /).count(), 0, "no role is told by another one");
  await form.getByLabel("Name").fill("Ada");
  await role("Owner").check();
  assert.ok(await role("Reviewer").isDisabled(), "an owner needs no other role");
  await button(form, "Create a key").click();
  const owner = await made(tab);
  await button(form, "Done").click();

  await button(tab, "Create a key").click();
  await form.getByLabel("Name").fill("Grace");
  await role("Reviewer").check();
  await form.getByRole("radio", { name: "Only what certain agents or tools ask" }).check();
  const scope = form.getByRole("listitem", { name: "Scope 1" });
  await scope.getByRole("combobox", { name: "Agent" }).selectOption("human in the loop");
  await scope.getByLabel("Tool").fill("transfer_money");
  await button(form, "Add a scope").click();
  await form.getByRole("listitem", { name: "Scope 2" }).getByRole("combobox", { name: "Agent" }).selectOption("claims");
  for (const name of ["reviewer:human_in_the_loop/transfer_money", "reviewer:claims"]) await form.getByText(name, { exact: true }).waitFor();
  await form.getByLabel("Teams").fill("finance, night shift");
  for (const name of ["team:finance", "team:night shift"]) await form.getByText(name, { exact: true }).waitFor();
  await form.getByLabel("Expires").selectOption("On a date…");
  await button(form, "Create a key").click();
  await form.getByText("Choose a day that isn't over.").waitFor();
  await accessible(tab);
  await form.getByLabel("Last day").fill("2031-05-01");
  await button(form, "Create a key").click();
  const grace = await made(tab);
  await button(form, "Done").click();
  const row = tab.getByRole("row", { name: /Grace/ });
  await row.getByText("reviewer:human_in_the_loop/transfer_money").waitFor();
  await row.getByText("reviewer:claims").waitFor();
  await row.getByText("team:finance").waitFor();
  await row.getByText(/2031/).waitFor();

  const asked = async (text, key = owner) => {
    const post = async (path, body) => (await fetch(own.url + path, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${key}` }, body: JSON.stringify(body) })).json();
    const { thread_id: thread } = await post("/threads", {});
    await post(`/threads/${thread}/runs/wait`, { assistant_id: "human_in_the_loop", input: { messages: [{ type: "human", content: text }] } });
  };
  await asked("Transfer 250 EUR to Alan");
  await asked("Delete record A-17");
  const reviewer = await signIn(t, `${own.other}/reviews`, grace);
  await reviewer.getByRole("row", { name: /transfer_money/ }).waitFor();
  await reviewer.getByRole("columnheader", { name: "Requested by" }).waitFor();
  await reviewer.getByRole("row", { name: /transfer_money/ }).getByRole("cell", { name: "Ada", exact: true }).waitFor();
  assert.equal(await reviewer.getByRole("row", { name: /delete_record/ }).count(), 0, "reviews of other tools aren't shown to a tool's reviewer");
  assert.equal(await reviewer.getByRole("link", { name: "Audit" }).count(), 0, "the log is for owners");
  await reviewer.getByRole("row", { name: /transfer_money/ }).getByRole("link").click();
  await reviewer.getByRole("radio", { name: "Approve" }).check();
  await button(reviewer, "Submit Decision").click();
  await reviewer.getByText("There are no pending reviews.").waitFor();
  await reviewer.getByRole("link", { name: "Chat" }).click();
  await reviewer.getByText("Your role lets you read conversations, not write in them.").waitFor();
});

test("a program's key, of one workspace, made on a phone", async (t) => {
  const { tab } = await creating(t, { phone: true });
  const form = dialog(tab);
  await form.getByLabel("Name").fill("Ticket system");
  await form.getByRole("checkbox", { name: /^Operator/ }).check();
  await button(form, "Create a key").click();
  await form.getByText("The first key has to be a person's and an owner's").waitFor();
  await form.getByRole("checkbox", { name: /^Owner/ }).check();
  await button(form, "Create a key").click();
  await button(form, "Done").click();
  await button(tab, "Create a key").click();
  await form.getByLabel("Name").fill("Ticket system");
  await form.getByRole("checkbox", { name: /^Operator/ }).check();
  await form.getByRole("checkbox", { name: /^Key of a program/ }).check();
  await form.getByRole("checkbox", { name: /^Reviewer/ }).check();
  await form.getByText("A program can't decide: with this role it can only read.").waitFor();
  await form.getByRole("radio", { name: "Only what certain agents or tools ask" }).check();
  await narrow(tab);
  await form.getByRole("checkbox", { name: /^Reviewer/ }).uncheck();
  assert.equal(await form.getByLabel("Project").inputValue(), "default");
  await form.getByLabel("Workspace").fill("support");
  await form.getByLabel("Expires").selectOption("After 30 days");
  await form.getByText(/^Works until /).waitFor();
  await button(form, "Create a key").click();
  await form.getByText("Copy the key now. It is not shown again.").waitFor();
  assert.match(await made(tab), /^pk_/);
});
