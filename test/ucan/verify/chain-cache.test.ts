import { describe, expect, test } from "@jest/globals";
import type { TokenForm } from "../../../src/ucan/token/form.js";
import { type ChainCache, createChainCache } from "../../../src/ucan/verify/verifier.js";
import { badlySigned, countingKeys, gives, lead, owner, stranger, summary, worker } from "../chains.js";
import { NOW } from "../tokens.js";
import { verifierBy } from "./judge.js";

/** A clock that goes when it is told to; both of its times go together. */
function movingClock() {
  let ms = 0;
  return { nowMs: () => NOW * 1000 + ms, monotonicMs: () => ms, go: (by: number) => (ms += by) };
}

/** A verifier, its clock and keys, and what it thinks of one token. */
function court(rules: Parameters<typeof verifierBy>[0] = {}) {
  const clock = movingClock();
  const keys = countingKeys();
  const verifier = verifierBy({ clock, keys, ...rules });
  const judge = (token: string, root = owner.did) =>
    summary(verifier.read([token])[0]?.verdict(root) ?? { grants: [], faults: [] });
  return { clock, keys, judge };
}

const chain = gives(lead, worker, { prf: [gives(owner, lead, { for: 4000 })] });
const ALL = { grants: ["crud on file://docs/"], reasons: [] };

describe("a chain that was judged before", () => {
  test("is not checked again for a minute", () => {
    const { clock, keys, judge } = court();
    for (let i = 0; i < 3; i++) expect(judge(chain)).toEqual(ALL);
    clock.go(59_999);
    expect(judge(chain)).toEqual(ALL);
    expect(keys.checks).toBe(2);
    clock.go(1);
    expect(judge(chain)).toEqual(ALL);
    expect(keys.checks).toBe(4);
  });

  test("ends with the revocation of any of its links, and with nothing else", () => {
    const revoked = new Set<string>();
    const { keys, judge } = court({ revocations: revoked });
    expect(judge(chain)).toEqual(ALL);
    for (const name of [owner.did, lead.did]) {
      revoked.add(name);
      expect(judge(chain)).toEqual({ grants: [], reasons: ["revoked"] });
      revoked.delete(name);
      expect(judge(chain)).toEqual(ALL);
    }
    expect(keys.checks).toBe(2);
  });

  test("ends when it is over", () => {
    const { clock, judge } = court();
    clock.go(3_629_999);
    expect(judge(chain)).toEqual(ALL);
    clock.go(1);
    expect(judge(chain)).toEqual({ grants: [], reasons: ["expired"] });
  });

  test("is judged by the time at which its request was read", () => {
    const clock = movingClock();
    const [token] = verifierBy({ clock }).read([chain]);
    clock.go(10_000_000);
    expect(summary(token?.verdict(owner.did) ?? { grants: [], faults: [] })).toEqual(ALL);
  });

  test("begins when its time has come", () => {
    const later = gives(owner, lead, {}, { claims: { nbf: NOW + 31 } });
    const { clock, judge } = court();
    expect(judge(later)).toEqual({ grants: [], reasons: ["not_yet_valid"] });
    clock.go(1000);
    expect(judge(later)).toEqual(ALL);
  });

  test("gives what it gives for the owner that is asked for, each time", () => {
    const { judge } = court();
    for (let i = 0; i < 2; i++) {
      expect(judge(chain)).toEqual(ALL);
      expect(judge(chain, stranger.did)).toEqual({ grants: [], reasons: ["issuer_not_owner"] });
      expect(judge(chain, lead.did)).toEqual(ALL);
    }
  });

  test("whose lifetime was too long is taken when it is no longer", () => {
    const { clock, judge } = court({ maxLifetimeSeconds: 3000 });
    expect(judge(chain)).toEqual({ grants: [], reasons: ["bad_exp"] });
    clock.go(570_000);
    // The one below it ends later.
    expect(judge(chain)).toEqual({ grants: [], reasons: ["bad_exp"] });
    clock.go(400_000);
    expect(judge(chain)).toEqual(ALL);
  });
});

