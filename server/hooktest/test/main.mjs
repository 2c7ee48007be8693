// Builds the pages, starts one browser and a server per set of agents, and runs
// the test files against them. Arguments choose files; none: all. HOOKTEST_ONLY
// chooses tests by a pattern, HOOKTEST_BUILT=1 takes the pages as they are.
import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { chromium } from "playwright-core";
import { build } from "vite";
import { flags, executable } from "./chromium.mjs";
import { agents, start } from "./server.mjs";
import { serveFiles } from "./files.mjs";

/** A test or file that takes longer, in milliseconds, has failed: a hang ends with its name. */
const longest = 300_000;

const here = new URL(".", import.meta.url).pathname;
const chosen = process.argv.slice(2);
const all = (await readdir(here)).filter((file) => file.endsWith(".test.mjs")).sort();
// What waits or takes longest begins first, beside all the others.
const long = ["network.test.mjs", "toolreview.test.mjs", "examples.test.mjs"].filter((file) => all.includes(file));
const ordered = [...long, ...all.filter((file) => !long.includes(file))];
const files = (chosen.length ? ordered.filter((file) => chosen.some((name) => file.startsWith(name))) : ordered).map((file) => here + file);

if (!process.env.HOOKTEST_BUILT) await build({ configFile: `${here}../vite.config.js`, logLevel: "warn" });
if (!process.env.HOOKTEST_BUILT) {
  const flags = ["-trimpath", "-ldflags", "-s -w"]; // as the Makefile's, which have the packages compiled
  execFileSync("go", ["build", ...flags, "-o", agents, "./agents"], { cwd: `${here}..`, env: { ...process.env, CGO_ENABLED: "0" }, stdio: "inherit" });
}
const pages = await serveFiles(`${here}../node_modules/.pages`);
const examples = {};
for (const name of ["react", "svelte"]) {
  const folder = `${here}../../../examples/${name}`;
  const built = `${here}../node_modules/.example-${name}`;
  const vite = `${folder}/node_modules/vite/bin/vite.js`;
  if (!process.env.HOOKTEST_BUILT) execFileSync(process.execPath, [vite, "build", "--outDir", built, "--emptyOutDir", "--logLevel", "error"], { cwd: folder, stdio: "inherit" });
  examples[name] = await serveFiles(built);
}
const browser = await chromium.launchServer({ executablePath: executable, args: flags });
const servers = {};
for (const set of ["conformance-react", "conformance-svelte", "bench", "demo"]) servers[set] = await start(["--agents", set, "--ephemeral"]);
servers.own = await start(["--ephemeral"], { binary: agents });
const urls = (of) => JSON.stringify(Object.fromEntries(Object.entries(of).map(([name, { url }]) => [name, url])));
Object.assign(process.env, {
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --experimental-websocket`, // for the SDK, before Node.js 22
  HOOKTEST_BROWSER: browser.wsEndpoint(),
  HOOKTEST_PAGES: pages.url,
  HOOKTEST_EXAMPLES: urls(examples),
  HOOKTEST_SERVERS: urls(servers),
});

const tries = Number(process.env.HOOKTEST_TRIES ?? 2);
let left = files;
for (let attempt = 1; left.length > 0 && attempt <= tries; attempt++) {
  const { failed, names } = await attemptAll(left);
  for (const name of names) console.log(`failed in try ${attempt} of ${tries}: ${name}`);
  left = failed;
}
await Promise.all([browser.close(), pages.close(), ...Object.values(examples).map((e) => e.close()), ...Object.values(servers).map((s) => s.stop())]);
process.exit(left.length > 0 ? 1 : 0);

/** Runs test files; returns those in which a test failed, and the names of the tests. */
async function attemptAll(list) {
  const failed = new Set();
  const names = [];
  const pattern = process.env.HOOKTEST_ONLY;
  const events = run({ files: list, concurrency: 3, timeout: longest, ...(pattern ? { testNamePatterns: [pattern] } : {}) });
  events.on("test:fail", ({ name, file, details }) => {
    failed.add(list.find((known) => known === file) ?? list.find((known) => name.includes(known)) ?? file);
    if (details.error?.failureType !== "subtestsFailed") names.push(`${name} (${file?.replace(here, "") ?? "?"})`);
  });
  const report = events.compose(new spec());
  report.pipe(process.stdout, { end: false });
  await new Promise((resolve, reject) => report.once("end", resolve).once("error", reject));
  return { failed: [...failed], names };
}
