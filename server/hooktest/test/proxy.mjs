// A network that a test can cut: a TCP proxy in front of a server.
import { connect, createServer } from "node:net";

export async function startProxy(port) {
  const open = new Set();
  let up = true;
  const listener = createServer((client) => {
    if (!up) return client.destroy();
    const server = connect(port, "127.0.0.1");
    for (const [from, to] of [[client, server], [server, client]]) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => (open.delete(from), to.destroy()));
      from.pipe(to);
    }
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${listener.address().port}`,
    /** Breaks every connection and refuses new ones. */
    cut() {
      up = false;
      for (const socket of open) socket.destroy();
    },
    mend: () => (up = true),
    close() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => listener.close(resolve));
    },
  };
}
