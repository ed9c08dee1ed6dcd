import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { covers, FILE_SEMANTICS, type Grant, parseGrant } from "../../../src/authz/grant.js";
import { tokenCid } from "../../../src/ucan/token/id.js";
import type { HeldGrant } from "../../../src/ucan/verify/proof.js";
import {
  badlySigned,
  can,
  chainOf,
  countingKeys,
  DOCS,
  gives,
  helper,
  last,
  lead,
  owner,
  stranger,
  summary,
  worker,
} from "../chains.js";
import { encode, NOW, type Signer, signed, signer } from "../tokens.js";
import { revoking, verifierBy } from "./judge.js";

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
      { numRuns: 150 },
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
      { numRuns: 150 },
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

type Rules = Parameters<typeof verifierBy>[0];

/** Reads and judges all tokens of a request. @returns of each what it comes to, and how many signatures were checked */
function judgeAll(tokens: readonly string[], rules: Rules = {}) {
  const keys = countingKeys();
  const read = verifierBy({ keys, ...rules }).read(tokens);
  const verdicts = read.map((token) => summary(token.verdict(owner.did)));
  return { verdicts, checks: keys.checks };
}

const gave = (count = 1) => ({ grants: Array(count).fill("crud on file://docs/"), reasons: [] });
const refusedFor = (...reasons: string[]) => ({ grants: [], reasons });
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Tokens of the owner for one of them, all different. */
const roots = (count: number, to: Signer = lead, from = 0) =>
  numbers(count).map((n) => gives(owner, to, { nnc: from + n }));

/** A token of exactly so many bytes. */
function sized(bytes: number): string {
  const build = (filling: number) => gives(owner, lead, {}, { claims: { x: "x".repeat(filling) } });
  const found = numbers(8)
    .map((more) => build(Math.floor(((bytes - build(0).length) * 3) / 4) - 4 + more))
    .find((token) => token.length === bytes);
  if (found === undefined) throw new Error(`No token has ${bytes} bytes`);
  return found;
}

describe("one token", () => {
  test("has at most 8192 bytes", () => {
    expect(judgeAll([sized(8192)])).toEqual({ verdicts: [gave()], checks: 1 });
    expect(judgeAll([`${sized(8192)}A`])).toEqual({ verdicts: [refusedFor("too_large")], checks: 0 });
    // Only this one is refused.
    expect(judgeAll([`${sized(8192)}A`, gives(owner, lead)]).verdicts).toEqual([refusedFor("too_large"), gave()]);
  });

  test("has at most 32 capabilities, in a list or a map", () => {
    const list = (count: number) => gives(owner, lead, { att: numbers(count).map(() => DOCS) });
    const map = (count: number) => {
      const abilities = Object.fromEntries(numbers(count).map((n) => [`crud/a${n}`, [{}]]));
      return gives(owner, lead, {}, { claims: { att: undefined, cap: { [DOCS.with]: abilities } } });
    };
    const odd = (count: number) => gives(owner, lead, {}, { claims: { att: undefined, cap: oddMap(count) } });
    expect(judgeAll([list(32)])).toEqual({ verdicts: [gave(32)], checks: 1 });
    expect(judgeAll([map(32)]).verdicts[0]?.grants).toHaveLength(32);
    expect(judgeAll([odd(32)]).verdicts).toEqual([gave(0)]);
    for (const token of [list(33), map(33), odd(33)]) {
      expect(judgeAll([token])).toEqual({ verdicts: [refusedFor("too_large")], checks: 0 });
      expect(judgeAll([gives(lead, worker, { prf: [token] })])).toEqual({
        verdicts: [refusedFor("too_large")],
        checks: 1,
      });
    }
  });

  test("has at most 4 proofs", () => {
    const token = (count: number) => gives(lead, worker, { prf: roots(count) });
    expect(judgeAll([token(4)]).verdicts).toEqual([gave()]);
    expect(judgeAll([token(5)])).toEqual({ verdicts: [refusedFor("too_many_proofs")], checks: 0 });
    // In a proof it is that proof's fault alone.
    const above = gives(worker, helper, { prf: [token(5), token(1)] });
    expect(judgeAll([above]).verdicts).toEqual([gave()]);
    expect(judgeAll([gives(worker, helper, { prf: [token(5)] })]).verdicts).toEqual([refusedFor("too_many_proofs")]);
  });

  test("names resources of at most 1024 bytes", () => {
    const named = (bytes: number) => gives(owner, lead, { att: [can("x".repeat(bytes - "file://".length))] });
    expect(judgeAll([named(1024)]).verdicts[0]?.grants).toHaveLength(1);
    expect(judgeAll([named(1025)]).verdicts).toEqual([gave(0)]);
  });
});

