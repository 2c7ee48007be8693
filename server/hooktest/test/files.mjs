// Serves the built pages, on an origin other than the agents' server.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

export async function serveFiles(root) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    try {
      const body = await readFile(join(root, path.endsWith("/") ? `${path}index.html` : path));
      const headers = { "content-type": types[extname(path)] ?? "text/html" };
      if (path.startsWith("/assets/")) headers["cache-control"] = "max-age=3600, immutable";
      response.writeHead(200, headers).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
