// Starts one browser and a server, and runs the test files against them. Arguments choose files;
// none: all. WEB_ONLY chooses tests by a pattern, WEB_URL takes a server that runs already.
import { readdir } from "node:fs/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { flags, executable } from "../../server/hooktest/test/chromium.mjs";
import { start } from "../../server/hooktest/test/server.mjs";
import { chromium } from "./playwright.mjs";

const here = new URL(".", import.meta.url).pathname;
const chosen = process.argv.slice(2);
const all = (await readdir(here)).filter((file) => file.endsWith(".test.mjs")).sort();
const files = all.filter((file) => chosen.length === 0 || chosen.some((name) => file.startsWith(name))).map((file) => here + file);

const browser = await chromium.launchServer({ executablePath: executable, args: flags });
const server = process.env.WEB_URL ? { url: process.env.WEB_URL, stop() {} } : await start(["--ephemeral"]);
Object.assign(process.env, { WEB_BROWSER: browser.wsEndpoint(), WEB_URL: server.url });

const tries = Number(process.env.WEB_TRIES ?? 2);
let left = files;
for (let attempt = 1; left.length > 0 && attempt <= tries; attempt++) {
  const failed = new Set();
  const pattern = process.env.WEB_ONLY;
  const events = run({ files: left, concurrency: 2, ...(pattern ? { testNamePatterns: [pattern] } : {}) });
  events.on("test:fail", ({ name, file, details }) => {
    failed.add(left.find((known) => known === file) ?? left.find((known) => name.includes(known)) ?? file);
    if (details.error?.failureType !== "subtestsFailed") console.log(`failed in try ${attempt} of ${tries}: ${name}`);
  });
  const report = events.compose(new spec());
  report.pipe(process.stdout, { end: false });
  await new Promise((resolve, reject) => report.once("end", resolve).once("error", reject));
  left = left.filter((file) => failed.has(file));
}
await Promise.all([browser.close(), server.stop()]);
process.exit(left.length > 0 ? 1 : 0);