describe("a token with a bad signature", () => {
  test("is not checked again for ten seconds", () => {
    const { clock, keys, judge } = court();
    const bad = badlySigned(chain);
    for (let i = 0; i < 3; i++) expect(judge(bad)).toEqual({ grants: [], reasons: ["bad_signature"] });
    clock.go(9_999);
    judge(bad);
    expect(keys.checks).toBe(1);
    clock.go(1);
    judge(bad);
    expect(keys.checks).toBe(2);
  });
});

describe("what is kept", () => {
  const formOf = (text: string) => ({ text }) as TokenForm<never>;

  /** A cache of texts that are read as forms, or as nothing when they begin with `!`, and how often that was done. */
  function counted() {
    const clock = movingClock();
    const reads: string[] = [];
    const cache: ChainCache<never> = createChainCache((text) => {
      reads.push(text);
      return text.startsWith("!") ? { fault: "malformed", carriesCapabilities: true } : formOf(text);
    }, clock);
    const confirm = (text: string) => {
      const form = cache.read(text);
      if ("text" in form) cache.confirm(form);
    };
    /** Whether a text has to be read again. */
    const isKept = (text: string) => {
      const before = reads.length;
      cache.read(text);
      return reads.length === before;
    };
    return { clock, cache, confirm, isKept };
  }

  test("is at most 2000 tokens that were found right, those that came last", () => {
    const { confirm, isKept } = counted();
    for (let n = 0; n < 2001; n++) confirm(`${n}`);
    expect(isKept("2000")).toBe(true);
    expect(isKept("1")).toBe(true);
    expect(isKept("0")).toBe(false);
  });

  test("is at most 4 MiB of tokens that were found right", () => {
    const { confirm, isKept } = counted();
    const large = (n: number) => `${n}`.padStart(8192, "x");
    for (let n = 0; n < 513; n++) confirm(large(n));
    expect(isKept(large(1))).toBe(true);
    expect(isKept(large(0))).toBe(false);
  });

  test("is at most 500 tokens of which nothing is known, which displace no others", () => {
    const { confirm, isKept, cache } = counted();
    confirm("right");
    for (let n = 0; n < 501; n++) cache.read(`!${n}`);
    expect(isKept("!500")).toBe(true);
    expect(isKept("!1")).toBe(true);
    expect(isKept("!0")).toBe(false);
    expect(isKept("right")).toBe(true);
  });

  test("has no room less for what was found right", () => {
    const { confirm, isKept, cache } = counted();
    cache.read("!0");
    confirm("right");
    for (let n = 1; n < 500; n++) cache.read(`!${n}`);
    expect(isKept("!0")).toBe(true);
  });

  test("is at most 1 MiB of tokens of which nothing is known", () => {
    const { isKept, cache } = counted();
    const large = (n: number) => `!${`${n}`.padStart(8191, "x")}`;
    for (let n = 0; n < 129; n++) cache.read(large(n));
    expect(isKept(large(1))).toBe(true);
    expect(isKept(large(0))).toBe(false);
  });

  test("is nothing that is larger than a token", () => {
    const { isKept } = counted();
    isKept("x".repeat(8193));
    expect(isKept("x".repeat(8193))).toBe(false);
  });

  test("is kept for ten seconds, and found right for a minute", () => {
    const { clock, confirm, isKept, cache } = counted();
    cache.read("!");
    confirm("right");
    clock.go(9_999);
    expect([isKept("!"), isKept("right")]).toEqual([true, true]);
    clock.go(1);
    expect([isKept("!"), isKept("right")]).toEqual([false, true]);
    clock.go(49_999);
    expect(isKept("right")).toBe(true);
    clock.go(1);
    expect(isKept("right")).toBe(false);
  });

  test("does not live longer for being found right again", () => {
    const { clock, confirm, isKept } = counted();
    confirm("right");
    clock.go(30_000);
    confirm("right");
    clock.go(30_000);
    expect(isKept("right")).toBe(false);
  });

  test("is only what was read here", () => {
    const { cache, isKept } = counted();
    cache.confirm(formOf("from elsewhere"));
    expect(isKept("from elsewhere")).toBe(false);
  });
});
