// Starts the real binary; a test may kill it and start it again on its data.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterTest } from "./cleanup.mjs";

const parley = process.env.PARLEY_BIN ?? new URL("../../../bin/parley", import.meta.url).pathname;

/** The program of ../agents. */
export const agents = new URL("../node_modules/.agents", import.meta.url).pathname;

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

/** Resolves once the server is ready, whoever asks; rejects when the process ends before. */
export async function start(args, { binary = parley, port, env } = {}) {
  port ??= await freePort();
  const child = spawn(binary, ["serve", "--port", String(port), ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ...env },
  });
  const killed = () => child.kill("SIGKILL"); // whatever ends the tests
  process.once("exit", killed);
  const exited = new Promise((resolve) => child.once("exit", resolve)).then(() => process.off("exit", killed));
  const url = `http://localhost:${port}`;
  for (let up = false; !up; ) {
    if (child.exitCode !== null) throw new Error(`parley ended with ${child.exitCode}`);
    up = await fetch(`${url}/readyz`).then((r) => r.ok, () => false);
    if (!up) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const stop = (signal = "SIGTERM") => {
    child.kill(signal);
    return exited;
  };
  return { url, port, stop };
}

/** A durable server of a test alone: a set of parley's, or the program of ../agents. */
export async function ownServer(t, set) {
  const data = await mkdtemp(join(tmpdir(), "hooktest-"));
  const args = ["--data", data, ...(set ? ["--agents", set] : [])];
  const binary = set ? parley : agents;
  let server = await start(args, { binary });
  afterTest(t, async () => {
    await server.stop();
    await rm(data, { recursive: true, force: true });
  });
  return {
    url: server.url,
    port: server.port,
    /** Ends the process by a signal, and starts it again on its data. */
    async restart(signal) {
      await server.stop(signal);
      server = await start(args, { binary, port: server.port });
    },
  };
}