describe("a request", () => {
  test("has at most 8 tokens", () => {
    expect(judgeAll(roots(8))).toEqual({ verdicts: Array(8).fill(gave()), checks: 8 });
    expect(judgeAll(roots(9))).toEqual({ verdicts: Array(9).fill(refusedFor("too_large")), checks: 0 });
  });

  test("has at most 32768 bytes of tokens", () => {
    const most = [8192, 8192, 8192, 8192].map(sized);
    expect(judgeAll(most).verdicts).toEqual(Array(4).fill(gave()));
    expect(judgeAll([...most, "x"])).toEqual({ verdicts: Array(5).fill(refusedFor("too_large")), checks: 0 });
    const carries = verifierBy()
      .read([...most, "x"])
      .map(({ carriesCapabilities }) => carriesCapabilities);
    expect(carries).toEqual(Array(5).fill(true));
  });

  test("may repeat a token, which is judged once", () => {
    const [token = ""] = roots(1);
    expect(judgeAll([token, token, token])).toEqual({ verdicts: Array(3).fill(gave()), checks: 1 });
  });
});

describe("a chain", () => {
  const people = [owner, ...numbers(6).map((n) => signer(30 + n))];

  test("has at most 5 tokens one above the other", () => {
    const [five = ""] = chainOf(people.slice(0, 6));
    const [six = ""] = chainOf(people.slice(0, 7));
    expect(judgeAll([five])).toEqual({ verdicts: [gave()], checks: 5 });
    expect(judgeAll([six])).toEqual({ verdicts: [refusedFor("too_deep")], checks: 0 });
  });

  test("has at most 5 also where they are named by CID, and then the lower ones stand for themselves", () => {
    const tokens: string[] = [];
    for (let i = 0; i < 6; i++) {
      const prf = tokens.slice(0, 1).map(tokenCid);
      tokens.unshift(gives(people[i] ?? owner, people[i + 1] ?? owner, { prf }));
    }
    const { verdicts, checks } = judgeAll(tokens);
    expect(verdicts).toEqual([refusedFor("too_deep"), ...Array(5).fill(gave())]);
    expect(checks).toBe(5);
    const [top] = verifierBy().read(tokens);
    expect(top).toMatchObject({
      fault: "too_deep",
      id: expect.any(String),
      carriesCapabilities: true,
      own: [],
      proofs: [],
    });
    expect(top?.check()).toBe("too_deep");
    expect(top?.decoded).toBeUndefined();
  });

  test("is too deep by its longest way down, not by its shortest", () => {
    const tokens: string[] = [];
    for (let i = 0; i < 6; i++) {
      // Each names all below it.
      const prf = tokens.slice(0, 4).map(tokenCid);
      tokens.unshift(gives(people[i] ?? owner, people[i + 1] ?? owner, { prf }));
    }
    expect(judgeAll(tokens).verdicts[0]).toEqual(refusedFor("too_deep"));
  });

  /** A token with tokens named by CID below it, and these with others inside them: so many in all, all different. */
  const wide = (count: number) => {
    const middles = numbers(Math.ceil((count - 1) / 5)).map((n, _, { length }) =>
      gives(lead, worker, { prf: roots(Math.floor((count - 1 - length + n) / length), lead, n * 10), nnc: n }),
    );
    // Its grant is wider than that of any proof, so that all are looked at.
    return [gives(worker, helper, { att: [can("", "crud")], prf: middles.map(tokenCid) }), ...middles];
  };

  test("has at most 16 tokens", () => {
    const most = judgeAll(wide(16));
    expect(most.verdicts[0]).toEqual(refusedFor("widened_or_unrooted"));
    // Of 16 and 16, each middle one looks at the first of its proofs alone.
    expect(most.checks).toBe(1 + 3 + 3);
    const more = judgeAll(wide(17));
    expect(more.verdicts[0]).toEqual(refusedFor("too_many_proofs"));
    expect(more.verdicts.slice(1)).toEqual(Array(4).fill(gave()));
    expect(judgeAll([gives(owner, lead), ...wide(17)]).verdicts[0]).toEqual(gave());
  });

  test("and all others of its request have at most 32 tokens", () => {
    const withProofs = (count: number, n: number) => gives(lead, worker, { prf: roots(count, lead, n * 10), nnc: n });
    // 30 of them.
    const six = numbers(6).map((n) => withProofs(4, n));
    const [one = ""] = roots(1, lead, 1000);
    expect(judgeAll([...six, withProofs(1, 7)]).verdicts).toEqual(Array(7).fill(gave()));
    const last = judgeAll([...six, withProofs(1, 7), one]);
    expect(last.verdicts).toEqual([...Array(7).fill(gave()), refusedFor("too_many_proofs")]);
    expect(last.checks).toBe(6 * 2 + 2);
    // One that is refused uses nothing up.
    const refused = judgeAll([...six, withProofs(2, 7), one]).verdicts;
    expect(refused).toEqual([...Array(6).fill(gave()), refusedFor("too_many_proofs"), gave()]);
    // One that is below another is counted already.
    const [below = ""] = roots(1, lead, 50);
    expect(judgeAll([...six, withProofs(1, 7), below]).verdicts).toEqual(Array(8).fill(gave()));
  });

  test("costs at most 32 signature checks, whatever is in it", () => {
    const worst = numbers(8).map((n) => {
      const prf = numbers(3).map((m) => gives(signer(100 + n * 3 + m), signer(200 + n), { nnc: n }));
      return gives(signer(200 + n), helper, { prf });
    });
    expect(judgeAll(worst).checks).toBe(32);
    expect(judgeAll(worst.map(badlySigned)).checks).toBe(8);
  });
});

