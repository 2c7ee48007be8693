// spec/rest-api.md 7.3: the auth fixture.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { SignJWT } from "jose";
import { gather, human, rejects, serve } from "./server.mjs";

const { url } = await serve(["--agents", "conformance-auth", "--ephemeral"]);
const secret = new TextEncoder().encode("09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7");

async function as(sub, scopes) {
  const token = await new SignJWT({ sub, scopes }).setProtectedHeader({ alg: "HS256" }).setIssuedAt().setExpirationTime("1h").sign(secret);
  return new Client({ apiUrl: url, apiKey: null, defaultHeaders: { Authorization: `Bearer ${token}` } });
}
const all = ["me", "assistants:write"];
const john = await as("johndoe", all);
const alice = await as("alice", all);
const input = { messages: [human("foo")] };

describe("authentication", () => {
  test("unknown users and missing tokens are refused", async () => {
    await rejects((await as("wfh", ["me"])).assistants.create({ graphId: "agent" }), "HTTP 401");
    await rejects(new Client({ apiUrl: url, apiKey: null }).assistants.search(), "HTTP 401");
    assert.equal((await fetch(`${url}/ok`)).status, 401);
    assert.equal(typeof (await (await fetch(`${url}/info`)).json()).version, "string");
  });

  test("a missing scope is forbidden", async () => {
    await rejects((await as("johndoe", ["me"])).assistants.create({ graphId: "agent" }), "HTTP 403");
  });

  test("a search shows only one's own", async () => {
    const mine = await john.assistants.create({ graphId: "agent" });
    const theirs = await alice.assistants.create({ graphId: "agent" });
    const found = (await john.assistants.search({ limit: 1000 })).map((a) => a.assistant_id);
    assert.ok(found.includes(mine.assistant_id));
    assert.ok(!found.includes(theirs.assistant_id));
    assert.equal(mine.metadata.owner, "johndoe");
    const t = await alice.threads.create();
    assert.ok(!(await john.threads.search({ limit: 1000 })).some((x) => x.thread_id === t.thread_id));
  });

  test("what belongs to another is not found", async () => {
    const t = await alice.threads.create();
    const run = await alice.runs.create(t.thread_id, "agent", { input });
    await alice.runs.join(t.thread_id, run.run_id);
    const a = await alice.assistants.create({ graphId: "agent" });
    const id = t.thread_id;
    const foreign = {
      "run wait": () => john.runs.wait(id, "agent", { input }),
      "run create": () => john.runs.create(id, "agent", { input }),
      "run create if not exists": () => john.runs.create(id, "agent", { input, ifNotExists: "create" }), // D-72
      "thread get": () => john.threads.get(id),
      "thread history": () => john.threads.getHistory(id),
      "thread state": () => john.threads.getState(id),
      "thread update state": () => john.threads.updateState(id, { values: { keyOne: "x" } }),
      "thread update": () => john.threads.update(id, { metadata: { x: 1 } }),
      "thread delete": () => john.threads.delete(id),
      "run list": () => john.runs.list(id),
      "run get": () => john.runs.get(id, run.run_id),
      "run join": () => john.runs.join(id, run.run_id),
      "run cancel": () => john.runs.cancel(id, run.run_id),
      "run delete": () => john.runs.delete(id, run.run_id),
      "assistant get": () => john.assistants.get(a.assistant_id),
      "assistant update": () => john.assistants.update(a.assistant_id, { name: "x" }),
      "assistant delete": () => john.assistants.delete(a.assistant_id),
      "assistant graph": () => john.assistants.getGraph(a.assistant_id),
      "assistant schemas": () => john.assistants.getSchemas(a.assistant_id),
      "assistant versions": () => john.assistants.getVersions(a.assistant_id),
      "assistant latest": () => john.assistants.setLatest(a.assistant_id, 1),
    };
    for (const [name, call] of Object.entries(foreign)) {
      await rejects(call(), "HTTP 404").catch((error) => { throw new Error(name, { cause: error }); });
    }
    const events = await gather(john.runs.joinStream(id, run.run_id));
    assert.equal(events.length, 1);
    assert.equal(events[0].event, "error");
    assert.match(events[0].data.message, /404/);
    await rejects(john.threads.copy(id), "HTTP 409");
    assert.equal((await alice.threads.get(id)).thread_id, id);
  });

  test("a token that may only read", async () => {
    const t = await john.threads.create();
    const reader = await as("johndoe", ["threads:read"]);
    assert.equal((await reader.threads.get(t.thread_id)).thread_id, t.thread_id);
    const failure = await rejects(reader.threads.copy(t.thread_id), "HTTP 403");
    assert.match(failure.message, /Not authorized/);
  });

  test("the store keeps users apart", async () => {
    await john.store.putItem(["johndoe", "notes"], "k", { x: 1 });
    await alice.store.putItem(["alice", "notes"], "k", { x: 2 });
    await rejects(john.store.putItem(["alice"], "k", { x: 3 }), "HTTP 403");
    await rejects(john.store.getItem(["alice", "notes"], "k"), "HTTP 403");
    await rejects(john.store.searchItems(["alice"]), "HTTP 403");
    const names = (await john.store.listNamespaces()).namespaces;
    assert.ok(names.length > 0 && names.every((n) => n.includes("johndoe")));
    const items = (await john.store.searchItems([])).items;
    assert.ok(items.length > 0 && items.every((i) => i.namespace.includes("johndoe")));
  });

  test("runs know their user; stateless ones work", async () => {
    const t = await john.threads.create();
    await john.runs.wait(t.thread_id, "agent_simple", { input });
    await john.threads.updateState(t.thread_id, { values: { sleep: 432 } });
    assert.equal((await john.threads.getState(t.thread_id)).values.sleep, 432);
    assert.equal((await john.store.getItem(["johndoe"], "key_one")).value.text, "foo");
    assert.ok((await john.runs.wait(null, "agent", { input })).messages.length);
    const chunks = await gather(john.runs.stream(null, "agent", { input, streamMode: "values" }));
    assert.equal(chunks.at(-1).event, "values");
  });
});
