import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { FILE_SEMANTICS } from "../../../src/authz/grant.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { type MintRequest, mint } from "../../../src/ucan/mint/mint.js";
import { mintUcan08 } from "../../../src/ucan/mint/ucan08.js";
import { ALL_DOCS, helper, lead, owner, parts, READ_DOCS, READ_OUT, worker } from "../mint/fixture.js";
import { signed } from "../tokens.js";
import { askLibrary, askUs, HOUR, libraryTakes, libraryToken, NOW, rules, WHOLE } from "./oracle-fixture.js";

const DELETE_DOCS: Capability = { with: "file://docs/", can: "crud/delete" };
const WRITE_OUT: Capability = { with: "file://docs/out/", can: "crud/write" };

/** Whether a token gives a capability by our rules. */
function weTake(token: string, root: string, needs: Capability): boolean {
  const need = FILE_SEMANTICS.parse(needs);
  return need !== undefined && askUs(token, root).grants.some((grant) => FILE_SEMANTICS.covers(grant, need));
}

async function mint08(request: Omit<MintRequest, "profile">): Promise<string> {
  return (await mint({ ...request, profile: "ucan-0.8" }, rules)).token;
}

interface Interchange {
  readonly token: string;
  readonly audience: string;
  readonly gives: readonly Capability[];
}

/** The same tokens, by whoever makes them. */
type Make = (from: typeof owner, to: typeof owner, att: readonly Capability[], prf?: string) => Promise<string>;

const MAKERS: readonly (readonly [string, Make])[] = [
  [
    "the library",
    (by, to, att, prf) =>
      libraryToken({ by, to: to.did, att, nonce: true, ...(prf === undefined ? {} : { prf: [prf] }) }),
  ],
  [
    "us",
    (key, to, capabilities, prf) =>
      mint08({ key, audience: to.did, capabilities, expiresAt: HOUR, ...(prf === undefined ? {} : { proofs: [prf] }) }),
  ],
];

const SHAPES: readonly (readonly [string, (make: Make) => Promise<Interchange>])[] = [
  [
    "one token",
    async (make) => ({ token: await make(owner, lead, [ALL_DOCS]), audience: lead.did, gives: [ALL_DOCS, READ_OUT] }),
  ],
  [
    "several capabilities",
    async (make) => ({
      token: await make(owner, lead, [READ_DOCS, WRITE_OUT]),
      audience: lead.did,
      gives: [READ_DOCS, READ_OUT, WRITE_OUT],
    }),
  ],
  [
    "every ability, on every root",
    async (make) => ({
      token: await make(owner, lead, [{ with: "file://", can: "*" }]),
      audience: lead.did,
      gives: [ALL_DOCS, DELETE_DOCS, { with: "file://", can: "*" }],
    }),
  ],
  [
    "an ability of one word, and one with a star",
    async (make) => ({
      token: await make(owner, lead, [
        { with: "file://a", can: "crud" },
        { with: "file://b/c.txt", can: "crud/*" },
      ]),
      audience: lead.did,
      gives: [
        { with: "file://a/x", can: "crud/write" },
        { with: "file://b/c.txt", can: "crud/delete" },
      ],
    }),
  ],
  [
    "a chain of three",
    async (make) => {
      const first = await make(owner, lead, [ALL_DOCS]);
      const second = await make(lead, worker, [READ_OUT, WRITE_OUT], first);
      return { token: await make(worker, helper, [WRITE_OUT], second), audience: helper.did, gives: [WRITE_OUT] };
    },
  ],
];

describe.each(MAKERS)("what was minted by %s, both take:", (_maker, make) => {
  test.each(SHAPES)("%s", async (_shape, build) => {
    const { token, audience, gives } = await build(make);
    expect(await askLibrary({ audience, root: owner.did, needs: gives }, token, WHOLE)).toMatchObject({ ok: true });
    for (const needs of gives) expect(weTake(token, owner.did, needs)).toBe(true);
    const [narrow] = gives;
    if (narrow === undefined) throw new Error("Gives nothing");
    expect(await libraryTakes({ audience: owner.did, root: owner.did, needs: narrow }, token)).toBe(false);
    expect(await libraryTakes({ audience, root: helper.did, needs: narrow }, token)).toBe(false);
    expect(weTake(token, helper.did, narrow)).toBe(false);
    const wider = { with: "other://docs/", can: "crud/read" };
    expect(await libraryTakes({ audience, root: owner.did, needs: wider }, token)).toBe(false);
  });
});

describe("with facts and a nonce,", () => {
  test("the library's tokens are taken by us", async () => {
    const facts = [{ reason: "release 7" }, { "venue-files": { for: worker.did } }];
    const token = await libraryToken({ by: owner, to: lead.did, att: [ALL_DOCS], facts, nonce: true });
    expect(parts(token)[1]).toMatchObject({ fct: facts, nnc: expect.any(String) });
    expect(weTake(token, owner.did, READ_DOCS)).toBe(true);
  });

  test("ours are taken by the library", async () => {
    const facts = [{ reason: "release 7" }];
    const token = await mint08({ key: owner, audience: lead.did, capabilities: [ALL_DOCS], facts });
    expect(parts(token)[1]["fct"]).toEqual(facts);
    expect(await libraryTakes({ audience: lead.did, root: owner.did, needs: READ_DOCS }, token)).toBe(true);
  });
});

