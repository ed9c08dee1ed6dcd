import { describe, expect, test } from "@jest/globals";
import { FILE_SEMANTICS } from "../../../src/authz/grant.js";
import { tokenCid } from "../../../src/ucan/token/id.js";
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
import { type Signer, signer } from "../tokens.js";
import { revoking, verifierBy } from "./judge.js";

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
