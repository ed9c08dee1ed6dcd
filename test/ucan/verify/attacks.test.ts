import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { covers, type Grant, parseGrant } from "../../../src/authz/grant.js";
import { tokenCid } from "../../../src/ucan/token/id.js";
import type { HeldGrant } from "../../../src/ucan/verify/proof.js";
import { badlySigned, can, gives, helper, lead, owner, stranger, worker } from "../chains.js";
import { encode, NOW, type Signer, signed } from "../tokens.js";
import { verifierBy } from "./judge.js";

const ROOT = gives(owner, lead, { att: [can("docs/", "crud")], for: 4000 });
const MIDDLE = gives(lead, worker, { att: [can("docs/reports/")], prf: [ROOT] });
const TOP = gives(worker, helper, { att: [can("docs/reports/q1/")], prf: [MIDDLE], for: 3000 });
const OTHER = gives(owner, stranger, { att: [can("public/")] });
/** The same by CID. */
const NAMING = gives(lead, worker, { att: [can("docs/reports/")], prf: [tokenCid(ROOT)] });
const NAMING_TOP = gives(worker, helper, { att: [can("docs/reports/q1/")], prf: [tokenCid(NAMING)], for: 3000 });
const ORIGINALS = [ROOT, MIDDLE, TOP, OTHER, NAMING, NAMING_TOP];

const everybody = [owner, lead, worker, helper, stranger];

/** Used for all, so that what is kept of one request would show in another. */
const verifier = verifierBy();

/** What each token of a request gives, when each of all people is the owner. */
function heldBy(tokens: readonly string[]): Map<string, readonly HeldGrant<Grant>[]> {
  const read = verifier.read(tokens);
  return new Map(read.map((token) => [token.text, everybody.flatMap(({ did }) => token.verdict(did).grants)]));
}

const written = (held: readonly HeldGrant<Grant>[] = []) => held.map(({ grant }) => JSON.stringify(grant.written));

