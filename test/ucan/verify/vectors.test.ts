import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { FILE_SEMANTICS } from "../../../src/authz/grant.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { parseSeed, signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { verifyIdentityToken } from "../../../src/ucan/token/identity-token.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../../src/ucan/verify/verifier.js";

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
