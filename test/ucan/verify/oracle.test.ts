import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { FILE_SEMANTICS } from "../../../src/authz/grant.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { type MintRequest, mint } from "../../../src/ucan/mint/mint.js";
import { parseSeed, signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { mintUcan08 } from "../../../src/ucan/mint/ucan08.js";
import { verifyIdentityToken } from "../../../src/ucan/token/identity-token.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../../src/ucan/verify/verifier.js";
import { ALL_DOCS, helper, lead, owner, parts, READ_DOCS, READ_OUT, worker } from "../mint/fixture.js";
import { encode, signed } from "../tokens.js";
import {
  askLibrary,
  askUs,
  HOUR,
  isSignedBy,
  libraryTakes,
  libraryToken,
  libraryWith,
  NOW,
  type Question,
  rules,
  WHOLE,
} from "./oracle-fixture.js";

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

const HEADER = { alg: "EdDSA", typ: "JWT", ucv: "0.8.1" };
const CLAIMS = { iss: owner.did, aud: lead.did, exp: HOUR, att: [READ_DOCS], prf: [] };
/** Order of the group of Ed25519. */
const GROUP_ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;

/** The owner's token for the lead, with changes. */
const token = ({ header = {}, claims = {} } = {}): string =>
  signed({ header: { ...HEADER, ...header }, payload: { ...CLAIMS, ...claims } }, owner.privateKey);
/** The lead's for the worker, on the strength of the owner's. */
const below = (claims: object, prf: readonly string[] = [token()]): string =>
  signed(
    { header: HEADER, payload: { iss: lead.did, aud: worker.did, exp: HOUR, att: [READ_OUT], prf, ...claims } },
    lead.privateKey,
  );
const ofText = (payload: string): string => signed({ header: HEADER, payload }, owner.privateKey);

function withOtherScalar(text: string): string {
  const [header, payload, signature = ""] = text.split(".");
  const bytes = Buffer.from(signature, "base64url");
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString("hex")}`) + GROUP_ORDER;
  const reversed = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
  return `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), reversed]).toString("base64url")}`;
}

const read = (needs: Capability, audience = lead.did): Question => ({ audience, root: owner.did, needs });
const toWorker = (needs: Capability): Question => read(needs, worker.did);

describe("the library takes, and we refuse:", () => {
  test.each<[string, Question, () => string, readonly string[]]>([
    [
      "'my:*' with 'crud/read', to delete",
      read(DELETE_DOCS),
      () => token({ claims: { att: [{ with: "my:*", can: "crud/read" }] } }),
      [],
    ],
    [
      "'prf:0' with 'crud/read', to delete",
      toWorker(DELETE_DOCS),
      () => below({ att: [{ with: "prf:0", can: "crud/read" }] }, [token({ claims: { att: [ALL_DOCS] } })]),
      [],
    ],
    [
      "'prf:0', where that proof is bad and the next one is not",
      toWorker(READ_DOCS),
      () => below({ att: [{ with: "prf:0", can: "ucan/DELEGATE" }] }, ["a.b.c", token()]),
      [],
    ],
    [
      "fields of version 0.3, to delete",
      read(DELETE_DOCS),
      () =>
        signed(
          {
            header: { alg: "EdDSA", typ: "JWT", uav: "1.0.0" },
            payload: { iss: owner.did, aud: lead.did, exp: HOUR, rsc: "x", ptc: "APPEND" },
          },
          owner.privateKey,
        ),
      ["malformed"],
    ],
    ["an end in milliseconds", read(READ_DOCS), () => token({ claims: { exp: HOUR * 1000 } }), ["bad_exp"]],
    [
      "an end at infinity",
      read(READ_DOCS),
      () => ofText(JSON.stringify(CLAIMS).replace(`"exp":${HOUR}`, '"exp":1e999')),
      ["bad_exp"],
    ],
    [
      "an end in a thousand years",
      read(READ_DOCS),
      () => token({ claims: { exp: NOW + 31_536_000_000 } }),
      ["bad_exp"],
    ],
    ["caveats", read(READ_DOCS), () => token({ claims: { att: [{ ...READ_DOCS, nb: { day: "monday" } }] } }), []],
    ["version 99", read(READ_DOCS), () => token({ header: { ucv: "99.0.0" } }), ["bad_version"]],
    [
      "a member twice",
      read(READ_DOCS),
      () => ofText(JSON.stringify(CLAIMS).replace("{", `{"aud":"${worker.did}",`)),
      ["malformed"],
    ],
    [
      "an unknown header that would change the signature",
      read(READ_DOCS),
      () => token({ header: { crit: ["x"] } }),
      ["bad_header"],
    ],
  ])("%s", async (_what, question, make, reasons) => {
    const text = make();
    expect(await libraryTakes(question, text)).toBe(true);
    expect(askUs(text, owner.did)).toEqual({ grants: [], reasons });
  });
});

describe("the library takes more than one text of a token, and we refuse all but one:", () => {
  test.each<[string, (text: string) => string, string]>([
    ["a signature with S + L", withOtherScalar, "bad_signature"],
    ["a fourth part", (text) => `${text}.${encode({})}`, "malformed"],
    ["padding", (text) => `${text}==`, "malformed"],
  ])("%s", async (_what, change, reason) => {
    const text = change(token());
    expect(await libraryTakes(read(READ_DOCS), text, WHOLE)).toBe(true);
    expect(askUs(text, owner.did)).toEqual({ grants: [], reasons: [reason] });
  });
});

describe("we take, and the library refuses:", () => {
  test("a parent that began before its child ends", async () => {
    const parent = await libraryToken({ by: owner, to: lead.did, att: [READ_DOCS], nbf: NOW - 60 });
    expect(await libraryTakes(read(READ_DOCS), parent)).toBe(true);
    const child = below({}, [parent]);
    expect(await libraryTakes(toWorker(READ_OUT), child)).toBe(false);
    expect(askUs(child, owner.did).grants).toHaveLength(1);
  });

  test("tokens of Covia, whose version is in the payload", async () => {
    const text = token({ header: { ucv: undefined }, claims: { ucv: "0.10.0" } });
    const answer = await askLibrary(read(READ_DOCS), text);
    expect(answer.ok ? [] : answer.error.map(({ message }) => message)).toEqual([
      expect.stringContaining("Missing version indicator"),
    ]);
    expect(askUs(text, owner.did).grants).toHaveLength(1);
  });
});

describe("an error of the library", () => {
  test("holds the whole token", async () => {
    const text = token({ claims: { exp: NOW - 60 } });
    const answer = await askLibrary(read(READ_DOCS), text);
    expect(answer.ok ? "" : answer.error[0]?.message).toContain(text);
  });

  test("is none at all where nothing covers what is needed", async () => {
    expect(await askLibrary(read(DELETE_DOCS), token())).toEqual({ ok: false, error: [] });
  });
});

test("of a chain whose tokens hold the same few capabilities, the library checks signatures by their power, we once", async () => {
  const [width, depth] = [3, 5];
  const att = Array<Capability>(width).fill(READ_DOCS);
  let text = "";
  for (let i = 0; i < depth; i++) {
    const [by, to] = i % 2 === 0 ? [owner, lead] : [lead, owner];
    text = await libraryToken({ by, to: to.did, att, prf: text === "" ? [] : [text], quick: true });
  }
  let theirs = 0;
  const counting = libraryWith((...signed) => {
    theirs++;
    return isSignedBy(...signed);
  });
  expect((await askLibrary(read(DELETE_DOCS), text, counting)).ok).toBe(false);
  let ours = 0;
  const keys = createPublicKeys();
  askUs(text, worker.did, {
    of(did) {
      ours++;
      return keys.of(did);
    },
  });
  // 1 + 1 + 3 + 9 + 27: each capability of a token looks anew at all that is below it.
  expect(theirs).toBe(41);
  expect(ours).toBe(depth);
});

interface Chain {
  readonly name: string;
  readonly owner: string;
  readonly rules: { readonly allowNoExpiry?: boolean; readonly acceptUnversionedCovia?: boolean };
  readonly tokens: readonly string[];
  readonly grants: readonly Capability[];
  readonly chain: readonly string[];
  readonly reasons: readonly string[];
}

interface Identity {
  readonly name: string;
  readonly token: string;
  readonly acceptUnbound?: boolean;
  readonly did?: string;
  readonly refused?: string;
  readonly delegatedTo?: string;
}

interface Vectors {
  readonly now: number;
  readonly venue: { readonly did: string; readonly keyDid: string };
  readonly keys: Readonly<Record<string, { readonly seed: string; readonly did: string }>>;
  readonly valid: readonly Chain[];
  readonly invalid: readonly Chain[];
  readonly identities: readonly Identity[];
}

const folder = new URL("../../vectors/ucan/", import.meta.url);
const text = readFileSync(new URL("tokens.json", folder), "utf8");
const vectors = JSON.parse(text) as Vectors;
const { venue, keys } = vectors;

const clockAt = (seconds: number) => ({ nowMs: () => seconds * 1000, monotonicMs: () => 0 });

function makeVerifier(rules: Chain["rules"], seconds = vectors.now) {
  return createUcanVerifier({
    semantics: FILE_SEMANTICS,
    keys: createPublicKeys(),
    revocations: { has: () => false },
    canonicalDid: (did) => (did === venue.keyDid ? venue.did : did),
    clock: clockAt(seconds),
    clockSkewSeconds: 30,
    maxLifetimeSeconds: 31_622_400,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
    ...rules,
  });
}

/** What the first token gives with the others at hand. */
function judge({ tokens, rules }: Chain, owner: string, seconds?: number) {
  const [top] = makeVerifier(rules, seconds).read(tokens);
  const { grants, faults } = top?.verdict(owner) ?? { grants: [], faults: [] };
  return {
    grants: grants.map(({ grant }) => grant.written),
    chain: grants[0]?.chain.map(({ issuer }) => issuer) ?? [],
    reasons: [...new Set(faults.map(({ reason }) => reason))],
  };
}

const named = <T extends { readonly name: string }>(cases: readonly T[]) =>
  cases.map((entry): [string, T] => [entry.name, entry]);

describe("the golden tokens", () => {
  test("are those that their generator makes again", () => {
    const made = execFileSync(process.execPath, [fileURLToPath(new URL("make.mjs", folder)), "--print"], {
      encoding: "utf8",
      maxBuffer: 1_000_000,
    });
    expect(JSON.parse(made)).toEqual(vectors);
  });

  test("are signed with the keys that are named", () => {
    for (const { seed, did } of Object.values(keys)) {
      expect(signingKeyFromSeed(parseSeed(seed) ?? new Uint8Array()).did).toBe(did);
    }
  });

  test("have one name each", () => {
    const names = [...vectors.valid, ...vectors.invalid].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("gives what it says, by the chain that it says:", () => {
  test.each(named(vectors.valid))("%s", (_name, entry) => {
    const { grants, chain, reasons } = entry;
    expect(judge(entry, entry.owner)).toEqual({ grants, chain, reasons });
  });
});

describe("gives nothing to anybody else's root, and nothing once it is over:", () => {
  test.each(named(vectors.valid))("%s", (_name, entry) => {
    expect(judge(entry, keys["helper"]?.did ?? "").grants).toEqual([]);
    if (entry.rules.allowNoExpiry !== true) expect(judge(entry, entry.owner, vectors.now + 86_430).grants).toEqual([]);
  });
});

describe("gives nothing, for the reasons that it says:", () => {
  test.each(named(vectors.invalid))("%s", (_name, entry) => {
    expect(judge(entry, entry.owner)).toEqual({ grants: [], chain: [], reasons: entry.reasons });
  });
});

describe("needs what its rule allows:", () => {
  const needing = vectors.valid.filter(({ rules }) => Object.keys(rules).length > 0);
  const reasons = { allowNoExpiry: "no_exp", acceptUnversionedCovia: "bad_version" } as const;
  test.each(named(needing))("%s", (_name, entry) => {
    const rule = entry.rules.allowNoExpiry === true ? "allowNoExpiry" : "acceptUnversionedCovia";
    expect(judge({ ...entry, rules: {} }, entry.owner)).toEqual({ grants: [], chain: [], reasons: [reasons[rule]] });
  });
});

describe("says who somebody is, or not:", () => {
  test.each(named(vectors.identities))("%s", (_name, { token, acceptUnbound = false, ...expected }) => {
    const verdict = verifyIdentityToken(token, {
      venueDid: venue.did,
      maxLifetimeSeconds: 3600,
      acceptUnbound,
      keys: createPublicKeys(),
      revocations: { has: () => false },
      verifier: makeVerifier({}),
      clock: clockAt(vectors.now),
      clockSkewSeconds: 30,
    });
    const { name: _, ...outcome } = expected;
    expect(verdict).toMatchObject(outcome);
    expect("did" in verdict).toBe("did" in outcome);
  });
});