test("on random chains of two, both say the same", async () => {
  const capability = fc.record({
    with: fc.array(fc.constantFrom("docs", "out"), { maxLength: 2 }).map((path) => `file://${path.join("/")}`),
    can: fc.constantFrom("*", "crud", "crud/*", "crud/read", "crud/write"),
  });
  const list = fc.array(capability, { minLength: 1, maxLength: 2 });
  const seen = new Set<boolean>();
  await fc.assert(
    fc.asyncProperty(list, list, capability, async (given, passedOn, needs) => {
      const proof = await libraryToken({ by: owner, to: lead.did, att: given, quick: true });
      const token = await libraryToken({ by: lead, to: worker.did, att: passedOn, prf: [proof], quick: true });
      const theirs = await libraryTakes({ audience: worker.did, root: owner.did, needs }, token);
      seen.add(theirs);
      expect(weTake(token, owner.did, needs)).toBe(theirs);
    }),
    { numRuns: 150 },
  );
  expect([...seen].sort()).toEqual([false, true]);
});

describe("a token of the profile ucan-0.8", () => {
  test("has its version in the header alone, and no beginning", async () => {
    const facts = [{ reason: "release 7" }];
    const token = await mint08({ key: owner, audience: lead.did, capabilities: [READ_DOCS], facts, expiresAt: HOUR });
    const [header, payload] = parts(token);
    expect(header).toEqual({ alg: "EdDSA", typ: "JWT", ucv: "0.8.1" });
    const nnc = expect.stringMatching(/^[0-9a-f]{24}$/);
    expect(payload).toEqual({ iss: owner.did, aud: lead.did, exp: HOUR, att: [READ_DOCS], prf: [], fct: facts, nnc });
  });

  test("without facts has none", async () => {
    const token = await mint08({ key: owner, audience: lead.did, capabilities: [READ_DOCS] });
    expect(Object.keys(parts(token)[1]).sort()).toEqual(["att", "aud", "exp", "iss", "nnc", "prf"]);
  });
});

describe("a proof that the library would not take is refused for ucan-0.8, and for it alone:", () => {
  const claims = { iss: owner.did, aud: lead.did, exp: HOUR, att: [READ_DOCS], prf: [] };
  const header = { alg: "EdDSA", typ: "JWT", ucv: "0.8.1" };
  const proof = (change: { header?: object; claims?: object } = {}): string =>
    signed({ header: { ...header, ...change.header }, payload: { ...claims, ...change.claims } }, owner.privateKey);
  const request = (token: string) => ({ key: lead, audience: worker.did, capabilities: [READ_OUT], proofs: [token] });
  /** The token that would have been made. */
  const forced = (token: string) => mintUcan08({ ...request(token), proofs: [token], expiresAt: HOUR - 60, facts: [] });
  const question = { audience: worker.did, root: owner.did, needs: READ_OUT };

  test("a good one is taken", async () => {
    expect(await libraryTakes(question, await mint08(request(proof())))).toBe(true);
    expect(await libraryTakes(question, await forced(proof()))).toBe(true);
    expect(await libraryTakes(question, await mint08(request(proof({ header: { ucv: "0.8.0" } }))))).toBe(true);
  });

  test.each<[string, { header?: object; claims?: object }, string]>([
    ["one of Covia", { header: { ucv: undefined }, claims: { ucv: "0.10.0" } }, "bad_version"],
    ["one of version 0.9", { header: { ucv: "0.9.1" } }, "bad_version"],
    ["one of a later 0.8", { header: { ucv: "0.8.2" } }, "bad_version"],
    ["one without typ", { header: { typ: undefined } }, "bad_version"],
    ["one without a list of proofs", { claims: { prf: undefined } }, "malformed"],
    ["one with an odd entry", { claims: { att: [READ_DOCS, { with: "x" }] } }, "malformed"],
    ["one whose nonce is a number", { claims: { nnc: 1 } }, "malformed"],
    ["one whose facts are a map", { claims: { fct: { a: 1 } } }, "malformed"],
    ["one whose beginning is past", { claims: { nbf: NOW - 60 } }, "bad_nbf"],
  ])("%s", async (_what, change, code) => {
    const bad = proof(change);
    await expect(mint08(request(bad))).rejects.toMatchObject({
      code,
      message: `Proof 1 cannot stand in a token of UCAN 0.8 (${code}). Mint with the profile 'covia', or ask its issuer for one of UCAN 0.8`,
    });
    expect(await libraryTakes(question, await forced(bad))).toBe(false);
    const { token } = await mint(request(bad), rules);
    expect(weTake(token, owner.did, READ_OUT)).toBe(true);
  });

  test("one that is further down", async () => {
    const covia = proof({ header: { ucv: undefined }, claims: { ucv: "0.10.0" } });
    const middle = await forced(covia);
    const last = { key: worker, audience: helper.did, capabilities: [READ_OUT], proofs: [middle] };
    await expect(mint08(last)).rejects.toMatchObject({ code: "bad_version" });
    expect(weTake((await mint(last, rules)).token, owner.did, READ_OUT)).toBe(true);
  });

  test("one that never ends", async () => {
    const bad = proof({ claims: { exp: null } });
    const allowing = { ...rules, allowNoExpiry: true };
    await expect(mint({ ...request(bad), profile: "ucan-0.8" }, allowing)).rejects.toMatchObject({ code: "bad_exp" });
    expect(await libraryTakes(question, await forced(bad))).toBe(false);
  });

  test("one that names the signer by another DID", async () => {
    const did = "did:web:lead.example";
    const bad = proof({ claims: { aud: did } });
    const canonical = { ...rules, canonicalDid: (name: string) => (name === lead.did ? did : name) };
    await expect(mint({ ...request(bad), profile: "ucan-0.8" }, canonical)).rejects.toMatchObject({
      code: "broken_chain",
    });
    expect(await libraryTakes(question, await forced(bad))).toBe(false);
  });
});
