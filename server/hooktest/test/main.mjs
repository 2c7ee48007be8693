// Builds the pages, starts one browser and a server per set of agents, and runs
// the test files against them. Arguments choose files; none: all.
import { execFileSync, spawn } from "node:child_process";
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

const tests = spawn(
  process.execPath,
  ["--test", "--test-concurrency=3", "--test-reporter=spec", ...(process.env.HOOKTEST_ONLY ? [`--test-name-pattern=${process.env.HOOKTEST_ONLY}`] : []), ...files.map((file) => here + file)],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      HOOKTEST_BROWSER: browser.wsEndpoint(),
      HOOKTEST_PAGES: pages.url,
      HOOKTEST_EXAMPLES: JSON.stringify(Object.fromEntries(Object.entries(examples).map(([name, e]) => [name, e.url]))),
      HOOKTEST_SERVERS: JSON.stringify(Object.fromEntries(Object.entries(servers).map(([set, s]) => [set, s.url]))),
    },
  },
);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => tests.kill(signal));
const code = await new Promise((resolve) => tests.once("exit", resolve));
await Promise.all([browser.close(), pages.close(), ...Object.values(examples).map((e) => e.close()), ...Object.values(servers).map((s) => s.stop())]);
process.exit(code ?? 1);