describe("proofs that share proofs", () => {
  /** Four levels of two, each of which names both below it, and one on top. */
  const lattice = (att: readonly unknown[]) => {
    const levels: string[][] = [];
    for (const [by, to] of [
      [owner, lead],
      [lead, worker],
      [worker, helper],
    ] as const) {
      const prf = (levels[0] ?? []).map(tokenCid);
      levels.unshift([gives(by, to, { prf, att, nnc: 1 }), gives(by, to, { prf, att, nnc: 2 })]);
    }
    const prf = (levels[0] ?? []).map(tokenCid);
    return [gives(helper, last, { prf, att: [...att, can("other/")] }), ...levels.flat()];
  };

  test("are each checked once", () => {
    const { verdicts, checks } = judgeAll(lattice([DOCS]));
    expect(verdicts[0]).toEqual({ ...gave(), reasons: ["widened_or_unrooted"] });
    expect(checks).toBe(7);
  });

  test("have each fault once", () => {
    const { verdicts } = judgeAll(lattice([DOCS]), { revocations: revoking(owner.did) });
    expect(verdicts[0]).toEqual(refusedFor("revoked", "revoked"));
  });

  test("are compared with what is above them a bounded number of times", () => {
    let compared = 0;
    const semantics: typeof FILE_SEMANTICS = {
      parse: FILE_SEMANTICS.parse,
      covers(wide, narrow) {
        compared++;
        return FILE_SEMANTICS.covers(wide, narrow);
      },
    };
    judgeAll(lattice(numbers(31).map((n) => can(`docs/${n}`))), { semantics });
    // Of 7 tokens each entry is held against those of at most 2 proofs.
    expect(compared).toBeLessThanOrEqual(7 * 32 * 2 * 32);
    compared = 0;
    const att = numbers(8).map((n) => can(`docs/${n}`));
    expect(judgeAll(chainOf([owner, lead, worker, helper, last], att).slice(0, 1), { semantics }).checks).toBe(4);
    expect(compared).toBeLessThanOrEqual(4 * 8 * 8);
  });
});

