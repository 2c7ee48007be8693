// Databases of the Redis that the tests run on, each for one test alone.
import { connect } from "node:net";

/** The address of the next database that nobody has; undefined where the tests run on one server. */
export async function ownDatabase() {
  const redis = process.env.WEB_REDIS;
  if (!redis) return undefined;
  const { hostname, port } = new URL(redis);
  const said = await new Promise((resolve, reject) => {
    // The file of another process may ask at the same time: Redis counts.
    const socket = connect(Number(port), hostname, () => socket.write("INCR webtest:databases\r\n"));
    socket.once("error", reject).once("data", (reply) => (socket.destroy(), resolve(String(reply))));
  });
  const number = Number(/^:(\d+)\r\n$/.exec(said)?.[1]);
  if (!(number < 512)) throw new Error(`no database is left: ${said}`); // as many as cluster.mjs lets it have
  return `${redis}/${number}`;
}
