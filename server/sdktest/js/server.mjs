// Starts the real server for a test file and stops it afterwards.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { after } from "node:test";
import { Client } from "@langchain/langgraph-sdk";

export const binary = process.env.PARLEY_BIN ?? new URL("../../../bin/parley", import.meta.url).pathname;

export const graphDefaults = JSON.stringify({
  agent: { configurable: { model_name: "openai" } },
  simple_runtime: { context: { model: "unknown" } },
});

const running = new Set();

// A file that hangs fails, and takes its servers with it: the runner would wait for their output.
setTimeout(() => {
  console.error("not done within five minutes");
  for (const child of running) child.kill("SIGKILL");
  process.exit(1);
}, 300_000).unref();

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Resolves once /ok answers; rejects when the process ends before. */
export async function start(args, { env = {}, port } = {}) {
  port ??= await freePort();
  const child = spawn(binary, ["serve", "--port", String(port), ...args], {
    env: { ...process.env, LANGGRAPH_CONFIG: graphDefaults, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  });
  running.add(child);
  const exited = new Promise((resolve) => child.once("exit", (code, signal) => {
    running.delete(child);
    resolve({ code, signal });
  }));
  const url = `http://localhost:${port}`;
  for (let up = false; !up; ) {
    if (child.exitCode !== null) throw new Error(`parley ended with ${child.exitCode}`);
    up = await fetch(`${url}/ok`).then((r) => r.status < 500, () => false);
    if (!up) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    port,
    url,
    client: new Client({ apiUrl: url, apiKey: null }),
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return exited;
    },
  };
}

/** Starts a server that is stopped after the file's tests. */
export async function serve(args, options) {
  const server = await start(args, options);
  after(() => server.stop());
  return server;
}

export async function gather(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** Polls a condition; fails after `timeout` milliseconds. */
export async function until(what, condition, timeout = 10_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${timeout} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Asserts that a promise rejects with a message that contains text. */
export async function rejects(promise, text) {
  let failure;
  await promise.catch((error) => (failure = error));
  if (!failure) throw new Error(`expected a rejection with "${text}"`);
  if (!String(failure.message ?? failure).includes(text)) {
    throw new Error(`expected a rejection with "${text}", got "${failure.message ?? failure}"`, { cause: failure });
  }
  return failure;
}

export const human = (content, id) => ({ role: "human", content, ...(id ? { id } : {}) });
export const contents = (messages) => messages.map((m) => m.content);