describe("a signature is checked", () => {
  const top = (prf: readonly string[], given = {}) => gives(lead, worker, { prf, ...given });
  const [first = "", second = ""] = roots(2);
  const rows: readonly [string, number, readonly string[], Rules?][] = [
    ["not while tokens cannot be read", 0, ["x", gives(owner, lead, {}, { claims: { ucv: "9" } })]],
    ["not of a revoked token", 0, [top([first])], { revocations: revoking(lead.did) }],
    ["not of one that is over", 0, [gives(owner, lead, { for: -31 })]],
    ["not of one that lives too long", 0, [gives(owner, lead, { for: 31_622_431 })]],
    ["not of a proof for another", 1, [top([gives(owner, stranger)])]],
    ["of a proof that is outlived", 2, [top([first], { for: 3601 })]],
    ["not of proofs of a badly signed token", 1, [badlySigned(top([first]))]],
    ["not of proofs of the owner's token", 1, [gives(owner, lead, { prf: [gives(stranger, owner)] })]],
    ["not of proofs of a token that lists nothing", 1, [top([first], { att: [] })]],
    ["not of a second proof where the first covers all", 2, [top([first, second])]],
    ["once of a proof of two tokens", 3, [top([first]), top([first], { nnc: 1 })]],
    ["once of a proof that came along, too", 2, [top([tokenCid(first)]), first]],
    ["once of a proof inside one and beside it", 2, [top([first]), first]],
  ];
  test.each(rows)("%s: %i", (_what, checks, tokens, rules = {}) => {
    expect(judgeAll(tokens, rules).checks).toBe(checks);
  });

  test("not before somebody asks, and once for all who ask", () => {
    const keys = countingKeys();
    const [token] = verifierBy({ keys }).read([top([first])]);
    expect(token?.own).toHaveLength(1);
    expect(keys.checks).toBe(0);
    expect(token?.check()).toBeUndefined();
    expect(keys.checks).toBe(1);
    for (const root of [owner, stranger, owner, lead]) token?.verdict(root.did);
    expect(token?.check()).toBeUndefined();
    expect(keys.checks).toBe(2);
  });
});

/** Counted, though none of it grants anything. */
const oddMap = (count: number) => Object.fromEntries(numbers(count).map((n) => [`my:${n}`, n]));

const PEOPLE = [owner, lead, worker, helper, stranger];

/** A delegation, as a person would write it down. */
interface Deed {
  readonly by: Signer;
  readonly to: Signer;
  /** `path ability`. */
  readonly grants: readonly string[];
  readonly end: number;
  readonly begin: number;
  readonly isForged: boolean;
  readonly rests: readonly { readonly on: Deed; readonly byCid: boolean }[];
  readonly token: string;
}

const path = fc.constantFrom("docs", "docs/a", "docs/a/b", "docs/ab", "other", "");
const ability = fc.constantFrom("crud", "crud/read", "crud/write", "*");
const grant = fc.tuple(path, ability).map(([where, what]) => `${where} ${what}`);
const rarely = fc.nat(11).map((n) => n === 0);
const often = fc.nat(3).map((n) => n > 0);

interface Rest {
  readonly on: number;
  readonly byCid: boolean;
  readonly isLast: boolean;
}

const rest: fc.Arbitrary<Rest> = fc.record({ on: fc.nat(), byCid: fc.boolean(), isLast: often });

/** How one deed is made, numbers being counted in the deeds made before. */
const plan = fc.record({
  rests: fc.oneof(
    { weight: 1, arbitrary: fc.constant<Rest[]>([]) },
    { weight: 6, arbitrary: fc.array(rest, { minLength: 1, maxLength: 3 }) },
  ),
  isStray: rarely,
  by: fc.constantFrom(...PEOPLE),
  to: fc.constantFrom(...PEOPLE),
  grants: fc.array(grant, { minLength: 1, maxLength: 3 }),
  isCopied: often,
  end: fc.constantFrom(-100, 1000, 1000, 1000, 1000, 2000),
  isLate: rarely,
  isForged: rarely,
});

type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

