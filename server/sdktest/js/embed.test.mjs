// The embedded set of spec/conformance-agents.md 1.3: no event ids, no Location (decisions 11).
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contents, gather, human, serve } from "./server.mjs";

const { client, url } = await serve(["--agents", "conformance-embed", "--ephemeral"]);

describe("the embedded set", () => {
  test("tool lifecycle events", async () => {
    const t = await client.threads.create();
    const chunks = await gather(client.runs.stream(t.thread_id, "agent_with_tools", { input: { messages: [human("weather?")] }, streamMode: ["tools", "values"] }));
    const tools = chunks.filter((c) => c.event === "tools").map((c) => c.data);
    assert.deepEqual(tools.map((d) => d.event), ["on_tool_start", "on_tool_end"]);
    assert.equal(tools[0].toolCallId, "call_embed_1");
    assert.equal(tools[0].name, "weather");
    assert.deepEqual(contents(chunks.at(-1).data.messages).at(-1), "Done.");
    assert.equal(chunks.at(-1).data.messages.at(-2).content, "It's 60 degrees and foggy.");
    assert.ok(chunks.every((c) => c.id === undefined));
    const again = await client.runs.wait(t.thread_id, "agent_with_tools", { input: { messages: [human("and now?")] } });
    assert.equal(again.messages.length, 8, "a second run makes messages of its own");
  });

  test("streams carry no ids and no Location", async () => {
    const t = await client.threads.create();
    const r = await fetch(`${url}/threads/${t.thread_id}/runs/stream`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ assistant_id: "agent_with_tools", input: { messages: [human("x")] } }),
    });
    assert.equal(r.headers.get("location"), null);
    assert.ok(r.headers.get("content-location"));
    assert.ok(!/^id:/m.test(await r.text()));
  });

  test("nested graphs concatenate what each level returns", async () => {
    const values = await client.runs.wait(null, "nested", { input: { messages: [] } });
    assert.deepEqual(values.messages.map((m) => m.match(/Entered (\w+) node/)[1]), ["gp_one", "gp_one", "p_one", "gp_one", "p_one", "c_one", "c_two"]);
  });
});