describe("a token that was changed by somebody without its key", () => {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\u0000é"];
  const at = fc.nat(10_000);
  const letter = fc.constantFrom(...letters);
  const changes: fc.Arbitrary<(token: string) => string>[] = [
    fc.tuple(at, letter).map(
      ([n, l]) =>
        (t) =>
          t.slice(0, n % t.length) + l + t.slice((n % t.length) + 1),
    ),
    fc.tuple(at, letter).map(
      ([n, l]) =>
        (t) =>
          t.slice(0, n % t.length) + l + t.slice(n % t.length),
    ),
    at.map((n) => (t) => t.slice(0, n % t.length) + t.slice((n % t.length) + 1)),
    at.map((n) => (t) => t.slice(0, n % t.length)),
    fc.constantFrom("=", "==", ".", ".AA", " ", "\n").map((end) => (t) => t + end),
    fc.constantFrom(...ORIGINALS).map((other) => (t) => withPart(t, 0, part(other, 0))),
    fc.constantFrom(...ORIGINALS).map((other) => (t) => withPart(t, 1, part(other, 1))),
    fc.constantFrom(...ORIGINALS).map((other) => (t) => withPart(t, 2, part(other, 2))),
    fc.tuple(fc.nat(63), fc.nat(7)).map(
      ([byte, bit]) =>
        (t) =>
          withPart(t, 2, flipped(part(t, 2), byte, bit)),
    ),
    fc.tuple(fc.nat(2000), fc.nat(7)).map(
      ([byte, bit]) =>
        (t) =>
          withPart(t, 1, flipped(part(t, 1), byte, bit)),
    ),
    memberChange(0, {
      alg: ["none", "HS256", "eddsa"],
      kid: [stranger.multikey, undefined],
      typ: ["at+jwt"],
      ucv: ["0.8.1"],
    }),
    memberChange(1, {
      iss: [owner.did, stranger.did, worker.did],
      aud: [stranger.did, owner.did, undefined],
      exp: [NOW + 9000, null, 1e15, undefined],
      nbf: [0, NOW - 100],
      att: [[can("", "*")], [can("docs/", "*")], [can("docs/reports/")]],
      cap: [{ "file://": { "*": [{}] } }],
      prf: [[], [ROOT], [ROOT, MIDDLE], [MIDDLE, MIDDLE], [tokenCid(ROOT)], [tokenCid(OTHER), ROOT]],
      ucv: ["0.10.1", undefined],
      sub: [worker.did],
      fct: [[{}]],
    }),
  ];

  test("gives nothing to anybody, and nothing more to those who rest on it", () => {
    const attack = fc.tuple(
      fc.constantFrom(...ORIGINALS),
      fc.array(fc.oneof(...changes), { minLength: 1, maxLength: 3 }),
    );
    const before = heldBy(ORIGINALS);
    fc.assert(
      fc.property(attack, ([original, mutations]) => {
        const changed = mutations.reduce((token, change) => change(token), original);
        fc.pre(!ORIGINALS.includes(changed));
        const after = heldBy([changed, ...ORIGINALS]);
        expect(after.get(changed)).toEqual([]);
        for (const token of ORIGINALS) expect(after.get(token)).toEqual(before.get(token));
        const without = heldBy([changed, ...ORIGINALS.filter((token) => token !== original)]);
        expect(without.get(changed)).toEqual([]);
        for (const [token, held] of without) {
          expect(written(before.get(token))).toEqual(expect.arrayContaining(written(held)));
        }
      }),
      { numRuns: 300 },
    );
  });

  test("leaves to the others what they have alone, whatever comes along and in whatever order", () => {
    const before = heldBy(ORIGINALS);
    const some = fc.shuffledSubarray([...ORIGINALS, ...ORIGINALS.map(badlySigned)], { maxLength: 8 });
    fc.assert(
      fc.property(some, (tokens) => {
        for (const [token, held] of heldBy(tokens)) {
          expect(written(before.get(token))).toEqual(expect.arrayContaining(written(held)));
          const rests = [NAMING, NAMING_TOP].includes(token);
          if (!rests && ORIGINALS.includes(token)) expect(held).toEqual(before.get(token));
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("those who hold a grant, and everybody's tokens", () => {
  /** What the worker, the helper and the stranger have together, and until when. */
  const theirs = [
    { grant: parse(can("docs/reports/")), until: NOW + 3600 },
    { grant: parse(can("public/")), until: NOW + 3600 },
  ];
  const anybody = fc.constantFrom(...everybody);
  const resource = fc.constantFrom(
    "",
    "docs",
    "docs/",
    "docs/reports/",
    "docs/reports/q1/x",
    "docs/reports-2/",
    "public/",
    "other/",
  );
  const ability = fc.constantFrom("*", "crud", "crud/*", "crud/read", "crud/write", "crud/read/x", "CRUD/READ");
  const capability = fc.tuple(resource, ability).map(([path, what]) => can(path, what));
  const ends = fc.constantFrom(10, 3000, 3600, 3601, 4000, 8000);
  const known = fc.constantFrom(...ORIGINALS);
  const holding = fc.constantFrom<[Signer, string]>([worker, MIDDLE], [helper, TOP], [stranger, OTHER]);
  const step = fc.record({
    holder: holding,
    // Mostly in its own name.
    issuer: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: anybody }),
    to: anybody,
    att: fc.array(capability, { minLength: 1, maxLength: 3 }),
    ends,
    others: fc.array(fc.oneof(known, fc.nat(5)), { maxLength: 3 }),
    // Whether one's own grant stands before the others or behind.
    isFirst: fc.boolean(),
    byCid: fc.boolean(),
    asMap: fc.boolean(),
  });

  test("can pass on less, and never more, nor longer", () => {
    let given = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
        const made: string[] = [];
        for (const { holder, others, isFirst, byCid, ...rest } of steps) {
          const [by, own] = holder;
          const texts = others.map((proof) => (typeof proof === "string" ? proof : (made[proof] ?? own)));
          const prf = isFirst ? [own, ...texts] : [...texts, own];
          made.push(craft({ ...rest, by, prf: prf.map((text) => (byCid ? tokenCid(text) : text)) }));
        }
        const read = verifier.read([...made, MIDDLE, TOP, OTHER]);
        for (const token of read.slice(0, made.length)) {
          for (const { grant, expiresAt } of token.verdict(owner.did).grants) {
            const from = theirs.filter((held) => covers(held.grant, grant) && (expiresAt ?? Number.NaN) <= held.until);
            expect({ grant: grant.written, expiresAt, isTheirs: from.length > 0 }).toMatchObject({ isTheirs: true });
            given++;
          }
        }
      }),
      { numRuns: 300 },
    );
    // Else nothing was shown.
    expect(given).toBeGreaterThan(0);
  });
});

interface Crafted {
  readonly by: Signer;
  /** In whose name. Absent: its own. */
  readonly issuer: Signer | undefined;
  readonly to: Signer;
  readonly att: readonly { readonly with: string; readonly can: string }[];
  readonly ends: number;
  readonly prf: readonly string[];
  readonly asMap: boolean;
}

/** A token signed with the key that somebody has, whatever it says. */
function craft({ by, issuer = by, to, att, ends, prf, asMap }: Crafted): string {
  const cap = Object.fromEntries(att.map((entry) => [entry.with, { [entry.can]: [{}] }]));
  const list = asMap ? { cap } : { att };
  const payload = { iss: issuer.did, aud: to.did, ucv: "0.10.0", ...list, prf, exp: NOW + ends };
  return signed({ header: { alg: "EdDSA", typ: "JWT" }, payload }, by.privateKey);
}

function parse(capability: unknown): Grant {
  const grant = parseGrant(capability);
  if (grant === undefined) throw new Error("No grant");
  return grant;
}

const part = (token: string, index: number): string => token.split(".")[index] ?? "";
const withPart = (token: string, index: number, text: string): string =>
  token.split(".").toSpliced(index, 1, text).join(".");

function flipped(text: string, byte: number, bit: number): string {
  const bytes = Buffer.from(text, "base64url");
  const index = byte % Math.max(bytes.length, 1);
  bytes[index] = (bytes[index] ?? 0) ^ (1 << bit);
  return bytes.toString("base64url");
}

/** Sets, or takes away, one member of header or payload to one of some values. */
function memberChange(index: number, values: Readonly<Record<string, readonly unknown[]>>) {
  const choices = Object.entries(values).flatMap(([name, all]) => all.map((value): [string, unknown] => [name, value]));
  return fc.constantFrom(...choices).map(([name, value]) => (token: string) => {
    try {
      const object: unknown = JSON.parse(Buffer.from(part(token, index), "base64url").toString());
      return withPart(token, index, encode({ ...(object as object), [name]: value }));
    } catch {
      // An earlier change left nothing to read.
      return `${token}!`;
    }
  });
}
