// A server of a test alone on which people have keys.
import assert from "node:assert/strict";
import { button, newTab } from "./app.mjs";
import { ownServer } from "./durable.mjs";

/** roles are those of each, by name; the first one has to be an owner. */
export async function withPeople(t, roles, flags = ["--self-approval"]) {
  const own = await ownServer(t, flags);
  const people = {};
  const call = async (key, path, body) => {
    const reply = await fetch(`${own.url}/api/v1/projects/default${path}`, {
      method: body ? "POST" : "GET",
      headers: { ...(key ? { authorization: `Bearer ${key}` } : {}), ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await reply.text();
    assert.ok(reply.ok, `${path}: ${reply.status} ${text}`);
    return JSON.parse(text);
  };
  for (const [name, theirs] of Object.entries(roles)) {
    const [owner] = Object.values(people);
    people[name] = (await call(owner, "/keys", { name, roles: theirs })).key;
  }
  return {
    ...own,
    people,
    /** Somebody decides about what a thread waits for. */
    async decide(key, thread, body) {
      const { reviews } = await call(key, `/reviews?status=open&thread_id=${thread}`);
      return call(key, `/reviews/${reviews[0].review_id}/decide`, body);
    },
  };
}

/** A window in which somebody has signed in. */
export async function signedIn(t, url, key, options) {
  const tab = await newTab(t, options);
  await tab.goto(url);
  await tab.getByLabel("API key or token").fill(key);
  await button(tab, "Sign in").click();
  await button(tab, "Account").waitFor();
  return tab;
}
