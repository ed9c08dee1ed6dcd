import { describe, expect, test } from "@jest/globals";
import { Authoriser } from "../../src/authz/authorise.js";
import { createAuthorities } from "../../src/authz/authorities.js";
import type { CapabilityRules } from "../../src/authz/capability-rules.js";
import { readCaps } from "../../src/authz/caps-list.js";
import { createFileVerifier } from "../../src/authz/file-verifier.js";
import { parseGrant } from "../../src/authz/grant.js";
import { createRights } from "../../src/authz/rights.js";
import type { Ability } from "../../src/core/call/capability.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { alice, bob, clock, delegation, identityToken, NOW, signer, venue } from "../ucan/tokens.js";

const carol = signer(4);
const EVERYTHING = { with: "file://", can: "*" };
const READ_ALL = { with: "file://", can: "crud/read" };
const READ = { with: "file://docs/", can: "crud/read" };

/** `docs` and `more` are the venue's, `hers` is Alice's. */
const ROOTS = [{ name: "docs" }, { name: "hers", owner: alice.did }, { name: "more" }];

function authoriserOf(context: SurfaceContext, rules: CapabilityRules = {}): Authoriser {
  const authorities = authoritiesBy(rules);
  const caps = [readCaps(context.caps), readCaps(context.callCaps)];
  return new Authoriser({ operation: "file:read", caps, authority: authorities.of(context) });
}

const authoritiesBy = (rules: CapabilityRules = {}) =>
  createAuthorities(
    { venueDid: venue.did, operator: venue.did, verifier: createFileVerifier({ clock }), ...rules },
    ROOTS,
  );

type Data = Readonly<Record<string, unknown>>;

/** `undefined`: allowed. */
function denialOf(work: () => unknown): (Data & { readonly message: string; readonly code: string }) | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof FileAdapterError) return { ...error.data, message: error.message, code: error.code };
    throw error;
  }
}

const ask = (context: SurfaceContext, path: string, rules: CapabilityRules = {}, ability: Ability = "crud/read") =>
  denialOf(() => authoriserOf(context, rules).require(path.split("/"), ability));

const known = (did: string, ...ucans: string[]): SurfaceContext => ({
  callerDID: did,
  authentication: "identity",
  ucans,
});
const anonymous: SurfaceContext = { callerDID: `${venue.did}:public`, authentication: "public" };

/** From `by` to `to`. */
const give = (by: typeof alice, to: { did: string }, att: unknown = [READ], claims: object = {}) =>
  delegation({ by, claims: { aud: to.did, att, ...claims } });

