// Cases 56-59 of spec/rest-api.md 7.2: what an embedding program adds to the server.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contents, gather, human, serve, until } from "./server.mjs";

const { client, url, port } = await serve(["--agents", "conformance", "--ephemeral"]);
const json = { "content-type": "application/json" };

describe("custom routes", () => {
  test("56 a user interface bundle", async () => {
    const ui = (agent, name) =>
      fetch(`${url}/ui/${agent}`, { method: "POST", headers: { ...json, accept: "text/html" }, body: JSON.stringify({ name }) });
    const html = await (await ui("agent-alias", "weather-component")).text();
    assert.ok(html.includes(
      `<script src="http://localhost:${port}/ui/agent-alias/entrypoint.js" onload='__LGUI_agent_alias.render("weather-component", "{{shadowRootId}}")'></script>`,
    ), html);
    const js = await (await fetch(`${url}/ui/agent-alias/entrypoint.js`)).text();
    assert.ok(js.includes('globalThis[Symbol.for("LGUI_REQUIRE")]'));
    assert.ok(!(await ui("non-existent", "none")).ok);
  });

  test("57 routes, middleware, streaming and a relative webhook", async () => {
    const r = await fetch(`${url}/custom/my-route`, { headers: { "x-custom-input": "hey" } });
    assert.deepEqual(await r.json(), { foo: "bar" });
    assert.equal(r.headers.get("x-custom-output"), "hey");
    assert.deepEqual(await (await fetch(`${url}/runs/afakeroute`)).json(), { foo: "afakeroute" });
    assert.equal((await fetch(`${url}/does/not/exist`)).status, 404);
    assert.equal((await fetch(`${url}/custom/error`)).status, 400);
    assert.equal((await fetch(`${url}/info`)).headers.get("x-js-middleware"), "true");
    assert.deepEqual(await (await fetch(`${url}/info?interrupt`)).json(), { status: "interrupted" });

    const reads = [];
    const decoder = new TextDecoder();
    for await (const part of (await fetch(`${url}/custom/streaming`)).body) reads.push(decoder.decode(part));
    assert.ok(reads.length >= 4, `${reads.length} reads`);
    assert.equal(reads.join(""), [0, 1, 2, 3].map((n) => `Count: ${n}\n`).join(""));

    const t = await client.threads.create();
    await client.runs.wait(t.thread_id, "agent_simple", { input: { messages: [human("foo")] }, webhook: "/custom/webhook" });
    const payload = await until("the webhook", () => fetch(`${url}/custom/webhook-payload`).then((x) => (x.ok ? x.json() : undefined)).catch(() => undefined), 3000);
    assert.equal(payload.status, "success");
    assert.equal(payload.thread_id, t.thread_id);
  });

  test("58 a middleware that changes the body", async () => {
    const t = await client.threads.create();
    const r = await fetch(`${url}/threads/${t.thread_id}/runs/wait`, {
      method: "POST", headers: { ...json, "x-configurable-header": "extra-client" },
      body: JSON.stringify({ assistant_id: "agent_simple", input: { messages: [human("input")] } }),
    });
    const values = await r.json();
    assert.deepEqual(Object.keys(values), ["messages"]);
    assert.equal(values.messages.at(-1).content, "end: extra-client");
  });

  test("59 a route that calls the server itself", async () => {
    const { result } = await (await fetch(`${url}/custom/client`)).json();
    assert.ok(contents(result.messages).includes("input"));
  });

  test("a line separator in a message survives", async () => {
    const t = await client.threads.create();
    const chunks = await gather(client.runs.stream(t.thread_id, "agent_simple", { input: { messages: [human("x")] }, streamMode: "values" }));
    assert.equal(chunks.at(-1).data.messages.at(-1).content, "end\u2028");
  });
});
