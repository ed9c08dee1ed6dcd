import { createHash, createPublicKey, sign, verify } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { FILE_SEMANTICS } from "../../../src/authz/grant.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { mintIdentity } from "../../../src/ucan/mint/claims.js";
import { type MintRequest, mint } from "../../../src/ucan/mint/mint.js";
import { newSeed, parseSeed, type SigningKey, signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { verifyIdentityToken } from "../../../src/ucan/token/identity-token.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../../src/ucan/verify/verifier.js";
import { clock, delegation, NOW, signed, signer } from "../tokens.js";
import {
  ALL_DOCS,
  failureOf,
  grantsFrom,
  heldFrom,
  helper,
  lead,
  owner,
  parts,
  READ_DOCS,
  READ_OUT,
  rules,
  tokenOf,
  worker,
} from "./fixture.js";

const HOUR = 3600;
const root: MintRequest = { key: owner, audience: lead.did, capabilities: [READ_DOCS] };
/** From the lead to the worker, on the strength of the proofs. */
const below = (...proofs: string[]): MintRequest => ({
  key: lead,
  audience: worker.did,
  capabilities: [READ_OUT],
  proofs,
});

describe("a token of the profile covia", () => {
  test("has the header and the claims of Covia's clients, a nonce, and no beginning", async () => {
    const [header, payload] = parts(await tokenOf(root));
    expect(header).toEqual({ alg: "EdDSA", typ: "JWT", kid: owner.multikey });
    expect(payload).toEqual({
      iss: owner.did,
      aud: lead.did,
      ucv: "0.10.0",
      att: [READ_DOCS],
      prf: [],
      exp: NOW + HOUR,
      nnc: expect.stringMatching(/^[0-9a-f]{24}$/),
    });
    expect(Object.keys(payload)).toEqual(["iss", "aud", "ucv", "att", "prf", "exp", "nnc"]);
  });

  test("is told with its id and its end", async () => {
    const { token, id, expiresAt } = await mint({ ...root, lifetimeSeconds: 60 }, rules);
    expect(id).toBe(
      createHash("sha256")
        .update(token.slice(0, token.lastIndexOf(".")))
        .digest("base64url"),
    );
    expect(expiresAt).toBe(NOW + 60);
  });

  test("is never the same twice, so that one can be revoked without the other", async () => {
    const [one, other] = [await mint(root, rules), await mint(root, rules)];
    expect(one.id).not.toBe(other.id);
  });

  test("holds facts when there are any", async () => {
    const facts = [{ "venue-files": { for: worker.did, via: ["id"] } }];
    expect(parts(await tokenOf({ ...root, facts }))[1]["fct"]).toEqual(facts);
  });

  test("gives what was asked, to the letter", async () => {
    const capabilities = [READ_DOCS, { with: "file://", can: "*" }, { with: "file://a/b.txt", can: "crud/*" }];
    const token = await tokenOf({ ...root, capabilities });
    expect(grantsFrom(token, owner.did)).toEqual(capabilities);
    expect(grantsFrom(token, worker.did)).toEqual([]);
  });
});

describe("a token with proofs", () => {
  test("holds them, and gives what they cover", async () => {
    const proof = await tokenOf({ ...root, capabilities: [ALL_DOCS] });
    const token = await tokenOf(below(proof));
    expect(parts(token)[1]["prf"]).toEqual([proof]);
    const [held] = heldFrom(token, owner.did);
    expect(held?.grant.written).toEqual(READ_OUT);
    expect(held?.chain.map(({ issuer }) => issuer)).toEqual([lead.did, owner.did]);
  });

  test("may rest on several, each for a part and rooted in another owner", async () => {
    const other: Capability = { with: "file://other/", can: "crud/write" };
    const proofs = [await tokenOf(root), await tokenOf({ ...root, key: helper, capabilities: [other] })];
    const token = await tokenOf({ ...below(...proofs), capabilities: [READ_OUT, other] });
    expect(grantsFrom(token, owner.did)).toEqual([READ_OUT]);
    expect(grantsFrom(token, helper.did)).toEqual([other]);
  });

  test("ends with them when nothing was asked", async () => {
    const proofs = [await tokenOf({ ...root, lifetimeSeconds: 120 }), await tokenOf({ ...root, lifetimeSeconds: 90 })];
    expect((await mint(below(...proofs), rules)).expiresAt).toBe(NOW + 90);
    expect((await mint({ ...below(...proofs), lifetimeSeconds: 60 }, rules)).expiresAt).toBe(NOW + 60);
    expect((await mint({ ...below(...proofs), expiresAt: NOW + 90 }, rules)).expiresAt).toBe(NOW + 90);
  });

  test("takes proofs of every version that the verifier takes", async () => {
    const claims = { aud: lead.did };
    const old = delegation({ header: { kid: undefined, ucv: "0.9.1" }, claims: { ...claims, ucv: undefined } });
    const unversioned = delegation({ claims: { ...claims, ucv: undefined } });
    const endless = delegation({ claims: { ...claims, exp: null } });
    expect(await tokenOf(below(old))).toContain(".");
    expect(await tokenOf(below(unversioned), { acceptUnversionedCovia: true })).toContain(".");
    expect(await tokenOf(below(endless))).toContain(".");
  });

  test("may end later than its proofs, whose chain it then only lengthens", async () => {
    const proof = await tokenOf({ ...root, lifetimeSeconds: 90 });
    const longer = { expiresAt: NOW + 600, endsAt: NOW + 90 };
    expect(await mint({ ...below(proof), lifetimeSeconds: 600 }, rules)).toMatchObject(longer);
    expect((await mint(below(proof), rules)).expiresAt).toBe(NOW + 90);
  });

  test("ends by default with the earliest end in the chain of its proofs", async () => {
    const first = delegation({ claims: { aud: helper.did, exp: NOW + 60 } });
    const proof = delegation({ by: helper, claims: { aud: lead.did, prf: [first] } });
    expect((await mint(below(proof), rules)).expiresAt).toBe(NOW + 60);
  });

  test("counts the DIDs of one signer as one", async () => {
    const did = "did:web:lead.example";
    const canonicalDid = (name: string) => (name === lead.did ? did : name);
    const proof = await tokenOf({ ...root, audience: did });
    expect((await failureOf(below(proof))).code).toBe("broken_chain");
    const token = await tokenOf(below(proof), { canonicalDid });
    expect(grantsFrom(token, owner.did, { canonicalDid })).toEqual([READ_OUT]);
    const last = { key: worker, audience: helper.did, capabilities: [READ_OUT], proofs: [token] };
    expect((await failureOf(last)).code).toBe("broken_chain");
    expect(grantsFrom(await tokenOf(last, { canonicalDid }), owner.did, { canonicalDid })).toEqual([READ_OUT]);
  });
});

describe("is not made, and says why:", () => {
  const twoYears = 2 * 366 * 86_400;
  const many = (count: number): Capability[] =>
    Array.from({ length: count }, (_, i) => ({ with: `file://r${i}/`, can: "crud" }));
  const nothing = (entry: object): MintRequest => ({ ...root, capabilities: [READ_DOCS, entry as Capability] });

  test.each<[string, MintRequest, string, RegExp]>([
    ["without capabilities", { ...root, capabilities: [] }, "grants_nothing", /^The token would give nothing\. Add/],
    [
      "a capability of another scheme",
      nothing({ with: "my:*", can: "*" }),
      "grants_nothing",
      /^Capability 2 gives nothing/,
    ],
    [
      "one with caveats",
      nothing({ ...READ_DOCS, nb: {} }),
      "grants_nothing",
      /^Capability 2 gives nothing\. Check its 'with'/,
    ],
    [
      "33 capabilities, before any is looked at",
      { ...root, capabilities: [...many(32), { with: "my:*", can: "*" }] },
      "too_large",
      /at most 8192 bytes, 32 capabilities, 4 proofs/,
    ],
    [
      "a token over 8192 bytes",
      { ...root, facts: [{ x: "x".repeat(6000) }] },
      "too_large",
      /Ask for less, or rest it on fewer or shorter proofs$/,
    ],
    [
      "an audience that is no DID",
      { ...root, audience: "worker" },
      "bad_did",
      /^The audience is not a DID\. Give a did:key/,
    ],
    ["one with a fragment", { ...root, audience: "did:web:a.example#key" }, "bad_did", /^The audience is not a DID/],
    [
      "one with a key of another kind",
      { ...root, audience: "did:key:zDnaerDaTF5" },
      "bad_did",
      /^The audience is a P-256 did:key, and only Ed25519 keys are taken\. Give a did:key/,
    ],
    ["an end that is now", { ...root, expiresAt: NOW }, "bad_exp", /^The end is not a time in the future/],
    ["one in milliseconds", { ...root, expiresAt: NOW * 1000 }, "bad_exp", /^The end is not a time in the future/],
    ["one within a second", { ...root, expiresAt: NOW + 0.5 }, "bad_exp", /^The end is not a time in the future/],
    [
      "one in two years",
      { ...root, expiresAt: NOW + twoYears },
      "bad_exp",
      /at most 31622400 seconds are allowed\. Choose/,
    ],
    ["a lifetime of two years", { ...root, lifetimeSeconds: twoYears }, "bad_exp", /^The token would live too long/],
    ["no lifetime", { ...root, lifetimeSeconds: 0 }, "bad_exp", /^The lifetime is not a positive number/],
    ["half a second", { ...root, lifetimeSeconds: 0.5 }, "bad_exp", /^The lifetime is not a positive number/],
    [
      "a lifetime without end",
      { ...root, lifetimeSeconds: Number.POSITIVE_INFINITY },
      "bad_exp",
      /^The lifetime is not/,
    ],
  ])("%s", async (_what, request, code, message) => {
    const error = await failureOf(request);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  test("the limits themselves are no reason", async () => {
    expect(grantsFrom(await tokenOf({ ...root, capabilities: many(32) }), owner.did)).toHaveLength(32);
    expect((await mint({ ...root, lifetimeSeconds: 31_622_400 }, rules)).expiresAt).toBe(NOW + 31_622_400);
    expect((await mint({ ...root, expiresAt: NOW + 1 }, rules)).expiresAt).toBe(NOW + 1);
  });
});

describe("is not made with a proof", () => {
  const proofBy = (changes: Parameters<typeof delegation>[0] = {}): string =>
    delegation({ ...changes, claims: { aud: lead.did, ...changes.claims } });
  const tampered = (token: string): string => {
    const [header, payload, signature = ""] = token.split(".");
    return `${header}.${payload}.${Buffer.from(signature, "base64url").fill(1, 0, 4).toString("base64url")}`;
  };
  const nested = (proof: string): string => proofBy({ by: signer(13), claims: { prf: [proof] } });
  const worker13 = signer(13).did;

  test.each<[string, () => string, string, RegExp]>([
    ["that is no token", () => "e30.e30.e30", "malformed", /^Proof 1 cannot be used: it is not a token\. Check/],
    ["that is too large", () => "a".repeat(8193), "too_large", /^Proof 1 cannot be used: it is too large$/],
    ["whose signature is wrong", () => tampered(proofBy()), "bad_signature", /: its signature is wrong\. Check/],
    [
      "that has expired",
      () => proofBy({ claims: { exp: NOW - 31 } }),
      "expired",
      /has expired\. Ask its issuer for a new one$/,
    ],
    ["that is not valid yet", () => proofBy({ claims: { nbf: NOW + 31 } }), "not_yet_valid", /not valid yet\. Wait/],
    ["without version", () => proofBy({ claims: { ucv: undefined } }), "bad_version", /: its version is unknown/],
    [
      "for somebody else",
      () => proofBy({ claims: { aud: worker.did } }),
      "broken_chain",
      /given to somebody else than the signer/,
    ],
    [
      "that says who somebody is",
      () => proofBy({ claims: { att: undefined } }),
      "malformed",
      /^Proof 1 cannot be used/,
    ],
    [
      "of nothing",
      () => proofBy({ claims: { att: [] } }),
      "grants_nothing",
      /^Proof 1 holds no capability.*Leave it out$/,
    ],
    [
      "of other things",
      () => proofBy({ claims: { att: [{ with: "my:*", can: "*" }] } }),
      "grants_nothing",
      /^Proof 1 holds no/,
    ],
    [
      "that is narrower",
      () => proofBy({ claims: { att: [{ with: "file://docs/x/", can: "crud" }] } }),
      "widened_or_unrooted",
      /^Capability 1 is covered by none of the proofs\. Narrow it/,
    ],
    [
      "whose proof is only named",
      () => proofBy({ claims: { prf: ["bafkreia"] } }),
      "proof_not_found",
      /: it names its proofs/,
    ],
    [
      "on a wrong signature",
      () => nested(tampered(delegation({ claims: { aud: worker13 } }))),
      "bad_signature",
      /^Proof 1 gives nothing, because of a token in its chain: its signature/,
    ],
    [
      "on one for somebody else",
      () => nested(delegation()),
      "broken_chain",
      /^Proof 1 gives nothing, because of a token in its chain/,
    ],
    [
      "that is wider than its own",
      () => nested(delegation({ claims: { aud: worker13, att: [{ with: "file://x/", can: "*" }] } })),
      "widened_or_unrooted",
      /^Proof 1 cannot be used: it gives more than it was given/,
    ],
  ])("%s", async (_what, proof, code, message) => {
    const text = proof();
    const error = await failureOf(below(text));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(text.slice(0, 12));
  });

  test("names the proof that is wrong", async () => {
    const error = await failureOf(below(await tokenOf(root), proofBy({ claims: { exp: NOW - 31 } })));
    expect(error.message).toMatch(/^Proof 2 /);
  });

  test("that has ended by the clock, if by little", async () => {
    const proof = proofBy({ claims: { exp: NOW - 10 } });
    expect(await failureOf(below(proof))).toMatchObject({
      code: "expired",
      message: "Proof 1 cannot be used: it has expired. Ask its issuer for a new one",
    });
    expect((await failureOf({ ...below(proof), lifetimeSeconds: 60 })).code).toBe("expired");
  });

  test("that has been revoked, or by a signer that has", async () => {
    const { token: proof, id } = await mint(root, rules);
    for (const revoked of [id, owner.did]) {
      const error = await failureOf(below(proof), { revocations: { has: (name) => name === revoked } });
      expect(error.message).toMatch(/^Proof 1 cannot be used: it has been revoked/);
    }
    const error = await failureOf(root, { revocations: { has: (name) => name === owner.did } });
    expect(error).toMatchObject({ code: "revoked", message: expect.stringMatching(/Sign with another key$/) });
  });

  test("too many of them", async () => {
    const proof = await tokenOf(root);
    expect((await failureOf(below(...Array<string>(5).fill(proof)))).code).toBe("too_many_proofs");
    expect((await failureOf(below(...Array<string>(5).fill("none of them is read")))).code).toBe("too_many_proofs");
    expect(grantsFrom(await tokenOf(below(...Array<string>(4).fill(proof))), owner.did)).toEqual([READ_OUT]);
  });

  test("whose chain is as long as it may be", async () => {
    let token = await tokenOf(root);
    const pair = [lead, worker] as const;
    for (let length = 2; length <= 5; length++) {
      const [key, to] = length % 2 === 0 ? pair : ([worker, lead] as const);
      token = await tokenOf({ key, audience: to.did, capabilities: [READ_OUT], proofs: [token] });
    }
    expect(heldFrom(token, owner.did)[0]?.chain).toHaveLength(5);
    const error = await failureOf({ key: lead, audience: worker.did, capabilities: [READ_OUT], proofs: [token] });
    expect(error.code).toBe("too_deep");
    expect(error.message).toMatch(/^The token would break a limit \(too_deep\): at most .* chains of 5 tokens/);
  });
});

test("an error shows neither a token nor a key", async () => {
  const secret = owner.privateKey.export({ format: "jwk" }).d ?? "";
  const token = signed({ header: { alg: "EdDSA" }, payload: {} });
  const requests = [
    below(token),
    { ...root, audience: token },
    { ...root, capabilities: [{ with: token, can: secret }] },
  ];
  for (const request of requests) {
    const error = await failureOf(request);
    for (const shown of [error.message, String(error.stack), JSON.stringify(error)]) {
      expect(shown).not.toContain(token.slice(0, 20));
      expect(shown).not.toContain(secret);
    }
  }
});

describe("whatever is minted,", () => {
  const people: readonly SigningKey[] = [owner, lead, worker, helper];
  const words = fc.constantFrom("crud", "crud/*", "crud/read", "crud/write", "*");
  const place = fc.array(fc.constantFrom("docs", "out", "a"), { maxLength: 3 });
  const capability = fc.record({ with: place.map((path) => `file://${path.join("/")}`), can: words });
  const link = fc.record({
    to: fc.nat(3),
    capabilities: fc.array(capability, { minLength: 1, maxLength: 3 }),
    lifetimeSeconds: fc.integer({ min: 1, max: 50 }),
  });

  test("its verifier gives all of it to the owner's root, and none of it is anybody else's", async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(link, { minLength: 1, maxLength: 4 }), async (links) => {
        let [key, proofs]: [SigningKey, string[]] = [owner, []];
        for (const { to, capabilities, lifetimeSeconds } of links) {
          const audience = people[to] ?? owner;
          const minted = await mint(
            { key, audience: audience.did, capabilities, lifetimeSeconds, proofs },
            rules,
          ).catch((error: unknown) => error);
          if (typeof minted !== "object" || minted === null || !("token" in minted)) return;
          made++;
          const token = String(minted.token);
          expect(grantsFrom(token, owner.did)).toEqual(capabilities);
          expect(grantsFrom(token, signer(99).did)).toEqual([]);
          [key, proofs] = [audience, [token]];
        }
      }),
      { numRuns: 100 },
    );
    expect(made).toBeGreaterThan(10);
  });
});

