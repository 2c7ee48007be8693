// An identity provider for tests: npm's oidc-provider, as its documentation has it for development. Its pages let
// anybody in by a name alone; somebody's roles are what stands in the name behind a plus sign ("ada+owner").
// It says where it is in one line of JSON, and ends with its standard input.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

/** Where the server under test is, with commas between several; how long tokens last, in s. */
const apps = (process.env.APPS ?? "http://localhost:2025").split(",");
const life = Number(process.env.TOKEN_LIFE ?? 3600);

const server = createServer();
await new Promise((resolve) => server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const client = {
  redirect_uris: apps.map((app) => `${app}/api/v1/session/oidc/callback`),
  post_logout_redirect_uris: apps.map((app) => `${app}/`),
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
};
const rolesOf = (id) => id.split("+").slice(1);
/** Clients whose id begins so get access tokens that are for this audience, as JWTs. */
const api = "https://parley.example";

const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: "confidential", client_secret: "a secret of the tests" },
    { ...client, client_id: "posting", client_secret: "a secret of the tests", token_endpoint_auth_method: "client_secret_post" },
    { ...client, client_id: "public", token_endpoint_auth_method: "none" },
    { ...client, client_id: "once", token_endpoint_auth_method: "none", grant_types: ["authorization_code"] },
    { ...client, client_id: "api", token_endpoint_auth_method: "none" },
  ],
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["name", "roles"], email: ["email", "email_verified"] },
  conformIdTokenClaims: false, // what the scopes ask for stands in the ID token, as with most providers
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `${id.split("+")[0]} of the tests`, roles: rolesOf(id), email: `${id.split("+")[0]}@example.org`, email_verified: true }),
  }),
  extraTokenClaims: (_, token) => (token.clientId === "api" ? { roles: [...rolesOf(token.accountId), "operator"] } : undefined),
  features: {
    devInteractions: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx) => (ctx.oidc.client?.clientId === "api" ? api : undefined),
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "", audience: api, accessTokenTTL: life, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
    },
  },
  issueRefreshToken: (_, { clientId }) => clientId !== "once",
  rotateRefreshToken: true,
  ttl: { AccessToken: life, IdToken: life, RefreshToken: 86_400, Grant: 86_400, Session: 86_400, Interaction: 3600 },
  cookies: { keys: ["of the tests"] },
});
server.on("request", provider.callback());
process.stdin.resume();
process.stdin.once("end", () => process.exit(0));
console.log(JSON.stringify({ issuer }));
