// A server of a test alone, that can be stopped and begun again on its data. Where the tests run on
// Redis, it is two replicas on a database of their own there: one page may use this one, another page that one.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../../server/hooktest/test/server.mjs";
import { ownDatabase } from "./database.mjs";

const binary = process.env.WEB_SERVER;

export async function ownServer(t, flags = []) {
  const data = await mkdtemp(join(tmpdir(), "webtest-"));
  const redis = await ownDatabase();
  const args = [...(redis ? [] : ["--data", data]), ...flags];
  const one = (port) => start(args, { port, binary, ...(redis ? { env: { PARLEY_REDIS: redis } } : {}) });
  let servers = [await one(), ...(redis ? [await one()] : [])];
  t.after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(data, { recursive: true, force: true });
  });
  return {
    url: servers[0].url,
    /** Another replica of it, or the same server. */
    other: servers.at(-1).url,
    stop: (signal) => Promise.all(servers.map((server) => server.stop(signal))),
    async begin() {
      servers = await Promise.all(servers.map(({ port }) => one(port)));
    },
  };
}
