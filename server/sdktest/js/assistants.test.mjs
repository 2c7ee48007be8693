// Cases 1-12 of spec/rest-api.md 7.2.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { rejects, serve } from "./server.mjs";

const { client } = await serve(["--agents", "conformance", "--ephemeral"]);

describe("assistants", () => {
  test("1 create, read, update and delete", async () => {
    const config = { configurable: { model_name: "gpt" } };
    let a = await client.assistants.create({ graphId: "agent", config, description: "first" });
    assert.equal(a.graph_id, "agent");
    assert.deepEqual(a.config, config);
    assert.equal(a.description, "first");
    await client.assistants.update(a.assistant_id, { graphId: "agent", metadata: { foo: "bar" }, description: "second" });
    a = await client.assistants.get(a.assistant_id);
    assert.deepEqual(a.metadata, { foo: "bar" });
    assert.equal(a.description, "second");
    assert.deepEqual(a.config, config);
    await client.assistants.delete(a.assistant_id);
    await rejects(client.assistants.get(a.assistant_id), "HTTP 404: Assistant not found");
  });

  test("2 delete with threads", async () => {
    const a = await client.assistants.create({ graphId: "agent" });
    const t = await client.threads.create({ metadata: { assistant_id: a.assistant_id } });
    const other = await client.threads.create();
    await client.assistants.delete(a.assistant_id, { deleteThreads: true });
    await rejects(client.assistants.get(a.assistant_id), "HTTP 404: Assistant not found");
    await rejects(client.threads.get(t.thread_id), `HTTP 404: Thread with ID ${t.thread_id} not found`);
    assert.equal((await client.threads.get(other.thread_id)).thread_id, other.thread_id);
  });

  test("3 graph and schemas", async () => {
    const a = await client.assistants.create({ graphId: "agent" });
    const graph = await client.assistants.getGraph(a.assistant_id);
    const node = (id) => graph.nodes.find((n) => n.id === id);
    assert.equal(node("__start__").type, "schema");
    assert.equal(node("__end__").type, "schema");
    for (const name of ["agent", "tool"]) {
      assert.equal(node(name).type, "runnable");
      assert.equal(node(name).data.name, name);
    }
    const edge = (source, target) => graph.edges.find((e) => e.source === source && e.target === target);
    assert.ok(edge("__start__", "agent"));
    assert.ok(edge("tool", "agent"));
    assert.equal(edge("agent", "tool").conditional, true);
    assert.equal(edge("agent", "__end__").conditional, true);

    const schemas = await client.assistants.getSchemas(a.assistant_id);
    assert.equal(schemas.graph_id, "agent");
    assert.equal(schemas.config_schema.type, "object");
    assert.equal(schemas.config_schema.properties.model_name.type, "string");
    assert.equal(schemas.config_schema.$schema, "http://json-schema.org/draft-07/schema#");
    const name = "BaseMessage<MessageStructure<MessageToolSet>,MessageType>";
    assert.equal(schemas.state_schema.properties.messages.type, "array");
    assert.equal(schemas.state_schema.properties.messages.items.$ref, `#/definitions/${name}`);
    assert.match(schemas.state_schema.definitions[name].description, /Base class for all types of messages/);
    assert.deepEqual(schemas.state_schema.definitions[name].oneOf, [{ $ref: "#/definitions/RemoveMessage" }]);
    assert.ok(!("sharedStateFromStoreConfig" in (schemas.output_schema.properties ?? {})));
    assert.ok("sharedStateFromStoreConfig" in schemas.input_schema.properties);
  });

  test("4-6 schemas of the state, registry and plain graphs", async () => {
    const state = async (graphId) => {
      const a = await client.assistants.create({ graphId });
      return (await client.assistants.getSchemas(a.assistant_id)).state_schema.properties;
    };
    const s = await state("state_schema_graph");
    assert.equal(s.messages.langgraph_type, "messages");
    assert.ok(s.count);
    const z = await state("zod_registry_graph");
    assert.equal(z.messages.langgraph_type, "messages");
    assert.ok(z.count && z.status);
    const p = await state("plain_zod_graph");
    assert.ok(p.items && p.counter);
    assert.equal(p.items.langgraph_type, undefined);
  });

  test("7 search by graph, metadata and name", async () => {
    const before = await client.assistants.search({ limit: 1000 });
    const marker = { marker: crypto.randomUUID() };
    const created = await client.assistants.create({ graphId: "agent", metadata: marker });
    assert.equal((await client.assistants.search({ metadata: marker })).length, 1);
    const ofGraph = await client.assistants.search({ graphId: "agent", limit: 1000 });
    assert.ok(ofGraph.every((a) => a.graph_id === "agent"));
    assert.ok(ofGraph.some((a) => a.assistant_id === created.assistant_id));
    assert.ok(before.length >= 11);
    const system = await client.assistants.search({ graphId: "agent", metadata: { created_by: "system" } });
    assert.ok(system.every((a) => a.assistant_id !== created.assistant_id));
    for (const name of ["simple_runtime", "SIMPLE_", "ple_runt"]) {
      const found = await client.assistants.search({ name });
      assert.deepEqual(found.map((a) => a.name), ["simple_runtime"]);
    }
  });

  test("8 count", async () => {
    assert.ok((await client.assistants.count()) >= 11);
    assert.equal(await client.assistants.count({ name: "simple_runtime" }), 1);
  });

  test("9 versions", async () => {
    const a = await client.assistants.create({ graphId: "agent", name: "v" });
    await client.assistants.update(a.assistant_id, { name: "v2", metadata: { foo: "bar" } });
    await client.assistants.update(a.assistant_id, {});
    const versions = await client.assistants.getVersions(a.assistant_id);
    assert.deepEqual(versions.map((v) => v.version), [3, 2, 1]);
    assert.deepEqual((await client.assistants.getVersions(a.assistant_id, { limit: 1 })).map((v) => v.version), [3]);
    assert.deepEqual((await client.assistants.getVersions(a.assistant_id, { limit: 1, offset: 1 })).map((v) => v.version), [2]);
    assert.deepEqual((await client.assistants.getVersions(a.assistant_id, { metadata: { foo: "bar" } })).map((v) => v.version), [3, 2]);
    await client.assistants.delete(a.assistant_id);
    await rejects(client.assistants.getVersions(a.assistant_id), "HTTP 404");
  });

  test("10 set the latest version", async () => {
    const a = await client.assistants.create({ graphId: "agent", name: "one" });
    await client.assistants.update(a.assistant_id, { name: "two" });
    const back = await client.assistants.setLatest(a.assistant_id, 1);
    assert.equal(back.version, 1);
    assert.equal(back.name, "one");
    const next = await client.assistants.update(a.assistant_id, { name: "three" });
    assert.equal(next.version, 3);
    await rejects(client.assistants.setLatest(a.assistant_id, 4), "HTTP 404");
  });

  test("11 configuration from the environment", async () => {
    const found = await client.assistants.search({ graphId: "agent", metadata: { created_by: "system" } });
    assert.equal(found.length, 1);
    assert.equal(found[0].config.configurable.model_name, "openai");
    assert.equal(found[0].assistant_id, "fe096781-5601-53d2-b2f6-0d3403f7e9ca");
  });

  test("12 names", async () => {
    const [system] = await client.assistants.search({ graphId: "agent", metadata: { created_by: "system" } });
    assert.equal(system.name, "agent");
    const name = `name-${crypto.randomUUID()}`;
    const a = await client.assistants.create({ graphId: "agent", name });
    assert.equal(a.name, name);
    assert.deepEqual((await client.assistants.search({ name })).map((x) => x.assistant_id), [a.assistant_id]);
  });

  test("37 subgraphs", async () => {
    const a = await client.assistants.create({ graphId: "nested" });
    const first = await client.assistants.getSubgraphs(a.assistant_id);
    assert.deepEqual(Object.keys(first), ["gp_two"]);
    const all = await client.assistants.getSubgraphs(a.assistant_id, { recurse: true });
    assert.deepEqual(Object.keys(all), ["gp_two", "gp_two|p_two"]);
    assert.equal(all["gp_two"].state.type, "object");
    assert.equal(all["gp_two"].state.properties.messages.type, "array");
    assert.deepEqual(all["gp_two"].state.properties.parent.enum.toSorted(), ["parent_one", "parent_two"]);
    assert.deepEqual(all["gp_two|p_two"].state.properties.child.enum.toSorted(), ["child_one", "child_two"]);
  });
});
