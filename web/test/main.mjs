// Starts one browser and a server, and runs the test files against them; then those that are about
// what replicas share once more, on three of them behind a proxy. Arguments choose files; none: all.
// --local runs them on one server only, --redis all of those chosen on the three replicas only.
// WEB_ONLY chooses tests by a pattern, WEB_URL takes a server that runs already, WEB_TRIES says how often a file is tried.
import { readdir } from "node:fs/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { flags, executable } from "../../server/hooktest/test/chromium.mjs";
import { missing, startCluster } from "../../server/hooktest/test/cluster.mjs";
import { start } from "../../server/hooktest/test/server.mjs";
import { chromium } from "./playwright.mjs";

/** The files that are run on replicas, too, if nothing else is asked for. */
const shared = ["together", "reviews", "signin", "audit", "presence"];

/** A test or file that takes longer, in milliseconds, has failed: a hang ends with its name. */
const longest = 300_000;

const here = new URL(".", import.meta.url).pathname;
const options = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
// What takes longest begins first, beside all the others.
const long = ["looks.test.mjs", "chat.test.mjs", "approval.test.mjs", "reviews.test.mjs"];
const rank = (file) => (long.includes(file) ? long.indexOf(file) : long.length);
const all = (await readdir(here)).filter((file) => file.endsWith(".test.mjs")).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
const files = all.filter((file) => chosen.length === 0 || chosen.some((name) => file.startsWith(name)));

const browser = await chromium.launchServer({ executablePath: executable, args: flags });
process.env.WEB_BROWSER = browser.wsEndpoint();
const { WEB_URL: given, WEB_SERVER: binary } = process.env;
let passed = true;
if (!options.includes("--redis")) {
  const server = given ? { url: given, stop() {} } : await start(["--ephemeral"], { binary });
  passed = await attempt("one server", files, server.url);
  await server.stop();
}
if (!given && !options.includes("--local")) {
  const gone = missing();
  if (gone) console.log(`skipped: three replicas on Redis: ${gone}`);
  else {
    const cluster = await startCluster(undefined, binary);
    process.env.WEB_REDIS = cluster.redis;
    const list = options.includes("--redis") ? files : files.filter((file) => shared.some((name) => file === `${name}.test.mjs`));
    passed = (await attempt("three replicas on Redis", list, cluster.urls.caddy)) && passed;
    await cluster.close();
  }
}
await browser.close();
process.exit(passed ? 0 : 1);

/** Runs test files against a server, those with a failed test once more; returns whether all passed. */
async function attempt(where, names, url) {
  process.env.WEB_URL = url;
  const began = performance.now();
  let list = names.map((name) => here + name);
  const tries = Number(process.env.WEB_TRIES ?? 2);
  for (let number = 1; list.length > 0 && number <= tries; number++) {
    const failed = new Set();
    const events = run({ files: list, concurrency: 2, timeout: longest, ...(process.env.WEB_ONLY ? { testNamePatterns: [process.env.WEB_ONLY] } : {}) });
    events.on("test:fail", ({ name, file, details }) => {
      failed.add(list.find((known) => known === file) ?? list.find((known) => name.includes(known)) ?? file);
      if (details.error?.failureType !== "subtestsFailed") console.log(`failed in try ${number} of ${tries}, ${where}: ${name}`);
    });
    const report = events.compose(new spec());
    report.pipe(process.stdout, { end: false });
    await new Promise((resolve, reject) => report.once("end", resolve).once("error", reject));
    list = list.filter((file) => failed.has(file));
  }
  console.log(`${where}: ${names.length} files in ${Math.round((performance.now() - began) / 1000)} s`);
  return list.length === 0;
}
