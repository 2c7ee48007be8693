// A proxy that has each request answered by the next server: what one of them keeps to itself is missed at once.
import { createServer, request } from "node:http";

/** Starts it on a port, before servers given by their ports; resolves to what ends it. */
export async function takeTurns(port, ports) {
  let turn = 0;
  const proxy = createServer((asked, answer) => {
    const next = request({ host: "127.0.0.1", port: ports[turn++ % ports.length], method: asked.method, path: asked.url, headers: asked.headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.rawHeaders);
      answer.flushHeaders();
      reply.pipe(answer).on("error", () => {});
      reply.on("error", () => answer.destroy());
    });
    next.on("error", () => answer.destroy());
    answer.on("close", () => next.destroy()); // a page that leaves a stream
    asked.pipe(next);
  });
  await new Promise((resolve, reject) => proxy.once("error", reject).listen(port, "127.0.0.1", resolve));
  return () => (proxy.closeAllConnections(), new Promise((resolve) => proxy.close(resolve)));
}