const audience = "did:web:venue.example";
const request = { key: lead, audience, clock };

function verdictFor(token: string, venueDid = audience) {
  const shared = { ...rules, keys: createPublicKeys(), revocations: { has: () => false } };
  const verifier = createUcanVerifier({
    ...shared,
    semantics: FILE_SEMANTICS,
    canonicalDid: (did) => did,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
  });
  return verifyIdentityToken(token, { ...shared, venueDid, maxLifetimeSeconds: 3600, acceptUnbound: false, verifier });
}

describe("an identity token", () => {
  test("has the SDK's form, and lives for five minutes", () => {
    const [header, payload] = parts(mintIdentity(request));
    expect(header).toEqual({ alg: "EdDSA", typ: "JWT", kid: lead.multikey });
    expect(payload).toEqual({ sub: lead.did, iss: lead.did, iat: NOW, exp: NOW + 300, aud: audience });
    expect(Object.keys(payload)).toEqual(["sub", "iss", "iat", "exp", "aud"]);
  });

  test("says who its signer is, to the venue it is for", () => {
    const token = mintIdentity({ ...request, lifetimeSeconds: 3600 });
    expect(verdictFor(token)).toEqual({ did: lead.did });
    expect(verdictFor(token, "did:web:other.example")).toEqual({ refused: "wrong_audience" });
  });

  test("has whole seconds whatever the clock says", () => {
    const payload = parts(mintIdentity({ ...request, clock: { ...clock, nowMs: () => NOW * 1000 + 999 } }))[1];
    expect(payload).toMatchObject({ iat: NOW, exp: NOW + 300 });
  });

  test.each([0, -1, 0.5, Number.NaN, 1e12])("is not made for %d seconds", (lifetimeSeconds) => {
    expect(() => mintIdentity({ ...request, lifetimeSeconds })).toThrow(/^The lifetime is not a positive number/);
  });

  test.each(["", "venue.example", "did:key:z6Mk", "did:web:venue.example#key"])("is not made for %j", (wrong) => {
    expect(() => mintIdentity({ ...request, audience: wrong })).toThrow(/^The audience is not a DID/);
  });
});

