// An issuer as others run it: oidc-provider on loopback, where everybody who comes is Ann and agrees to whatever is asked.
// Prints its URL; ends with its standard input.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const SCOPES = "files:read files:write files:delete";
const { privateKey } = await generateKeyPair("ES256", { extractable: true });
const server = createServer((request, response) => handle(request, response));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "ES256", use: "sig", kid: "es" }] },
  clients: [
    {
      ...{ client_id: "assistant", token_endpoint_auth_method: "none", application_type: "native" },
      id_token_signed_response_alg: "ES256",
      ...{
        redirect_uris: ["http://127.0.0.1/callback"],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    },
  ],
  cookies: { keys: ["not a secret"] },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
  extraTokenClaims: () => ({ team: "editors" }),
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, resource) => ({
        ...{ scope: SCOPES, audience: resource, accessTokenTTL: 600, accessTokenFormat: "jwt" },
        jwt: { sign: { alg: "ES256" } },
      }),
      useGrantedResource: () => true,
    },
  },
});

async function handle(request, response) {
  if (!request.url.startsWith("/interaction/")) return provider.callback()(request, response);
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") return provider.interactionFinished(request, response, { login: { accountId: "ann" } });
  const grant =
    (grantId && (await provider.Grant.find(grantId))) ??
    new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addResourceScope(params.resource, params.scope);
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

process.stdout.write(`${issuer}\n`);
process.stdin.resume().on("end", () => process.exit());
