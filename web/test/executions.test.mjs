// Executions, by what those who look after agents want to know.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, ask, messages, newTab, project, reviewOf, server, word } from "./app.mjs";

test("executions are listed by their input, live, and narrowed down by their status", async (t) => {
  const mine = word();
  const tab = await newTab(t);
  await tab.goto(`${server}/executions`);
  await tab.waitForURL(/\/app\/executions$/);
  await tab.getByRole("heading", { name: "Executions" }).waitFor();
  const thread = await ask("human_in_the_loop", `Delete record ${mine}`);
  const row = tab.getByRole("row").filter({ hasText: mine });
  await row.getByText("Suspended").waitFor();
  await tab.getByRole("combobox", { name: "Status" }).selectOption("Suspended");
  await row.waitFor();
  await accessible(tab);
  await project(`/reviews/${(await reviewOf(thread)).review_id}/decide`, { decision: "approve" });
  await row.waitFor({ state: "detached" });
  await tab.getByRole("combobox", { name: "Status" }).selectOption("Completed");
  await row.getByRole("link").click();
  await tab.getByRole("heading", { name: "Timeline" }).waitFor();
});

test("an execution's page tells its steps and how long they took, who decided, and what it used", async (t) => {
  const mine = word();
  const thread = await ask("human_in_the_loop", `Delete record ${mine}`);
  const review = await reviewOf(thread);
  const tab = await newTab(t);
  await tab.goto(`${server}/app/executions/${review.execution_id}`);
  const timeline = tab.getByRole("list").filter({ hasText: "Requested" });
  await timeline.getByText("Suspended").waitFor();
  await project(`/reviews/${review.review_id}/decide`, { decision: "approve", reviewer_notes: "Not needed" });
  await timeline.getByText(/decided: Approved/).waitFor();
  await timeline.getByText(/“Not needed”/).waitFor();
  await timeline.getByText("Completed").waitFor();
  const steps = timeline.getByRole("listitem").filter({ hasText: /^(Model|Tool)/ });
  assert.ok((await steps.count()) >= 3, "a model call, the tool, a model call");
  for (const text of await steps.allInnerTexts()) assert.match(text, /\d+(\.\d+)? m?s/, "each with its duration");
  assert.equal(await timeline.getByText("Slowest").count(), 1);
  await timeline.getByText("delete_record", { exact: true }).waitFor();
  await tab.getByText(/Record .* deleted/).waitFor();
  await accessible(tab);
  await timeline.getByRole("link").click();
  await tab.waitForURL(new RegExp(`/reviews/${review.review_id}`));
  await tab.goBack();
  await tab.getByRole("link", { name: "Open the conversation" }).click();
  await messages(tab).getByText(`Delete record ${mine}`).waitFor();
});

test("tokens are told where a model reports them", async (t) => {
  const thread = await ask("thinker", "Think");
  const { executions } = await project("/executions?limit=50");
  const tab = await newTab(t);
  await tab.goto(`${server}/app/executions/${executions.find((e) => e.thread_id === thread).execution_id}`);
  await tab.getByText("1,200 tokens in, 34 out").waitFor();
});

test("an execution that failed says why", async (t) => {
  const mine = word();
  await ask("moody", `How is ${mine}?`);
  const tab = await newTab(t);
  await tab.goto(`${server}/app/executions?status=error`);
  const row = tab.getByRole("row").filter({ hasText: mine });
  await row.getByText("the weather service is down").waitFor();
  await row.getByRole("link").click();
  await tab.getByText("the weather service is down").first().waitFor();
  await tab.getByText("Failed").first().waitFor();
});

test("an execution that isn't there, or not for one to see", async (t) => {
  const tab = await newTab(t);
  await tab.goto(`${server}/app/executions/0123456789abcdef0123456789abcdef`);
  await tab.getByText("There is no such execution, or it is not for you to see.").waitFor();
});

test("a list that can't be read says that it is being tried, and why it failed", async (t) => {
  const tab = await newTab(t);
  await tab.route("**/api/v1/projects/default/*", (route) =>
    route.request().resourceType() === "fetch" && !route.request().url().includes("/reviews?status=open")
      ? route.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ message: "The store can't be reached." }) })
      : route.continue());
  await tab.goto(`${server}/app/executions`);
  await tab.getByRole("main").getByText("Loading…").waitFor();
  await tab.getByRole("alert").getByText("The store can't be reached.").waitFor();
  assert.equal(await tab.getByText("Loading…").count(), 0);
});
