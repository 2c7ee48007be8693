// Signing in with an identity provider, as people meet it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, button, newTab } from "./app.mjs";
import { missing, signInThere, withProvider } from "./provider.mjs";

const link = (tab) => tab.getByRole("link", { name: "Sign in with Example ID" });
const account = async (tab) => (await button(tab, "Account").click(), tab.getByRole("menu"));

test("somebody signs in with the provider, is where they wanted to be, and signs out in both places", { skip: missing }, async (t) => {
  const { url, issuer } = await withProvider(t, "public");
  const tab = await newTab(t);
  await tab.goto(`${url}/reviews?q=invoice`);
  await link(tab).waitFor();
  await accessible(tab);
  await link(tab).click();
  await signInThere(tab, "ada+operator+reviewer");
  await tab.getByRole("heading", { name: "Pending Reviews" }).waitFor();
  assert.equal(new URL(tab.url()).pathname + new URL(tab.url()).search, "/reviews?q=invoice");
  const menu = await account(tab);
  await menu.getByText("ada of the tests").waitFor();
  await menu.getByText("operator, reviewer").waitFor();
  await tab.keyboard.press("Escape");
  const cookies = await tab.context().cookies(url);
  assert.ok(cookies.every((cookie) => cookie.httpOnly), "no script can read a cookie");
  assert.equal(cookies.find((cookie) => cookie.name === "parley_session").sameSite, "Strict");
  assert.equal(await tab.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }).includes("eyJ")), false, "no token is kept by the page");

  await account(tab);
  await tab.getByRole("menuitem", { name: "Sign out" }).click();
  await tab.waitForURL(`${issuer}/**`);
  await tab.getByRole("button", { name: "Yes, sign me out" }).click();
  await link(tab).waitFor();
  await link(tab).click();
  await tab.getByPlaceholder("Enter any login").waitFor(); // it asks again who one is
});

test("an owner whom the provider knows is told that there are no keys, and nothing that isn't so", { skip: missing }, async (t) => {
  const { url } = await withProvider(t, "public");
  const tab = await newTab(t);
  await tab.goto(`${url}/app/access`);
  await link(tab).click();
  await signInThere(tab, "ada+owner");
  await tab.getByText("There are no keys.", { exact: true }).waitFor();
});

test("who cancels, takes too long or has no role is told so, on the page they wanted", { skip: missing }, async (t) => {
  const { url } = await withProvider(t, "public", ["--auth-default-role", "none"]);
  const tab = await newTab(t);
  await tab.goto(`${url}/app/audit?action=review.decided`);
  await link(tab).click();
  await tab.getByRole("link", { name: "Cancel" }).click();
  await tab.getByRole("alert").getByText("it was refused or cancelled").waitFor();
  await accessible(tab);
  assert.equal(tab.url(), `${url}/app/audit?action=review.decided`, "the address doesn't keep it");

  await link(tab).click();
  await tab.getByPlaceholder("Enter any login").waitFor();
  await tab.context().clearCookies({ name: /^parley_signin/ }); // as after the ten minutes that it lasts
  await signInThere(tab, "eve");
  await tab.getByRole("alert").getByText("it took too long").waitFor();

  await link(tab).click(); // the provider knows who it is, and asks nothing
  await tab.getByRole("alert").getByText("have no role on this server").waitFor();
  await link(tab).click();
  await signInThere(tab, "ada+owner"); // somebody else
  await button(tab, "Account").waitFor();
});

test("a session that ends says so, and one is back where one was; one that can be renewed goes on", { skip: missing }, async (t) => {
  for (const { client, renewed } of [{ client: "once", renewed: false }, { client: "public", renewed: true }]) {
    const { url } = await withProvider(t, client);
    const tab = await newTab(t);
    await tab.goto(`${url}/app/executions?status=suspended`);
    await link(tab).click();
    await signInThere(tab, "ada+viewer");
    await tab.getByRole("heading", { name: "Executions" }).waitFor();
    const renewal = renewed && tab.waitForResponse((response) => response.url().endsWith("/oidc/renew"));
    await tab.context().clearCookies({ name: /^parley_session/ }); // as at its end
    await tab.getByRole("link", { name: /^Reviews/ }).first().click(); // whatever is asked for next finds out
    if (renewed) {
      await tab.getByRole("heading", { name: "Pending Reviews" }).waitFor();
      await tab.getByText("There are no pending reviews.").waitFor(); // as they were read before, perhaps
      assert.equal((await renewal).status(), 200);
      assert.ok((await tab.context().cookies(url)).some((cookie) => cookie.name === "parley_session"), "it has a new session");
      // It is renewed before its end, too.
      await tab.clock.install();
      await tab.reload();
      await tab.getByText("There are no pending reviews.").waitFor();
      const exchange = tab.waitForResponse((response) => response.url().endsWith("/oidc/renew"));
      await tab.clock.fastForward("59:35");
      assert.equal((await exchange).status(), 200);
      continue;
    }
    await tab.getByRole("alert").getByText("Your session has ended").waitFor();
    await link(tab).click();
    await tab.getByRole("heading", { name: "Pending Reviews" }).waitFor();
    assert.match(tab.url(), /\/reviews$/);
  }
});