// RFC 8032 §7.1, test 1.
const SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const MULTIKEY = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";

const seedOf = (text: string): Uint8Array => parseSeed(text) ?? new Uint8Array();

describe("the key of a seed", () => {
  test("has one DID, and signs as RFC 8032 says", () => {
    const key = signingKeyFromSeed(seedOf(SEED));
    expect(key).toMatchObject({ did: `did:key:${MULTIKEY}`, multikey: MULTIKEY });
    expect(Buffer.from(key.publicKey).toString("hex")).toBe(PUBLIC_KEY);
    expect(sign(null, Buffer.alloc(0), key.privateKey).toString("hex").slice(0, 32)).toBe(
      "e5564300c360ac729086e2cc806e828a",
    );
  });

  test("does not show the seed where it is printed", () => {
    const key = signingKeyFromSeed(seedOf(SEED));
    for (const shown of [inspect(key, { depth: 9, showHidden: true }), JSON.stringify(key)]) {
      expect(shown).not.toContain(SEED.slice(0, 8));
      expect(shown).not.toContain("PRIVATE KEY");
    }
  });

  test.each([0, 31, 33, 64])("is none for %i bytes", (length) => {
    expect(() => signingKeyFromSeed(new Uint8Array(length))).toThrow(
      `Cannot make a key: a seed has 32 bytes, not ${length}`,
    );
  });
});

test("a new seed is another one each time, and makes a key", () => {
  const [one, other] = [newSeed(), newSeed()];
  expect(one).toHaveLength(32);
  expect(Buffer.from(one).equals(other)).toBe(false);
  const { privateKey } = signingKeyFromSeed(one);
  const proof = sign(null, Buffer.from("x"), privateKey);
  expect(verify(null, Buffer.from("x"), createPublicKey(privateKey), proof)).toBe(true);
});

describe("the text of a seed", () => {
  test.each([SEED, SEED.toUpperCase()])("is %s", (text) => {
    expect(Buffer.from(seedOf(text)).toString("hex")).toBe(SEED);
  });

  test.each([
    "",
    SEED.slice(1),
    `${SEED}0`,
    `${SEED}\n`,
    ` ${SEED.slice(1)}`,
    SEED.replace("9", "g"),
    `0x${SEED.slice(2)}`,
  ])("is never %j", (text) => {
    expect(parseSeed(text)).toBeUndefined();
  });
});
