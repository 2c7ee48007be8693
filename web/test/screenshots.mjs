// Takes the pictures of docs/screenshots: every page in light, in dark, on a phone and in Chinese (which needs a font
// that has it, such as Debian's fonts-noto-cjk). Run by hand after a change of the looks: PARLEY_BIN=bin/parley node web/test/screenshots.mjs
import { mkdir, writeFile } from "node:fs/promises";
import { flags, executable } from "../../server/hooktest/test/chromium.mjs";
import { start } from "../../server/hooktest/test/server.mjs";
import { chromium } from "./playwright.mjs";

const folder = process.argv[2] ?? new URL("../../docs/screenshots/", import.meta.url).pathname;
const looks = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: "light", isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
  zh: { viewport: { width: 1280, height: 800 }, colorScheme: "light", locale: "zh-CN" },
};

const server = await start(["--ephemeral"]);
// Another one, to which people sign in with a provider; nobody goes there.
const known = await start(["--ephemeral", "--auth-issuer", "https://login.example", "--oidc-client-id", "parley", "--oidc-name", "Example ID"]);
const project = "/api/v1/projects/default";

async function call(path, body, key) {
  const response = await fetch(server.url + path, {
    method: body ? "POST" : "GET",
    headers: { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function ask(agent, text, key) {
  const { thread_id: thread } = await call("/threads", {}, key);
  await call(`/threads/${thread}/runs/wait`, { assistant_id: agent, input: { messages: [{ type: "human", content: text }] } }, key);
  return thread;
}

const waiting = async (thread, key) => (await call(`${project}/reviews?status=open&limit=200`, undefined, key)).reviews.find((r) => r.thread_id === thread).review_id;
const decide = async (thread, body, key) => call(`${project}/reviews/${await waiting(thread, key)}/decide`, body, key);

// People, and what they did today.
const { key: ada } = await call(`${project}/keys`, { name: "Ada Lovelace", roles: ["owner"] });
const { key: lin } = await call(`${project}/keys`, { name: "Lin Chen", roles: ["operator"] }, ada);
const { key: grace } = await call(`${project}/keys`, { name: "Grace Hopper", roles: ["reviewer"] }, ada);
await call(`${project}/keys`, { name: "Ticket system", roles: ["operator"], agent: true, expires_at: "2027-06-30T00:00:00Z" }, ada);
const edited = await ask("human_in_the_loop", "Transfer 1200 EUR to Alan and send an e-mail to alan@example.com about the invoice: It is paid", lin);
const decided = await call(`${project}/reviews/${await waiting(edited, grace)}`, undefined, grace);
const { payload, interrupt_id: asked } = decided;
const answer = { decisions: [{ type: "edit", edited_action: { name: "transfer_money", args: { amount: 1000, currency: "EUR", to: "Alan" } } }, { type: "approve" }] };
const card = { type: "ai", id: `card-${asked}`, content: "Decided", response_metadata: { parley_card: { interrupt_id: asked, question: payload, answer } } };
await decide(edited, { answer, update: { messages: [card] }, notes: "Up to the limit only" }, grace);
await decide(await ask("human_in_the_loop", "Delete record B-02", lin), { decision: "reject", notes: "It is still needed" }, grace);
await decide(await ask("hitl_interrupt_forms", "Refund order 4690, 35 EUR", lin), { answer: { approved: true, values: { amount: 35, reason: "late", notify: true } } }, grace);
const open = await ask("human_in_the_loop", "Delete record A-17 and transfer 250 EUR to Grace", lin);
await ask("hitl_interrupt_forms", "Refund order 4711, 240 EUR", lin);
for (const amount of [90, 90]) await ask("human_in_the_loop", `Transfer ${amount} EUR to Alan`, lin);
const flight = await ask("hitl_interrupt_forms", "Book a flight from Berlin to Lisbon on 2026-12-24", lin);

const executions = (await call(`${project}/executions`, undefined, ada)).executions;
const pages = {
  chat: `/app/chat/${open}`,
  form: `/app/chat/${flight}`,
  resolved: `/app/chat/${edited}`,
  reviews: "/reviews",
  review: `/reviews/${await waiting(open, ada)}`,
  executions: "/app/executions",
  execution: `/app/executions/${executions.find((e) => e.thread_id === edited).execution_id}`,
  audit: "/app/audit",
  keys: "/app/access",
  "review-decided": `/reviews/${decided.review_id}`,
  "reviews-decided": "/reviews?status=decided",
  "audit-filtered": `/app/audit?review_id=${decided.review_id}`,
};

await mkdir(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: executable, args: flags });
for (const [look, options] of Object.entries(looks)) {
  const context = await browser.newContext({ locale: "en-US", ...options });
  const tab = await context.newPage();
  const cdp = await context.newCDPSession(tab);
  const shoot = async (name) => {
    await tab.waitForLoadState("networkidle", { timeout: 3000 }).catch(() => {}); // feeds stay open
    await tab.getByText(/^(Loading…|加载中…|正在加载…)$/).first().waitFor({ state: "detached" });
    await tab.waitForTimeout(400);
    const { data } = await cdp.send("Page.captureScreenshot", { format: process.env.FORMAT ?? "webp", ...(process.env.FORMAT ? {} : { quality: 80 }) });
    await writeFile(`${folder}/${name}-${look}.${process.env.FORMAT ?? "webp"}`, data, "base64");
  };
  const secret = tab.getByLabel(/API key or token|API 密钥/);
  await tab.goto(known.url);
  await secret.waitFor();
  await shoot("sign-in-provider");
  await tab.goto(server.url);
  await secret.waitFor();
  await shoot("sign-in");
  await secret.fill(ada);
  await secret.press("Enter");
  await tab.getByRole("textbox", { name: /^(Message|消息)$/ }).waitFor();
  await shoot("welcome");
  for (const [name, path] of Object.entries(pages)) {
    await tab.goto(server.url + path);
    await tab.getByRole("main").waitFor();
    await shoot(name);
  }
  await tab.goto(server.url + pages.keys);
  await tab.getByRole("button", { name: /^(Create a key|创建密钥)$/ }).click();
  await tab.getByRole("checkbox", { name: /reviewer/ }).check();
  await tab.getByRole("radio").last().check();
  await shoot("key-form");
  await context.close();
}
await browser.close();
await Promise.all([server.stop(), known.stop()]);
