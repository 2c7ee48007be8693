// Starts one browser and a server, and runs the test files against them. Arguments choose files;
// none: all. WEB_ONLY chooses tests by a pattern, WEB_URL takes a server that runs already.
import { readdir } from "node:fs/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { flags, executable } from "../../server/hooktest/test/chromium.mjs";
import { missing, startCluster } from "../../server/hooktest/test/cluster.mjs";
import { start } from "../../server/hooktest/test/server.mjs";
import { chromium } from "./playwright.mjs";

const here = new URL(".", import.meta.url).pathname;
const chosen = process.argv.slice(2);
const all = (await readdir(here)).filter((file) => file.endsWith(".test.mjs")).sort();
const files = all.filter((file) => chosen.length === 0 || chosen.some((name) => file.startsWith(name))).map((file) => here + file);

const browser = await chromium.launchServer({ executablePath: executable, args: flags });
process.env.WEB_BROWSER = browser.wsEndpoint();
const { WEB_URL: given, WEB_ONLY: only } = process.env;
const server = given ? { url: given, stop() {} } : await start(["--ephemeral"]);
let passed = await attempt(files, server.url, only);
await server.stop();

// The story once more where a deployment has it: on three replicas of one Redis, behind a proxy.
const story = files.filter((file) => file.endsWith("/reviews.test.mjs"));
if (!given && !only && story.length > 0) {
  const gone = missing();
  if (gone) console.log(`skipped: the story on three replicas: ${gone}`);
  else {
    const cluster = await startCluster("demo");
    passed = (await attempt(story, cluster.urls.caddy, "the story")) && passed;
    await cluster.close();
  }
}
await browser.close();
process.exit(passed ? 0 : 1);

/** Runs test files against a server, those with a failed test once more; returns whether all passed. */
async function attempt(list, url, only) {
  process.env.WEB_URL = url;
  const tries = Number(process.env.WEB_TRIES ?? 2);
  for (let number = 1; list.length > 0 && number <= tries; number++) {
    const failed = new Set();
    const events = run({ files: list, concurrency: 2, ...(only ? { testNamePatterns: [only] } : {}) });
    events.on("test:fail", ({ name, file, details }) => {
      failed.add(list.find((known) => known === file) ?? list.find((known) => name.includes(known)) ?? file);
      if (details.error?.failureType !== "subtestsFailed") console.log(`failed in try ${number} of ${tries}: ${name}`);
    });
    const report = events.compose(new spec());
    report.pipe(process.stdout, { end: false });
    await new Promise((resolve, reject) => report.once("end", resolve).once("error", reject));
    list = list.filter((file) => failed.has(file));
  }
  return list.length === 0;
}
