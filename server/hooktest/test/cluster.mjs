// Three replicas on a Redis of their own, behind a proxy with its configuration of
// deploy/: what docker-compose.yml describes, as processes.
import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, start } from "./server.mjs";

const deploy = new URL("../../../deploy/", import.meta.url).pathname;
const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`; // nginx isn't in everybody's

/** The proxies, by name: how each names what has to be replaced, and how it is started. */
export const proxies = {
  caddy: {
    file: "Caddyfile",
    listen: ["\n:80 {", (port) => `\n{\n\tadmin off\n}\nhttp://localhost:${port} {`],
    command: (dir, config) => ["caddy", "run", "--adapter", "caddyfile", "--config", config],
    // What the file has for versions before 2.8, which end broken streams as if they were complete.
    adapt: (config) => {
      const version = /v?(\d+)\.(\d+)/.exec(spawnSync("caddy", ["version"], { env: { ...process.env, PATH: path } }).stdout.toString());
      const old = version && version[1] <= 2 && version[2] < 8; // one that was built from source says nothing
      return old ? config.replaceAll("#old: ", "") : config;
    },
  },
  nginx: {
    file: "nginx.conf",
    listen: ["listen 80;", (port) => `listen 127.0.0.1:${port}; access_log off;`],
    command: (dir, config) => ["nginx", "-p", dir, "-c", config, "-e", join(dir, "error.log"), "-g", "daemon off;"],
  },
};

/** What of redis-server, caddy and nginx is missing, and how to get it; "" for nothing. */
export function missing() {
  const packages = { "redis-server": "redis-server", caddy: "caddy", nginx: "nginx-light" };
  const gone = Object.keys(packages).filter((name) => spawnSync("sh", ["-c", `command -v ${name}`], { env: { PATH: path } }).status !== 0);
  return gone.length > 0 && `${gone.join(", ")} missing (Debian: apt-get install ${gone.map((name) => packages[name]).join(" ")})`;
}

/** Starts a process, in a group of its own with its children, that ends with close(). */
function launch([command, ...args], env = {}) {
  const child = spawn(command, args, { detached: true, stdio: ["ignore", "ignore", "ignore"], env: { ...process.env, PATH: path, ...env } });
  const kill = () => process.kill(-child.pid, "SIGKILL"); // a proxy would wait for streams
  process.once("exit", kill); // whatever ends the tests
  const exited = new Promise((resolve) => child.once("exit", resolve));
  return () => (process.off("exit", kill), kill(), exited);
}

async function listening(port) {
  for (;;) {
    const up = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => (socket.destroy(), resolve(true))).once("error", () => resolve(false));
    });
    if (up) return;
    await sleep(20);
  }
}

/** Starts everything, by a set of parley's agents or another program with its own; close() ends it. */
export async function startCluster(set, binary) {
  const dir = await mkdtemp(join(tmpdir(), "hooktest-cluster-"));
  await chmod(dir, 0o755); // nginx' workers may be another user
  const redis = await freePort();
  const closing = [launch(["redis-server", "--port", String(redis), "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--save", "", "--databases", "512"])];
  await listening(redis);
  const one = (port) => start(["--host", "127.0.0.1", ...(set ? ["--agents", set] : [])], { port, binary, env: { PARLEY_REDIS: `redis://127.0.0.1:${redis}` } });
  const replicas = [];
  for (let i = 0; i < 3; i++) replicas.push(await one());
  const urls = {};
  for (const [name, proxy] of Object.entries(proxies)) {
    const port = await freePort();
    let config = `\n${await readFile(deploy + proxy.file, "utf8")}`;
    const replace = (from, to) => {
      if (config.split(from).length !== 2) throw new Error(`${from} isn't once in deploy/${proxy.file}`);
      config = config.replace(from, () => to);
    };
    replace(proxy.listen[0], proxy.listen[1](port));
    replicas.forEach((replica, i) => replace(`parley-${i + 1}:2024`, `127.0.0.1:${replica.port}`));
    const file = join(dir, proxy.file);
    await writeFile(file, proxy.adapt?.(config) ?? config);
    closing.push(launch(proxy.command(dir, file), { XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }));
    urls[name] = `http://localhost:${port}`;
    while (!(await fetch(`${urls[name]}/readyz`).then((r) => r.ok, () => false))) await sleep(50);
  }
  const streams = async ({ url }) => {
    const page = await fetch(`${url}/metrics`).then((r) => r.text());
    return Number(/^parley_http_streams (\d+)/m.exec(page)[1]);
  };
  return {
    urls,
    redis: `redis://127.0.0.1:${redis}`,
    /** Starts replicas anew that have streams open still: Caddy before 2.7 is slow to see that a page is gone. */
    async quiet() {
      const open = await Promise.all(replicas.map(streams));
      await Promise.all(replicas.map(async (replica, i) => {
        if (open[i] === 0) return;
        await replica.stop("SIGKILL");
        replicas[i] = await one(replica.port);
      }));
    },
    /** Kills the replica with the most open streams; it resolves to a function that starts it again. */
    async killServing() {
      const open = await Promise.all(replicas.map(streams));
      const i = open.indexOf(Math.max(...open));
      if (open[i] === 0) throw new Error("no replica has a stream open");
      await replicas[i].stop("SIGKILL");
      return async () => {
        replicas[i] = await one(replicas[i].port);
      };
    },
    async close() {
      await Promise.all(replicas.map((r) => r.stop("SIGKILL")));
      for (const close of closing.reverse()) await close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
