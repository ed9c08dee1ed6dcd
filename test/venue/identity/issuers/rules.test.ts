import { generateKeyPairSync, sign as signBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { base64url, CompactSign, SignJWT } from "jose";
import { type Claims, type KeyPair, keyPair, nowSeconds, sign } from "./issuer.js";
import { IssuerVenue } from "./issuer-venue.js";

const here = new IssuerVenue();
const keys: Record<string, KeyPair> = {};
beforeAll(async () => {
  keys["ES256"] = await keyPair("ES256", "1");
  for (const alg of ["EdDSA", "Ed25519", "RS256", "PS256", "ES384"]) keys[alg] = await keyPair(alg, alg);
  keys["other"] = await keyPair("ES256", "1");
  keys["forEncryption"] = withMembers(await keyPair("ES256", "enc"), { use: "enc" });
  keys["forSigning"] = withMembers(await keyPair("ES256", "ops"), { key_ops: ["sign"] });
  keys["forOther"] = withMembers(await keyPair("RS256", "alg"), { alg: "PS256" });
  here.issuer.keys = Object.entries(keys).flatMap(([name, key]) => (name === "other" ? [] : [key]));
  await here.open({ requiredClaims: ["client_id"] });
});
afterAll(() => here.close());

const withMembers = ({ privateKey, jwk }: KeyPair, members: Claims): KeyPair => ({
  privateKey,
  jwk: { ...jwk, ...members },
});
const keyOf = (name: string): KeyPair => {
  const key = keys[name];
  if (key === undefined) throw new Error(`No key ${name}`);
  return key;
};
const right = (): Claims => ({ iss: here.issuer.url, aud: here.resource, client_id: "c" });
const signedBy = (name: string, claims: Claims = {}, header: Claims = {}) =>
  sign(keyOf(name), { ...right(), ...claims }, header);
const token = (claims: Claims = {}, header: Claims = {}) => signedBy("ES256", claims, header);

describe("a token is taken", () => {
  test.each<[string, () => Promise<string>]>([
    ["as it should be", () => token()],
    ["with the resource among its audiences", () => token({ aud: ["https://elsewhere.example", here.resource] })],
    ["without typ", () => token({}, { typ: undefined })],
    ["as a JWT", () => token({}, { typ: "JWT" })],
    ["as application/at+jwt", () => token({}, { typ: "application/at+jwt" })],
    ["that begins within the skew", () => token({ nbf: nowSeconds() + 20, iat: nowSeconds() + 20 })],
    ["that has ended within the skew", () => token({ exp: nowSeconds() - 10 })],
    ["without iat", () => token({ iat: undefined })],
    ["for 24 hours", () => token({ exp: nowSeconds() + 24 * 3600 })],
    ["without kid, where one of the keys fits", () => token({}, { kid: undefined })],
    ["by EdDSA", () => signedBy("EdDSA")],
    ["by Ed25519", () => signedBy("Ed25519")],
    ["by RS256", () => signedBy("RS256")],
    ["by PS256", () => signedBy("PS256")],
  ])("%s", async (_what, make) => {
    expect(await here.read(await make())).toBe(200);
  });
});

/** Signed by a secret: the public key, as text. */
const byHmac = () =>
  new SignJWT({ ...right(), sub: "ann", exp: nowSeconds() + 600 })
    .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: "1" })
    .sign(new TextEncoder().encode(JSON.stringify(keyOf("ES256").jwk)));

const unsigned = (header: Claims) =>
  [
    { typ: "at+jwt", kid: "1", ...header },
    { ...right(), sub: "ann", exp: nowSeconds() + 600 },
  ]
    .map((part) => base64url.encode(JSON.stringify(part)))
    .join(".");

/** A token with another key in its header, which has signed it. */
async function withKeyInHeader(name: "jwk" | "jku" | "x5u"): Promise<string> {
  const { jwk } = keyOf("other");
  const value = name === "jwk" ? jwk : `${here.issuer.url}/${name}`;
  const { issuer } = here;
  issuer.serve(`/${name}`, (_request, response) => void response.end(JSON.stringify({ keys: [jwk] })));
  return sign(keyOf("other"), right(), { [name]: value });
}