describe("a caller", () => {
  const everything: readonly [string, SurfaceContext][] = [
    ["without a DID", {}],
    ["who is the operator", known(venue.did)],
  ];
  test.each(everything)("%s may do everything in every root", (_name, context) => {
    for (const path of ["docs/a", "hers/a", "nowhere/a"]) expect(ask(context, path, {}, "crud/delete")).toBeUndefined();
  });

  test("who owns a root may do everything there, and nothing elsewhere", () => {
    expect(ask(known(alice.did), "hers/a", {}, "crud/delete")).toBeUndefined();
    expect(ask(known(alice.did), "docs/a")).toMatchObject({
      have: [
        { with: "file://hers/", can: "*" },
        { with: "file://hers/", can: "approve" },
      ],
    });
  });

  test("has what the configuration gives its DID, in roots of others too", () => {
    const grants = [{ did: bob.did, with: "file://hers/in", can: "crud/write" }];
    expect(ask(known(bob.did), "hers/in/a", { grants }, "crud/write")).toBeUndefined();
    expect(ask(known(bob.did), "hers/in/a", { grants })).toBeDefined();
    expect(ask(known(carol.did), "hers/in/a", { grants }, "crud/write")).toBeDefined();
  });

  test("has what its static token adds", () => {
    expect(ask({ ...known(bob.did), tokenCaps: [READ] }, "docs/a")).toBeUndefined();
  });

  test("has what everybody has, in roots without an owner", () => {
    const rules = { publicCaps: [READ_ALL] };
    expect(ask(known(bob.did), "docs/a", rules)).toBeUndefined();
    expect(ask(anonymous, "docs/a", rules)).toBeUndefined();
    const authoriser = authoriserOf(anonymous, rules);
    expect(denialOf(() => authoriser.require(["hers", "a"], "crud/read"))).toBeUndefined();
    expect([authoriser.hidesRoot("hers"), authoriser.hidesRoot("docs"), authoriser.seesRoot("hers")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("who is known by several DIDs is one", () => {
    const canonicalDid = (did: string) => (did === "did:web:a" ? alice.did : did);
    expect(ask(known("did:web:a"), "hers/a", { canonicalDid })).toBeUndefined();
    const grants = [{ did: "did:web:a", ...READ }];
    expect(ask(known(alice.did), "docs/a", { canonicalDid, grants })).toBeUndefined();
  });
});

describe("proofs", () => {
  test("give what the owner of the requested root signed, and no more", () => {
    const token = give(venue, bob);
    expect(ask(known(bob.did, token), "docs/a")).toBeUndefined();
    expect(ask(known(bob.did, token), "docs/a", {}, "crud/write")).toMatchObject({
      denied_by: ["proofs"],
      reasons: ["not_covered"],
      have: [READ],
    });
    expect(
      ask(known(bob.did, give(alice, bob, [{ with: "file://hers/in/", can: "crud" }])), "hers/in/a"),
    ).toBeUndefined();
  });

  const strangers: readonly [string, string, string][] = [
    ["the owner of another root", give(alice, bob), "docs/a"],
    ["somebody", give(carol, bob), "docs/a"],
  ];
  test.each(strangers)("by %s give nothing", (_name, token, path) => {
    expect(ask(known(bob.did, token), path)).toMatchObject({ reasons: ["issuer_not_owner"], have: [] });
  });

  test("by the operator give nothing in a root of somebody else, which is judged as if it were not there", () => {
    const token = give(venue, bob, [EVERYTHING]);
    const there = authoriserOf(known(bob.did, token));
    expect(denialOf(() => there.require(["hers", "a"], "crud/read"))).toBeUndefined();
    expect(there.hidesRoot("hers")).toBe(true);
    expect(there.seesRoot("hers")).toBe(false);
  });

  test("take away what everybody may do, also when they are worth nothing", () => {
    const rules = { publicCaps: [READ_ALL] };
    expect(ask(known(bob.did, give(carol, bob)), "docs/a", rules)).toMatchObject({ reasons: ["issuer_not_owner"] });
    expect(ask(known(bob.did, "junk"), "docs/a", rules)).toMatchObject({
      reasons: ["malformed"],
      denied_by: ["proofs"],
    });
    expect(ask(known(bob.did, give(venue, bob, [])), "docs/a", rules)).toBeUndefined();
  });

  test("that are no UCANs at all are malformed, and take nothing away", () => {
    const identity = identityToken({ by: bob });
    const rules = { publicCaps: [READ_ALL] };
    for (const context of [known(bob.did, identity), { ...anonymous, ucans: [identity] }]) {
      expect(ask(context, "docs/a", rules)).toBeUndefined();
      expect(ask(context, "docs/a", rules, "crud/write")).toMatchObject({
        denied_by: ["authority"],
        reasons: ["malformed"],
        have: [READ_ALL],
      });
    }
    const proof = give(venue, bob);
    expect(ask(known(bob.did, proof, identity), "docs/a")).toBeUndefined();
    expect(ask(known(bob.did, proof, identity), "more/a")).toMatchObject({ reasons: ["not_covered", "malformed"] });
    expect(ask(known(bob.did, give(venue, bob, [])), "docs/a")).toMatchObject({ reasons: ["not_covered"] });
  });

  test("count each, copies too, whoever calls; only not those that the caller is known by", () => {
    const token = give(venue, bob);
    const self = give(bob, venue, [READ]);
    const callers = [known(bob.did), { ...known(bob.did), identityTokens: [self] }];
    for (const context of [...callers, anonymous]) {
      const denial = ask({ ...context, ucans: Array(9).fill(token) }, "docs/a", { publicCaps: [READ_ALL] });
      expect(denial).toMatchObject({ reasons: ["too_large"] });
    }
    const [byIdentity, byUcan] = callers;
    expect(ask({ ...byIdentity, ucans: Array(8).fill(token) }, "docs/a")).toBeUndefined();
    expect(ask({ ...byUcan, ucans: Array(8).fill(token) }, "docs/a")).toMatchObject({ reasons: ["too_large"] });
    expect(ask({ ...byUcan, ucans: Array(7).fill(token) }, "docs/a")).toBeUndefined();
    expect(ask({ ...byUcan, ucans: [...Array(7).fill(token), self] }, "docs/a")).toBeUndefined();
  });

  const notFor: readonly [string, SurfaceContext][] = [
    ["somebody else", known(carol.did, give(venue, bob))],
    ["the venue, by somebody else", known(carol.did, give(bob, venue))],
    ["somebody anonymous", { ...anonymous, ucans: [give(venue, { did: `${venue.did}:public` })] }],
  ];
  test.each(notFor)("for %s do not count", (_name, context) => {
    expect(ask(context, "docs/a")).toMatchObject({ reasons: ["wrong_audience"], have: [] });
  });

  test("that a caller signed for the venue count with what stands behind them", () => {
    const behind = give(venue, bob, [{ with: "file://docs/", can: "crud" }]);
    const token = give(bob, venue, [READ], { prf: [behind] });
    expect(ask(known(bob.did, token), "docs/a")).toBeUndefined();
    expect(ask(known(bob.did, token), "docs/a", {}, "crud/write")).toMatchObject({ reasons: ["not_covered"] });
    expect(ask(known(carol.did, token), "docs/a")).toMatchObject({ reasons: ["wrong_audience"] });
  });

  test("that widen what they were given are named", () => {
    const behind = give(venue, bob, [{ with: "file://docs/in/", can: "crud/read" }]);
    expect(ask(known(carol.did, give(bob, carol, [READ], { prf: [behind] })), "docs/a")).toMatchObject({
      reasons: ["widened_or_unrooted"],
    });
  });

  test("that only time speaks against can be renewed, unless something else is wrong too", () => {
    const old = give(venue, bob, [READ], { exp: NOW - 3600 });
    const denial = ask(known(bob.did, old), "docs/a");
    expect(denial).toMatchObject({ structural: false, retryable: true, reasons: ["expired"] });
    expect(denial?.message).toMatch(/Renew the token [A-Za-z0-9_-]{43} and retry\.$/);
    expect(ask(known(bob.did, give(venue, bob, [READ], { nbf: NOW + 3600 })), "docs/a")).toMatchObject({
      retryable: true,
      reasons: ["not_yet_valid"],
    });
    for (const context of [known(bob.did, old, "junk"), { ...known(bob.did, old), caps: [] }]) {
      expect(ask(context, "docs/a")).toMatchObject({ structural: true, retryable: false });
    }
  });

  test("name the tokens they are made of, for the audit", () => {
    const behind = give(venue, bob, [{ with: "file://docs/", can: "crud" }]);
    const authoriser = authoriserOf(known(carol.did, give(bob, carol, [READ], { prf: [behind] })));
    authoriser.require(["docs", "a"], "crud/read");
    expect(authoriser.chain?.map(({ issuer }) => issuer)).toEqual([bob.did, venue.did]);
    const operator = authoriserOf({});
    operator.require(["docs"], "crud/read");
    expect(operator.chain).toBeUndefined();
  });

  test("that are no texts, or too many, deny everything to everybody", () => {
    const many = Array.from({ length: 9 }, (_, n) => give(venue, bob, [READ], { nnc: `${n}` }));
    const faulty: readonly [unknown, string][] = [
      [many, "too_large"],
      [Array.from({ length: 5 }, (_, n) => `${n}${"x".repeat(8000)}`), "too_large"],
      [[1], "malformed"],
      ["text", "malformed"],
    ];
    for (const [ucans, reason] of faulty) {
      for (const callerDID of [bob.did, venue.did]) {
        expect(ask({ callerDID, ucans }, "docs/a", { publicCaps: [READ_ALL] })).toMatchObject({
          denied_by: ["proofs"],
          reasons: [reason],
          have: [],
        });
      }
    }
    expect(ask(known(bob.did, ...many.slice(0, 8)), "docs/a")).toBeUndefined();
  });

  test("that name several callers deny everything", () => {
    expect(ask({ ...anonymous, ambiguousCaller: true }, "docs/a", { publicCaps: [READ_ALL] })).toMatchObject({
      reasons: ["ambiguous_caller"],
    });
  });
});

describe("a caller that is known by a UCAN with capabilities", () => {
  const byToken = (by: typeof alice, att: unknown[], claims: object = {}): SurfaceContext => {
    const token = give(by, venue, att, claims);
    return { callerDID: by.did, authentication: "ucan", identityTokens: [token] };
  };

  test("has of its own rights only what that token lists", () => {
    const narrow = [{ with: "file://hers/in/", can: "crud/read" }];
    expect(ask(byToken(alice, narrow), "hers/in/a")).toBeUndefined();
    expect(ask(byToken(alice, narrow), "hers/a")).toMatchObject({ have: narrow });
    expect(ask(byToken(alice, narrow), "hers/in/a", {}, "crud/write")).toBeDefined();
    expect(ask(byToken(venue, narrow), "docs/a")).toBeDefined();
    expect(ask(byToken(venue, [READ]), "docs/a")).toBeUndefined();
    const grants = [{ did: bob.did, with: "file://docs/", can: "crud" }];
    expect(ask(byToken(bob, [READ]), "docs/a", { grants })).toBeUndefined();
    expect(ask(byToken(bob, [READ]), "docs/a", { grants }, "crud/write")).toBeDefined();
    expect(ask({ ...byToken(bob, [READ]), tokenCaps: [EVERYTHING] }, "docs/a", {}, "crud/write")).toBeDefined();
  });

  test("has nothing by itself when the list is about other things", () => {
    expect(ask(byToken(alice, [{ with: "my:x", can: "*" }]), "hers/a")).toBeDefined();
  });

  test("has all of it when the list is empty", () => {
    expect(ask(byToken(alice, []), "hers/a", {}, "crud/delete")).toBeUndefined();
  });

  test("has what the proofs in it give", () => {
    const prf = [give(venue, bob)];
    expect(ask(byToken(bob, [READ], { prf }), "docs/a")).toBeUndefined();
    expect(ask(byToken(bob, [READ]), "docs/a")).toMatchObject({ reasons: ["issuer_not_owner"] });
  });
});

describe("a denial says whom to ask", () => {
  const rules = { publicCaps: [READ_ALL] };
  const remedyOf = (context: SurfaceContext, path: string, ability: Ability = "crud/write") =>
    ask(context, path, rules, ability)?.["remedy"];
  const stranger = `ask the owner of the root for a UCAN covering 'required', audience ${bob.did}`;

  test("by name, where the caller holds something in the root", () => {
    expect(remedyOf(known(bob.did), "docs/a")).toBe(stranger.replace("the owner of the root", venue.did));
    const some = give(alice, bob, [{ with: "file://hers/in/", can: "crud/read" }]);
    expect(remedyOf(known(bob.did, some), "hers/a")).toBe(stranger.replace("the owner of the root", alice.did));
  });

  test("without a name to everybody else, the same for a root that is not there", () => {
    const narrow = { publicCaps: [READ] };
    for (const path of ["more/a", "hers/a", "nowhere/a"]) {
      expect(ask(known(bob.did), path, narrow)?.["remedy"]).toBe(stranger);
    }
  });

  test("not to somebody whom a proof could not help", () => {
    expect(remedyOf(anonymous, "docs/a")).toBeUndefined();
    expect(remedyOf({ ...known(bob.did), caps: [READ] }, "docs/a")).toBeUndefined();
  });
});

describe("a root in which the caller holds nothing", () => {
  const contexts: readonly [string, SurfaceContext, CapabilityRules][] = [
    ["to somebody anonymous", anonymous, { publicCaps: [READ_ALL] }],
    ["to somebody known", known(bob.did), { publicCaps: [READ_ALL] }],
    ["to somebody with a proof by the operator", known(bob.did, give(venue, bob, [READ_ALL])), {}],
    [
      "to somebody with a proof of its name",
      known(bob.did, give(venue, bob, [{ with: "file://hers/", can: "crud/read" }])),
      {},
    ],
    ["to somebody with a proof that is worth nothing", known(bob.did, give(carol, bob, [READ_ALL])), {}],
    ["to somebody whose proof is too old", known(bob.did, give(alice, bob, [READ_ALL], { exp: NOW - 3600 })), {}],
    ["to somebody with nothing", known(bob.did), {}],
  ];
  const abilities: readonly Ability[] = ["crud/read", "crud/write", "crud/delete"];
  test.each(contexts)("looks like one that is not there, %s", (_name, context, rules) => {
    const here = authoritiesBy(rules);
    const elsewhere = createAuthorities(
      { venueDid: venue.did, operator: venue.did, verifier: createFileVerifier({ clock }), ...rules },
      ROOTS.filter(({ name }) => name !== "hers"),
    );
    for (const ability of abilities) {
      const [there, missing] = [here, elsewhere].map((authorities) => {
        const authoriser = new Authoriser({ operation: "file:x", caps: [], authority: authorities.of(context) });
        return {
          denial: denialOf(() => authoriser.require(["hers", "a"], ability)),
          sees: authoriser.seesRoot("hers"),
        };
      });
      expect(there?.denial).toEqual(missing?.denial);
      expect(there?.sees).toBe(false);
    }
  });
});

test("whoever may read every root may ask for the roots, also where all have owners", () => {
  const onlyHers = createAuthorities(
    { venueDid: venue.did, operator: venue.did, verifier: createFileVerifier({ clock }), publicCaps: [READ_ALL] },
    [{ name: "hers", owner: alice.did }],
  );
  const authoriser = new Authoriser({ operation: "file:roots", caps: [], authority: onlyHers.of(anonymous) });
  expect(denialOf(() => authoriser.requireAnyRead(["hers"]))).toBeUndefined();
  expect(authoriser.seesRoot("hers")).toBe(false);
  expect(denialOf(() => authoriserOf(known(bob.did)).requireAnyRead(["docs"]))).toMatchObject({
    denied_by: ["authority"],
  });
});

describe("what is held", () => {
  const heldBy = (context: SurfaceContext, rules: CapabilityRules = {}) =>
    authoriserOf(context, rules)
      .held()
      .grants.map(({ written }) => `${written.can} ${written.with}`);

  test("is told from every source, and for every owner that the caller knows of", () => {
    const hers = give(alice, bob, [{ with: "file://hers/in/", can: "crud/read" }]);
    const ours = give(venue, bob, [{ with: "file://docs/", can: "crud" }]);
    expect(heldBy(known(bob.did, hers, ours))).toEqual(["crud file://docs/", "crud/read file://hers/in/"]);
  });

  test("of everybody is named root by root to those who know of an owner, since it does not reach there", () => {
    const rules = { publicCaps: [READ_ALL] };
    expect(heldBy(known(bob.did), rules)).toEqual(["crud/read file://"]);
    expect(heldBy(known(alice.did), rules)).toEqual([
      "* file://hers/",
      "approve file://hers/",
      "crud/read file://docs/",
      "crud/read file://more/",
    ]);
  });

  test("by a grant on every root is what its owner has", () => {
    expect(heldBy(known(bob.did, give(alice, bob, [READ_ALL])))).toEqual(["crud/read file://hers/"]);
    expect(heldBy(known(bob.did, give(venue, bob, [READ_ALL])))).toEqual(["crud/read file://"]);
  });
});

describe("what the venue may sign for a caller", () => {
  const delegable = (context: SurfaceContext, capability: object, rules: CapabilityRules = {}) => {
    const authorities = authoritiesBy(rules);
    const authoriser = authoriserOf(context, rules);
    const grant = parseGrant(capability);
    if (grant === undefined) throw new Error("grants nothing");
    let found: unknown;
    const denial = denialOf(() => {
      found = createRights(authoriser, { authorities, roots: ROOTS.map(({ name }) => name) }).delegable(grant);
    });
    return denial ?? found;
  };

  test("is what it owns, was given, or can prove, until that ends", () => {
    const grants = [{ did: bob.did, ...READ }];
    expect(delegable({}, EVERYTHING)).toEqual({ expiresAt: null, via: [] });
    expect(delegable(known(bob.did), { with: "file://docs/in", can: "crud/read" }, { grants })).toEqual({
      expiresAt: null,
      via: [],
    });
    const token = give(venue, bob, [READ], { exp: NOW + 50 });
    expect(delegable(known(bob.did, token), READ)).toMatchObject({ expiresAt: NOW + 50, via: [{ issuer: venue.did }] });
    const bearer = give(bob, venue, [READ], { exp: NOW + 40 });
    const byBearer: SurfaceContext = { callerDID: bob.did, authentication: "ucan", identityTokens: [bearer] };
    expect(delegable(byBearer, READ, { grants })).toMatchObject({ expiresAt: NOW + 40 });
  });

  test("is not what everybody may do, nor what a static token adds", () => {
    expect(delegable(known(bob.did), READ, { publicCaps: [READ_ALL] })).toMatchObject({ code: "CAPABILITY_DENIED" });
    expect(delegable({ ...known(bob.did), tokenCaps: [READ_ALL] }, READ)).toMatchObject({ code: "CAPABILITY_DENIED" });
  });

  test("is not what the lists of the call leave out", () => {
    expect(delegable({ callCaps: [READ] }, EVERYTHING)).toMatchObject({ denied_by: ["agent_caps"] });
    expect(delegable({ callCaps: [READ] }, READ)).toMatchObject({ via: [] });
  });

  test("is not what another's key must sign", () => {
    for (const context of [known(alice.did), {}]) {
      const denial = delegable(context, { with: "file://hers/", can: "crud/read" });
      expect(denial).toMatchObject({ code: "CAPABILITY_DENIED", reasons: ["issuer_not_owner"] });
      expect(denial).toMatchObject({ message: expect.stringMatching(/Only the owner .* 'venue-files grant'\.$/) });
    }
    expect(delegable({}, READ, { operator: carol.did })).toMatchObject({ reasons: ["issuer_not_owner"] });
  });

  test("is not there for a root that is not there, nor for one in which the caller holds nothing", () => {
    for (const name of ["hers", "nowhere"]) {
      const proof = give(venue, bob, [READ_ALL]);
      expect(delegable(known(bob.did, proof), { with: `file://${name}/`, can: "crud/read" })).toMatchObject({
        code: "UNKNOWN_ROOT",
      });
      expect(delegable(known(bob.did), { with: `file://${name}/`, can: "crud/read" })).toMatchObject({
        code: "CAPABILITY_DENIED",
      });
    }
  });
});
