// Builds the pages, starts one browser and a server per set of agents, and runs
// the test files against them. Arguments choose files; none: all.
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { chromium } from "playwright-core";
import { build } from "vite";
import { flags, executable } from "./chromium.mjs";
import { start } from "./server.mjs";
import { serveFiles } from "./files.mjs";

const here = new URL(".", import.meta.url).pathname;
const chosen = process.argv.slice(2);
const all = (await readdir(here)).filter((file) => file.endsWith(".test.mjs")).sort();
const files = chosen.length ? all.filter((file) => chosen.some((name) => file.startsWith(name))) : all;

if (!process.env.HOOKTEST_BUILT) await build({ configFile: `${here}../vite.config.js`, logLevel: "warn" });
const pages = await serveFiles(`${here}../node_modules/.pages`);
const browser = await chromium.launchServer({ executablePath: executable, args: flags });
const servers = {};
for (const set of ["conformance-react", "conformance-svelte", "bench"]) servers[set] = await start(["--agents", set, "--ephemeral"]);

const tests = spawn(
  process.execPath,
  ["--test", "--test-concurrency=2", "--test-reporter=spec", ...(process.env.HOOKTEST_ONLY ? [`--test-name-pattern=${process.env.HOOKTEST_ONLY}`] : []), ...files.map((file) => here + file)],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      HOOKTEST_BROWSER: browser.wsEndpoint(),
      HOOKTEST_PAGES: pages.url,
      HOOKTEST_SERVERS: JSON.stringify(Object.fromEntries(Object.entries(servers).map(([set, s]) => [set, s.url]))),
    },
  },
);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => tests.kill(signal));
const code = await new Promise((resolve) => tests.once("exit", resolve));
await Promise.all([browser.close(), pages.close(), ...Object.values(servers).map((s) => s.stop())]);
process.exit(code ?? 1);
