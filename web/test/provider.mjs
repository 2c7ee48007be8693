// A server of a test alone to which people sign in with npm's oidc-provider (server/oidctest). The browser knows the two as
// different sites: localhost and 127.0.0.1. Where the tests run on Redis, it is three replicas that take turns.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { freePort, start } from "../../server/hooktest/test/server.mjs";
import { ownDatabase } from "./database.mjs";
import { takeTurns } from "./rounds.mjs";

const folder = new URL("../../server/oidctest/", import.meta.url).pathname;

/** Why there is no provider; false where there is one. */
export const missing = !existsSync(`${folder}node_modules/oidc-provider`) && "npm's oidc-provider isn't installed: run make test-oidc";

/** client is one of provider.mjs's. */
export async function withProvider(t, client, flags = []) {
  const port = await freePort();
  const child = spawn("node", ["provider.mjs"], { cwd: folder, stdio: ["pipe", "pipe", "ignore"], env: { ...process.env, APPS: `http://localhost:${port}` } });
  t.after(() => child.kill("SIGKILL"));
  const { issuer } = JSON.parse(await new Promise((resolve) => createInterface(child.stdout).once("line", resolve)));
  const args = ["--auth-issuer", issuer, "--oidc-client-id", client, "--oidc-name", "Example ID", "--self-approval", ...flags];
  const binary = process.env.WEB_SERVER;
  const redis = await ownDatabase();
  if (!redis) {
    const server = await start(["--ephemeral", ...args], { port, binary });
    t.after(() => server.stop());
    return { url: server.url, issuer };
  }
  const replicas = [];
  t.after(() => Promise.all(replicas.map((replica) => replica.stop())));
  for (let i = 0; i < 3; i++) replicas.push(await start(args, { binary, env: { PARLEY_REDIS: redis } }));
  t.after(await takeTurns(port, replicas.map((replica) => replica.port)));
  return { url: `http://localhost:${port}`, issuer };
}

/** Says at the provider who one is, and lets it tell the server. */
export async function signInThere(tab, name) {
  await tab.getByPlaceholder("Enter any login").fill(name);
  await tab.getByPlaceholder("and password").fill("anything");
  await tab.getByRole("button", { name: "Sign-in" }).click();
  await tab.getByRole("button", { name: "Continue" }).click();
}