function write(plans: readonly Plan[]): Deed[] {
  const deeds: Deed[] = [];
  for (const { rests: wanted, isStray, isCopied, isLate, ...rest } of plans) {
    // Mostly on the last ones, so that chains become long.
    const rests = wanted.flatMap(({ on, byCid, isLast }) => {
      const deed = deeds.at(isLast ? -1 : on % Math.max(deeds.length, 1));
      return deed === undefined ? [] : [{ on: deed, byCid }];
    });
    const below = rests[0]?.on;
    const by = isStray ? rest.by : (below?.to ?? owner);
    const grants = isCopied && below !== undefined ? below.grants : rest.grants;
    const end = rest.end < 0 && rest.to !== stranger ? 1000 : rest.end;
    const begin = isLate ? 500 : -500;
    const att = grants.map((text) => {
      const [where, can] = text.split(" ");
      return { with: `file://${where}`, can };
    });
    const prf = rests.map(({ on, byCid }) => (byCid ? tokenCid(on.token) : on.token));
    const claims = { nbf: NOW + begin, fct: [{ n: deeds.length }] };
    const token = gives(by, rest.to, { att, prf, for: end }, { claims });
    deeds.push({ ...rest, by, grants, end, begin, rests, token: rest.isForged ? badlySigned(token) : token });
  }
  return deeds;
}

/** What a deed gives by the rules as they are written, at once and without regard to cost. */
function reference(deed: Deed, sent: ReadonlySet<Deed>, root: Signer): readonly string[] {
  const rests = restsOf(deed, sent);
  if (deed.token.length > 8192 || deed.isForged || deed.end <= -30 || deed.begin > 30) return [];
  if (deed.by === root) return deed.grants;
  return deed.grants.filter((grant) =>
    rests.some((proof) => proof.to === deed.by && reference(proof, sent, root).some((wide) => isWithin(grant, wide))),
  );
}

/** The proofs that can be found. */
const restsOf = (deed: Deed, sent: ReadonlySet<Deed>): Deed[] =>
  deed.rests.filter(({ on, byCid }) => !byCid || (sent.has(on) && on.token.length <= 8192)).map(({ on }) => on);

const depthOf = (deed: Deed, sent: ReadonlySet<Deed>): number =>
  1 + Math.max(0, ...restsOf(deed, sent).map((below) => depthOf(below, sent)));

function isWithin(grant: string, wide: string): boolean {
  const [where = "", what = ""] = grant.split(" ");
  const [wideWhere = "", wideWhat = ""] = wide.split(" ");
  const isBelow = wideWhere === "" || `${where}/`.startsWith(`${wideWhere}/`);
  return isBelow && (wideWhat === "*" || `${what}/`.startsWith(`${wideWhat}/`));
}

const isNever = (deed: Deed, sent: ReadonlySet<Deed>): boolean => depthOf(deed, sent) > 5 || deed.token.length > 8192;

test("what random delegations give is what the rules say", () => {
  const depths: number[] = [];
  const scenario = fc.record({ plans: fc.array(plan, { minLength: 3, maxLength: 9 }), order: fc.array(fc.nat()) });
  fc.assert(
    fc.property(scenario, ({ plans, order }) => {
      const deeds = write(plans);
      const shuffled = deeds.map((deed, n) => ({ deed, by: order[n] ?? 0 })).sort((a, b) => a.by - b.by);
      const sent = new Set(shuffled.map(({ deed }) => deed).slice(0, 8));
      fc.pre([...sent].reduce((sum, { token }) => sum + token.length, 0) <= 32_768);
      const read = verifierBy().read([...sent].map(({ token }) => token));
      for (const [n, deed] of [...sent].entries()) {
        for (const root of [owner, lead]) {
          const given = read[n]?.verdict(root.did).grants ?? [];
          const expected = isNever(deed, sent) ? [] : reference(deed, sent, root);
          expect(given.map(({ grant: { written } }) => `${written.with.slice(7)} ${written.can}`)).toEqual(expected);
          for (const { chain, expiresAt } of given) {
            expect(chain.at(-1)?.issuer).toBe(root.did);
            expect(expiresAt).toBeLessThanOrEqual(NOW + deed.end);
            expect(expiresAt).toBeGreaterThan(NOW - 30);
            depths.push(chain.length);
          }
        }
      }
    }),
    { numRuns: 150 },
  );
  // Else it was all about single tokens, or about nothing.
  const counts = [1, 2, 3].map((depth) => depths.filter((one) => one === depth).length);
  expect(Math.min(...counts)).toBeGreaterThan(0);
});
