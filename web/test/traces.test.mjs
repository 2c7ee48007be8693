// An execution leads to its trace.
import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "../../server/hooktest/test/server.mjs";
import { accessible, newTab } from "./app.mjs";

const trace = "0af7651916cd43dd8448eb211c80319c";

for (const { how, flags } of [
  { how: "links to its trace", flags: ["--trace-url", "https://tempo.example/trace/{trace_id}"] },
  { how: "says which trace it belongs to", flags: [] },
]) {
  test(`the page of an execution ${how}`, async (t) => {
    const own = await start(["--ephemeral", ...flags], { binary: process.env.WEB_SERVER });
    t.after(() => own.stop());
    const sent = await fetch(`${own.url}/api/v1/projects/default/workspaces/default/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent: `00-${trace}-b7ad6b7169203331-01` },
      body: JSON.stringify({ agent: "echo", message: "hello" }),
    });
    const { execution_id: id } = await sent.json();
    const tab = await newTab(t);
    await tab.goto(`${own.url}/app/executions/${id}`);
    await tab.getByText(trace).waitFor();
    const link = tab.getByRole("link", { name: trace });
    assert.equal(await link.count(), flags.length > 0 ? 1 : 0);
    if (flags.length > 0) assert.equal(await link.getAttribute("href"), `https://tempo.example/trace/${trace}`);
    await accessible(tab);
  });
}
