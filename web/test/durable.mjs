// A server of a test alone, that can be stopped and begun again on its data.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../../server/hooktest/test/server.mjs";

export async function ownServer(t, set) {
  const data = await mkdtemp(join(tmpdir(), "webtest-"));
  const args = ["--data", data, "--agents", set];
  let server = await start(args);
  t.after(async () => {
    await server.stop();
    await rm(data, { recursive: true, force: true });
  });
  return {
    url: server.url,
    stop: (signal) => server.stop(signal),
    async begin() {
      server = await start(args, { port: server.port });
    },
  };
}