describe("each rule refuses a token that breaks it alone", () => {
  test.each<[string, () => Promise<string>]>([
    ["iss: another", () => token({ iss: "https://elsewhere.example" })],
    ["iss: with a slash more", () => token({ iss: `${here.issuer.url}/` })],
    ["iss: none", () => token({ iss: undefined })],
    ["aud: another", () => token({ aud: "https://elsewhere.example/mcp" })],
    ["aud: the venue without its path", () => token({ aud: here.url })],
    ["aud: with a slash more", () => token({ aud: `${here.resource}/` })],
    ["aud: none", () => token({ aud: undefined })],
    ["exp: none", () => token({ exp: undefined })],
    ["exp: past", () => token({ exp: nowSeconds() - 60 })],
    ["exp: a text", () => token({ exp: `${nowSeconds() + 600}` })],
    ["exp: more than 24 hours ahead", () => token({ exp: nowSeconds() + 24 * 3600 + 60 })],
    ["nbf: ahead", () => token({ nbf: nowSeconds() + 60 })],
    ["iat: ahead", () => token({ iat: nowSeconds() + 60 })],
    ["iat: a text", () => token({ iat: "now" })],
    ["sub: none", () => token({ sub: undefined })],
    ["sub: empty", () => token({ sub: "" })],
    ["sub: a number", () => token({ sub: 7 })],
    ["a required claim: none", () => token({ client_id: undefined })],
    ["cnf: there", () => token({ cnf: { jkt: "x" } })],
    ["typ: of an identity token's logout", () => token({}, { typ: "logout+jwt" })],
    ["typ: of a proof", () => token({}, { typ: "dpop+jwt" })],
    ["typ: a number", () => token({}, { typ: 1 })],
    ["crit: known to the signer", () => token({}, { crit: ["exp"], exp: 1 })],
    ["crit: known to jose", () => token({}, { crit: ["b64"], b64: true })],
    ["crit: unknown", () => token({}, { crit: ["x"], x: true })],
    ["alg: none", async () => `${unsigned({ alg: "none" })}.`],
    ["alg: none, with a signature", async () => `${unsigned({ alg: "none" })}.${(await token()).split(".")[2]}`],
    ["alg: by a shared secret", byHmac],
    ["alg: not one of ours", () => signedBy("ES384")],
    ["signature: of another key of the same id", () => signedBy("other")],
    ["signature: of another token", async () => [unsigned({ alg: "ES256" }), (await token()).split(".")[2]].join(".")],
    ["kid: unknown", () => token({}, { kid: "unknown" })],
    ["kid: of another key", () => signedBy("ES256", {}, { kid: "RS256" })],
    ["the key's use: for encryption", () => signedBy("forEncryption")],
    ["the key's key_ops: not for verifying", () => signedBy("forSigning")],
    ["the key's alg: another", () => signedBy("forOther", {}, { alg: "RS256" })],
    ["jwk in the header", () => withKeyInHeader("jwk")],
    ["jku in the header", () => withKeyInHeader("jku")],
    ["x5u in the header", () => withKeyInHeader("x5u")],
    [
      "claims that are no object",
      () =>
        new CompactSign(new TextEncoder().encode("[]"))
          .setProtectedHeader({ alg: "ES256", kid: "1", typ: "at+jwt" })
          .sign(keyOf("ES256").privateKey),
    ],
  ])("%s", async (_rule, make) => {
    const response = await here.run(await make(), "file:read", { root: "docs", path: "a.txt" });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer error="invalid_token", scope="files:read", resource_metadata="${here.url}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect(here.issuer.paths).not.toContain("/jku");
    expect(here.issuer.paths).not.toContain("/x5u");
  });

  test("a key of RSA with fewer than 2048 bits", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const jwk = { ...publicKey.export({ format: "jwk" }), kty: "RSA", kid: "short", alg: "RS256", use: "sig" };
    const other = new IssuerVenue();
    other.issuer.keys = [keyOf("RS256"), { jwk, privateKey: keyOf("RS256").privateKey }];
    await other.open();
    const claims = { iss: other.issuer.url, aud: other.resource };
    expect(await other.read(await sign(keyOf("RS256"), claims))).toBe(200);
    // jose signs with no such key.
    const text = [
      { alg: "RS256", typ: "at+jwt", kid: "short" },
      { ...claims, sub: "ann", exp: nowSeconds() + 600 },
    ]
      .map((part) => base64url.encode(JSON.stringify(part)))
      .join(".");
    const signature = base64url.encode(signBytes("sha256", Buffer.from(text), privateKey));
    expect(await other.read(`${text}.${signature}`)).toBe(401);
    await other.close();
  });
});

test("the configuration narrows algorithms, and names audiences in place of the venue's address", async () => {
  const other = new IssuerVenue();
  other.issuer.keys = [keyOf("ES256"), keyOf("RS256")];
  await other.open({ algorithms: ["RS256"], audience: ["api://files", "api://more"] });
  const by = (name: string, aud: unknown) => sign(keyOf(name), { iss: other.issuer.url, aud });
  const tokens = [
    by("RS256", "api://more"),
    by("ES256", "api://more"),
    by("RS256", other.resource),
    by("RS256", "api://"),
  ];
  const statuses: number[] = [];
  for (const token of tokens) statuses.push(await other.read(await token));
  expect(statuses).toEqual([200, 401, 401, 401]);
  await other.close();
});
