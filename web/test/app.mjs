// The app in a browser, as its users meet it: everything is found by its role and name.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after } from "node:test";
import { chromium } from "./playwright.mjs";

const browser = await chromium.connect(process.env.WEB_BROWSER);
after(() => browser.close());

export const server = process.env.WEB_URL;

/** How long a page may take, in ms: the machine is shared. WEB_PATIENCE shortens it for whoever writes tests. */
const PATIENCE = Number(process.env.WEB_PATIENCE ?? 30_000);

/** A window of its own, as of another person. What the page reports as wrong is a failure of the test. */
export async function newTab(t, { dark = false, phone = false, ...options } = {}) {
  const context = await browser.newContext({
    locale: "en-US",
    colorScheme: dark ? "dark" : "light",
    viewport: phone ? { width: 360, height: 740 } : { width: 1280, height: 800 },
    ...options,
  });
  context.setDefaultTimeout(PATIENCE);
  const tab = await context.newPage();
  const wrong = [];
  tab.on("pageerror", (error) => wrong.push(`${error.name}: ${error.message}\n${error.stack}`)); // a DOMException has no stack
  await tab.addInitScript(() => addEventListener("error", ({ error }) => error?.cause && console.error(`caused by ${error.cause.stack ?? error.cause}`)));
  // Requests that fail are a part of some tests; the policy of the page never is.
  tab.on("console", (message) => {
    if (message.type() !== "error" || message.text().startsWith("Failed to load resource")) return;
    wrong.push(`${message.text()} (${message.args().join(" ")}) at ${message.location().url}:${message.location().lineNumber}`);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, [], "the page reported");
  });
  return tab;
}

/** A second tab in the same window. */
export async function sameWindow(tab, url) {
  const other = await tab.context().newPage();
  await other.goto(url);
  return other;
}

/** A new conversation with an agent. */
export async function chat(t, agent, options) {
  const tab = await newTab(t, options);
  await tab.goto(`${server}/app/chat?agent=${agent}`);
  await composer(tab).waitFor();
  return tab;
}

export const composer = (tab) => tab.getByRole("textbox", { name: "Message", exact: true });

export async function say(tab, text) {
  await composer(tab).fill(text);
  await composer(tab).press("Enter");
}

export const button = (scope, name) => scope.getByRole("button", { name, exact: true });

/** An open question. */
export const question = (tab, name = /^Approval needed/) => tab.getByRole("region", { name });

/** A question that was answered. */
export const answered = (tab) => tab.getByRole("region", { name: /^Answered: / });

/** The conversation's messages as one reads them. */
export const messages = (tab) => tab.getByRole("list", { name: "Messages" });

/** Asks an agent without a page, and waits until it stops; returns the thread. */
export async function ask(agent, text) {
  const { thread_id: thread } = await json("/threads", {});
  await json(`/threads/${thread}/runs/wait`, { assistant_id: agent, input: { messages: [{ type: "human", content: text }] } });
  return thread;
}

/** A call of the project's API: a GET, or with a body a POST. */
export const project = (path, body) => json(`/api/v1/projects/default${path}`, body);

/** Puts an item into the long-term store, for agents that wait for one. */
export const putItem = (namespace, key, value) => json("/store/items", { namespace, key, value }, "PUT");

async function json(path, body, method = "POST") {
  const sent = body && { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const text = await (await fetch(server + path, sent)).text();
  return text === "" ? undefined : JSON.parse(text);
}

/** A word of this run alone: a second try finds what the first one left. */
export const word = () => `W${Array.from({ length: 6 }, () => String.fromCharCode(97 + Math.random() * 26)).join("")}`;

/** The review that is shown, on its page or beside the list. */
export const request = (tab) => tab.getByRole("article", { name: "Review Request" });

/** The review that a thread waits for. */
export async function reviewOf(thread) {
  const { reviews } = await project(`/reviews?status=open&thread_id=${thread}`);
  return reviews[0];
}

/** The page of the review that a thread waits for. */
export async function openReview(t, thread, options) {
  const review = await reviewOf(thread);
  const tab = await newTab(t, options);
  await tab.goto(`${server}/reviews/${review.review_id}`);
  await request(tab).waitFor();
  return { tab, review };
}

/** The text of the file that a link downloads. */
export async function download(tab, link) {
  const [file] = await Promise.all([tab.waitForEvent("download"), link.click()]);
  const chunks = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Asserts that nothing is wider than a phone's window. */
export async function narrow(tab) {
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 360);
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Asserts that axe finds no serious fault on the page. Nothing fades meanwhile: halfway there colours are others. */
export async function accessible(tab) {
  await tab.emulateMedia({ reducedMotion: "reduce" });
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  const faults = violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.any[0]?.message ?? n.failureSummary}`).join("; ")}`);
  assert.deepEqual(faults, []);
}
