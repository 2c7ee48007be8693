// A network that a test can break: a TCP proxy in front of a server.
import { connect, createServer } from "node:net";
import { afterTest } from "./cleanup.mjs";

export async function startProxy(t, port) {
  const open = new Set();
  let up = true;
  let lossOf; // the path whose next reply is lost
  const posts = []; // paths, in order
  const listener = createServer((client) => {
    if (!up) return client.destroy();
    const server = connect(port, "127.0.0.1");
    let losing = false;
    client.on("data", (data) => {
      const path = /^POST (\S+)/.exec(data.toString("latin1"))?.[1];
      if (!path) return;
      posts.push(path);
      losing = lossOf !== undefined && path.endsWith(lossOf);
      if (losing) lossOf = undefined;
    });
    server.on("data", () => losing && client.destroy());
    for (const [from, to] of [[client, server], [server, client]]) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => (open.delete(from), to.destroy()));
      from.pipe(to);
    }
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  afterTest(t, () => {
    for (const socket of open) socket.destroy();
    return new Promise((resolve) => listener.close(resolve));
  });
  return {
    url: `http://localhost:${listener.address().port}`,
    /** Breaks every connection and refuses new ones. */
    cut() {
      up = false;
      for (const socket of open) socket.destroy();
    },
    mend: () => (up = true),
    /** Nothing passes through the connections of now any more, and nobody is told. */
    freeze() {
      for (const socket of open) {
        socket.unpipe();
        socket.on("data", () => {});
      }
    },
    /** How often somebody posted to a path; a browser repeats what a broken connection swallowed. */
    posts: (path) => posts.filter((seen) => seen.endsWith(path)).length,
    /** Breaks the connection once the server has answered the next POST to a path, before the answer passes. */
    loseReply: (path) => (lossOf = path),
  };
}
