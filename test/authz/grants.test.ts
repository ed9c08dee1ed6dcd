import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { covers, type Grant, intersect, parseGrant, printResource, wordsOf } from "../../src/authz/grant.js";
import { type InspectionRules, inspectToken } from "../../src/authz/inspect-token.js";
import type { TokenQuestion } from "../../src/authz/token-report.js";
import type { UcanRules } from "../../src/ucan/verify/verifier.js";
import { badlySigned, can, chainOf, DOCS, gives, helper, last, lead, owner, stranger, worker } from "../ucan/chains.js";
import { alice, identityToken, NOW, venue } from "../ucan/tokens.js";
import { revoking, verifierBy } from "../ucan/verify/judge.js";

const grant = (resource: unknown, can: unknown = "crud") => parseGrant({ with: resource, can });

describe("the parts of a grant", () => {
  test("are split once for each text, and shared by all who send it, who cannot change them", () => {
    const [one, other] = [grant("file://docs/shared", "crud/read"), grant("file://docs/shared", "crud/read")];
    expect(other?.segments).toBe(one?.segments);
    expect(other?.words).toBe(one?.words);
    expect([one?.segments, one?.words].every((parts) => Object.isFrozen(parts))).toBe(true);
  });

  test("are right however many texts are sent", () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 600; n++) expect(grant(`file://docs/${n}`)?.segments).toEqual(["docs", String(n)]);
  });
});

describe("the resource of a grant", () => {
  const good: readonly [string, string[]][] = [
    ["file://", []],
    ["file://docs", ["docs"]],
    ["file://docs/", ["docs"]],
    ["file://docs/a/b", ["docs", "a", "b"]],
    ["file://docs/a/b/", ["docs", "a", "b"]],
    ["file://docs/a b/ü😀", ["docs", "a b", "ü😀"]],
    ["file://docs/...", ["docs", "..."]],
    ["file://docs/.hidden", ["docs", ".hidden"]],
    ["file://DOCS", ["DOCS"]],
    [`file://${"a".repeat(1017)}`, ["a".repeat(1017)]],
    ["file://docs/e\u0301", ["docs", "e\u0301"]],
  ];
  test.each(good)("%j is split at slashes and nothing else", (resource, segments) => {
    expect(grant(resource)?.segments).toEqual(segments);
  });

  const bad: readonly [string, unknown][] = [
    ["three slashes", "file:///docs"],
    ["nothing but a slash", "file:///"],
    ["an empty segment", "file://docs//a"],
    ["two slashes at the end", "file://docs//"],
    ["a dot segment", "file://docs/./a"],
    ["a dot segment at the end", "file://docs/."],
    ["a dot-dot segment", "file://docs/../a"],
    ["a root that is dot-dot", "file://.."],
    ["a percent sign", "file://docs/%61"],
    ["a backslash", "file://docs\\a"],
    ["a question mark", "file://docs?a"],
    ["a hash", "file://docs#a"],
    ["a star", "file://*"],
    ["a star as a segment", "file://docs/*"],
    ["a colon", "file://docs:8080"],
    ["NUL", "file://docs/\u0000"],
    ["a line break", "file://docs/a\n"],
    ["DEL", "file://docs/\u007f"],
    ["white space at the start of a segment", "file:// docs"],
    ["white space at the end of a segment", "file://docs/a /b"],
    ["a no-break space at the end", "file://docs/a\u00a0"],
    ["white space around", " file://docs"],
    ["a lone surrogate", "file://docs/\ud800"],
    ["more than 1,024 bytes", `file://${"a".repeat(1018)}`],
    ["more than 1,024 bytes of wide characters", `file://${"é".repeat(509)}`],
    ["capitals in the scheme", "FILE://docs"],
    ["one slash", "file:/docs"],
    ["no slash", "file:docs"],
    ["no scheme", "docs"],
    ["a bare star", "*"],
    ["nothing", ""],
    ["null", null],
    ["absence", undefined],
    ["a list", ["file://docs"]],
    ["a number", 1],
    ["a drive with a query", "dlfs://docs?x"],
    ["a drive that leaves", "dlfs://docs/../x"],
    ["no drive", "dlfs:///x"],
    ["capitals in the scheme of drives", "DLFS://docs"],
    ["an agent's memory", "my:memory"],
    ["an asset", "as:0x12"],
    ["a proof", "prf:0"],
    ["a workspace path", "w/docs"],
    ["a DID", "did:key:z6Mk"],
    ["a UCAN", "ucan:*"],
  ];
  test.each(bad)("grants nothing for %s", (_, resource) => {
    expect(grant(resource)).toBeUndefined();
  });
});

describe("the ability of a grant", () => {
  const good: readonly [string, string[]][] = [
    ["*", []],
    ["crud", ["crud"]],
    ["crud/*", ["crud"]],
    ["crud/read", ["crud", "read"]],
    ["crud/read/*", ["crud", "read"]],
    ["a_b-c9/9x", ["a_b-c9", "9x"]],
  ];
  test.each(good)("%s is words joined by slashes", (can, words) => {
    expect(grant("file://docs", can)?.words).toEqual(words);
  });

  const bad: readonly unknown[] = [
    ...["CRUD/READ", "Crud", "crud/", "/crud", "crud//read", "crud/*/read", "*/read", "crud*", "crud/**", "**"],
    ...["crud/*/*", "", " crud", "crud ", "crud\n", "crud/read,crud/write", "9crud", "-crud", "crud.read", "crüd"],
    ...[null, undefined, 1, true, {}, ["crud"]],
  ];
  test.each(bad.map((can) => [can]))("grants nothing if it is %j", (can) => {
    expect(parseGrant({ with: "file://docs", can })).toBeUndefined();
  });
});

describe("an entry of a list", () => {
  test.each([
    ["caveats", { with: "file://docs", can: "crud", nb: {} }],
    ["null caveats", { with: "file://docs", can: "crud", nb: null }],
    ["anything else about it", { with: "file://docs", can: "crud", exp: 1 }],
    ["no resource", { can: "crud" }],
    ["no ability", { with: "file://docs" }],
  ])("with %s grants nothing", (_, entry) => {
    expect(parseGrant(entry)).toBeUndefined();
  });

  test.each([[null], [undefined], ["file://docs"], [1], [[]], [[{ with: "file://", can: "*" }]], [() => 1]])(
    "that is %p grants nothing",
    (entry) => {
      expect(parseGrant(entry)).toBeUndefined();
    },
  );
});

const need = (path: string, ability: "crud/read" | "crud/write" | "crud/delete") => ({
  segments: path.split("/").filter((segment) => segment !== ""),
  words: wordsOf(ability),
});

describe("a grant covers", () => {
  const table: readonly [string, string, string, "crud/read" | "crud/write" | "crud/delete", boolean][] = [
    ["file://docs/allowed/", "crud/read", "docs/allowed", "crud/read", true],
    ["file://docs/allowed/", "crud/read", "docs/allowed/x", "crud/read", true],
    ["file://docs/allowed", "crud/read", "docs/allowed/x/y", "crud/read", true],
    ["file://docs/allowed", "crud/read", "docs/allowed-evil/x", "crud/read", false],
    ["file://docs/allowed", "crud/read", "docs", "crud/read", false],
    ["file://docs", "crud/read", "docs2", "crud/read", false],
    ["file://docs", "crud/read", "doc", "crud/read", false],
    ["file://docs/a.txt", "crud/read", "docs/a.txt.bak", "crud/read", false],
    ["file://docs/allowed/", "crud/read", "docs/secret", "crud/read", false],
    ["file://docs/Allowed", "crud/read", "docs/allowed", "crud/read", false],
    ["file://docs/caf\u00e9", "crud/read", "docs/cafe\u0301", "crud/read", false],
    ["file://", "crud", "any/thing", "crud/delete", true],
    ["file://", "crud", "", "crud/read", true],
    ["file://", "*", "any", "crud/write", true],
    ["file://docs", "crud/*", "docs/a", "crud/delete", true],
    ["file://docs", "crud/write", "docs/a", "crud/read", false],
    ["file://docs", "crud/read", "docs/a", "crud/write", false],
    ["file://docs", "crud/read/deep", "docs/a", "crud/read", false],
    ["file://docs", "cru", "docs/a", "crud/read", false],
    ["file://docs", "crud/rea", "docs/a", "crud/read", false],
    ["file://docs", "crud", "", "crud/read", false],
  ];
  test.each(table)("%s %s, asked for %s %s: %p", (resource, can, path, ability, expected) => {
    const held = grant(resource, can);
    expect(held).toBeDefined();
    expect(held !== undefined && covers(held, need(path, ability))).toBe(expected);
  });
});

describe("the intersection of two grants", () => {
  const table: readonly [[string, string], [string, string], [string, string] | undefined][] = [
    [
      ["file://", "crud"],
      ["file://docs/a", "crud/read"],
      ["file://docs/a", "crud/read"],
    ],
    [
      ["file://docs/a", "crud"],
      ["file://docs", "crud/read"],
      ["file://docs/a", "crud/read"],
    ],
    [
      ["file://docs", "*"],
      ["file://docs", "*"],
      ["file://docs", "*"],
    ],
    [
      ["file://docs/a/", "*"],
      ["file://docs", "crud/*"],
      ["file://docs/a/", "crud/*"],
    ],
    [["file://docs/a", "crud"], ["file://docs/b", "crud"], undefined],
    [["file://docs/a", "crud"], ["file://docs/ab", "crud"], undefined],
    [["file://docs", "crud/read"], ["file://docs", "crud/write"], undefined],
  ];
  test.each(table)("%p and %p is the narrower on each axis: %p", (a, b, expected) => {
    const [first, second] = [grant(...a), grant(...b)];
    if (first === undefined || second === undefined) throw new Error("not a grant");
    for (const both of [intersect(first, second), intersect(second, first)]) {
      expect(both?.written).toEqual(expected === undefined ? undefined : { with: expected[0], can: expected[1] });
    }
  });

  const names = fc.array(fc.constantFrom("a", "b", "ab"), { maxLength: 3 });
  const someGrant: fc.Arbitrary<Grant> = fc.record({
    segments: names,
    words: fc.constantFrom([], ["crud"], ["crud", "read"], ["crud", "write"]),
    written: fc.constant({ with: "file://", can: "*" }),
  });
  const someNeed = fc.record({ segments: names, words: fc.constantFrom(wordsOf("crud/read"), wordsOf("crud/write")) });

  test("covers exactly what both cover", () => {
    fc.assert(
      fc.property(someGrant, someGrant, someNeed, (a, b, wanted) => {
        const both = intersect(a, b);
        expect(both !== undefined && covers(both, wanted)).toBe(covers(a, wanted) && covers(b, wanted));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a resource in print", () => {
  test.each([
    [[], "file://"],
    [["docs"], "file://docs/"],
    [["docs", "a", "b%c"], "file://docs/a/b%c"],
  ])("%j is %s", (segments, printed) => {
    expect(printResource(segments)).toBe(printed);
  });

  test("is what a grant on it says", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z0-9.]*[a-z]$/), { maxLength: 4 }), (segments) => {
        expect(grant(printResource(segments))?.segments).toEqual(segments);
      }),
    );
  });
});

/** The operator owns `docs` and `more`, Alice `hers`; there is no other root. */
const OWNERS: Readonly<Record<string, string>> = { docs: owner.did, more: owner.did, hers: alice.did };
const ownerOf = (root: string | undefined) => (root === undefined ? owner.did : OWNERS[root]);

const inspect = (question: TokenQuestion, rules: Partial<UcanRules<Grant>> = {}, more: Partial<InspectionRules> = {}) =>
  inspectToken(question, { verifier: verifierBy(rules), ownerOf, ...more });

const ask = (token: string, resource: string, ability = "crud/read"): TokenQuestion => ({
  token,
  with: `file://${resource}`,
  can: ability,
});

const ALL = can("");
const HERS = can("hers/sub/");

describe("a token", () => {
  test("by the owner gives its own list, as it is written", () => {
    const token = gives(owner, lead, { att: [DOCS, can("more/a/")], for: 60 });
    expect(inspect({ token })).toMatchObject({
      valid: true,
      reasons: [],
      grants: [DOCS, can("more/a/")],
      expires: NOW + 60,
    });
  });

  test("gives only what it could widen from nothing", () => {
    const [parent = ""] = chainOf([owner, lead], [can("docs/sub/")]);
    const token = gives(lead, worker, { att: [can("docs/sub/a"), can("docs/")], prf: [parent], for: 60 });
    expect(inspect({ token })).toMatchObject({
      valid: true,
      reasons: ["widened_or_unrooted"],
      grants: [can("docs/sub/a")],
    });
  });

  test("is judged in each root by its owner", () => {
    const token = gives(owner, lead, { att: [DOCS, HERS] });
    expect(inspect({ token })).toMatchObject({ valid: true, reasons: ["issuer_not_owner"], grants: [DOCS] });
    expect(inspect({ token: gives(alice, lead, { att: [DOCS, HERS] }) })).toMatchObject({
      valid: true,
      reasons: ["issuer_not_owner"],
      grants: [HERS],
    });
  });

  test("for every root is judged by the operator, and gives nothing in a root of somebody else", () => {
    expect(inspect({ token: gives(owner, lead, { att: [ALL] }) })).toMatchObject({ valid: true, grants: [ALL] });
    const token = gives(alice, lead, { att: [ALL] });
    expect(inspect({ token })).toMatchObject({ valid: false, reasons: ["issuer_not_owner"], grants: [] });
    expect(inspect(ask(token, "hers/x"))).toMatchObject({ valid: true, reasons: [], grants: [ALL] });
    expect(inspect(ask(token, "docs/x"))).toMatchObject({ valid: false, reasons: ["issuer_not_owner"] });
  });

  test.each<[string, string, readonly string[]]>([
    ["by a stranger", gives(stranger, lead), ["issuer_not_owner"]],
    ["that is over", gives(owner, lead, { for: -60 }), ["expired"]],
    ["with a wrong signature", badlySigned(gives(owner, lead)), ["bad_signature"]],
    ["without capabilities", gives(owner, lead, { att: [] }), ["not_covered"]],
    ["without capabilities, that is over", gives(owner, lead, { att: [], for: -60 }), ["expired"]],
    [
      "with capabilities that mean nothing here",
      gives(owner, lead, { att: [{ with: "my:*", can: "*" }] }),
      ["not_covered"],
    ],
    ["that is an identity", identityToken(), ["malformed"]],
    ["that is none", "no token", ["malformed"]],
    ["that is too large", "x".repeat(8193), ["too_large"]],
  ])("%s is worth nothing, and it says why", (_what, token, reasons) => {
    expect(inspect({ token })).toMatchObject({ valid: false, reasons, grants: [] });
  });

  test("that was revoked, itself or below, says so where it was", () => {
    const [top = "", parent = ""] = chainOf([owner, lead, worker]);
    const [{ id = "" } = {}] = inspect({ token: parent }).chain;
    const report = inspect({ token: top }, { revocations: revoking(id) });
    expect(report).toMatchObject({ valid: false, reasons: ["revoked"] });
    expect(report.chain.map(({ reasons }) => reasons)).toEqual([[], ["revoked"]]);
  });

  test("is not for somebody else, by whichever DID the venue is named", () => {
    const token = gives(owner, lead);
    expect(inspect({ token, aud: lead.did })).toMatchObject({ valid: true, reasons: [] });
    expect(inspect({ token, aud: worker.did })).toMatchObject({ valid: false, reasons: ["wrong_audience"] });
    const canonicalDid = (did: string) => (did === venue.did ? "did:web:example.com" : did);
    const toVenue = { token: gives(owner, venue), aud: "did:web:example.com" };
    expect(inspect(toVenue)).toMatchObject({ valid: false });
    expect(inspect(toVenue, {}, { canonicalDid })).toMatchObject({ valid: true });
  });
});

describe("what is asked for", () => {
  const [token = ""] = chainOf([owner, lead, worker], [can("docs/sub/", "crud")]);

  test.each<[string, string, boolean, readonly string[]]>([
    ["docs/sub/a", "crud/read", true, []],
    ["docs/sub", "crud", true, []],
    ["docs/sub/", "*", false, ["not_covered"]],
    ["docs/", "crud/read", false, ["not_covered"]],
    ["docs/subway", "crud/read", false, ["not_covered"]],
    ["more/", "crud/read", false, ["not_covered"]],
    ["", "crud/read", false, ["not_covered"]],
    ["docs/../hers", "crud/read", false, ["not_covered"]],
  ])("file://%s %s: %p", (resource, ability, valid, reasons) => {
    expect(inspect(ask(token, resource, ability))).toMatchObject({
      valid,
      reasons,
      grants: [can("docs/sub/", "crud")],
    });
  });

  test("is covered, but for somebody else", () => {
    expect(inspect({ ...ask(token, "docs/sub/a"), aud: lead.did })).toMatchObject({
      valid: false,
      reasons: ["wrong_audience"],
    });
  });

  test("was promised, but is not there to be given: the reason is the chain's", () => {
    const [parent = ""] = chainOf([owner, lead], [can("docs/sub/")]);
    const wide = gives(lead, worker, { att: [can("docs/")], prf: [parent], for: 60 });
    expect(inspect(ask(wide, "docs/x"))).toMatchObject({ valid: false, reasons: ["widened_or_unrooted"] });
    expect(inspect(ask(gives(stranger, lead), "docs/x"))).toMatchObject({ reasons: ["issuer_not_owner"] });
    const partly = gives(lead, worker, { att: [can("docs/"), can("docs/sub/a")], prf: [parent], for: 60 });
    expect(inspect(ask(partly, "docs/x"))).toMatchObject({ valid: false, reasons: ["widened_or_unrooted"] });
  });
});

describe("a root of somebody else answers like one that is not there", () => {
  const [toLead = ""] = chainOf([alice, lead], [HERS]);
  const [everywhere = ""] = chainOf([owner, lead], [ALL]);
  // A second root of Alice's, in which nobody else holds anything.
  const more = { ownerOf: (root: string | undefined) => (root === "other" ? alice.did : ownerOf(root)) };

  test.each<[string, (root: string) => string]>([
    ["by the operator, for that root", (root) => gives(owner, lead, { att: [can(`${root}/`)], nnc: 1 })],
    ["by the operator, for every root", () => everywhere],
    ["by the operator, and passed on", () => gives(lead, worker, { att: [ALL], prf: [everywhere], for: 60 })],
    ["by a stranger", (root) => gives(stranger, lead, { att: [can(`${root}/`)], nnc: 1 })],
    [
      "by whom the owner gave a folder elsewhere",
      (root) => gives(lead, worker, { att: [can(`${root}/`)], prf: [toLead], for: 60, nnc: 1 }),
    ],
    [
      "that gives a folder elsewhere, too",
      (root) => gives(lead, worker, { att: [can("hers/sub/a"), can(`${root}/`)], prf: [toLead], for: 60, nnc: 1 }),
    ],
    ["that is over", (root) => gives(owner, lead, { att: [can(`${root}/`)], for: -60, nnc: 1 })],
  ])("to a token %s", (_by, tokenFor) => {
    const answers = ["other", "nowhere"].map((root) => {
      const token = tokenFor(root);
      const both = [inspect(ask(token, `${root}/`), {}, more), inspect({ token }, {}, more)];
      return both.map(({ chain, ...said }) => ({
        ...said,
        chain: chain.map(({ depth, reasons }) => ({ depth, reasons })),
      }));
    });
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[0]?.valid).toBe(false);
  });

  test("and a token of its owner would be noticed", () => {
    const token = gives(alice, lead, { att: [can("other/")] });
    expect(inspect(ask(token, "other/"), {}, more).valid).toBe(true);
    expect(inspect(ask(token, "other/")).valid).toBe(false);
  });
});

describe("the chain", () => {
  test("is listed from the top, each link with whom, for how long and what", () => {
    const parent = gives(owner, lead, { att: [DOCS], for: 600 });
    const token = gives(
      lead,
      worker,
      { att: [can("docs/a"), { with: "my:*", can: "x" }], prf: [parent], for: 60 },
      { claims: { nbf: NOW - 5 } },
    );
    expect(inspect({ token }).chain).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{43}$/),
        issuer: lead.did,
        audience: worker.did,
        expires: NOW + 60,
        notBefore: NOW - 5,
        grants: [can("docs/a"), { with: "my:*", can: "x" }],
        depth: 0,
        reasons: [],
      },
      {
        id: expect.stringMatching(/^[\w-]{43}$/),
        issuer: owner.did,
        audience: lead.did,
        expires: NOW + 600,
        grants: [DOCS],
        depth: 1,
        reasons: [],
      },
    ]);
  });

  test("says of each link what is wrong with that one", () => {
    const short = gives(owner, lead, { for: 30 });
    const misdirected = gives(owner, helper, { for: 600 });
    const forged = badlySigned(gives(owner, lead, { for: 601 }));
    const token = gives(lead, worker, { prf: [short, misdirected, forged, "bafkrei"], for: 60 });
    expect(inspect({ token }).chain.map(({ depth, reasons }) => [depth, ...reasons])).toEqual([
      [0],
      [1],
      [1, "broken_chain"],
      [1, "bad_signature"],
      [1, "proof_not_found"],
    ]);
  });

  test("names a proof once that several links share", () => {
    const root = gives(owner, lead, { for: 900 });
    const left = gives(lead, worker, { prf: [root], for: 600, nnc: 1 });
    const right = gives(lead, worker, { prf: [root], for: 600, nnc: 2 });
    const token = gives(worker, last, { prf: [left, right], for: 60 });
    expect(inspect({ token }).chain.map(({ depth, issuer }) => [depth, issuer])).toEqual([
      [0, worker.did],
      [1, lead.did],
      [2, owner.did],
      [1, lead.did],
    ]);
  });

  test("does not show what stands in a token beside its grants", () => {
    const token = gives(owner, lead, {}, { claims: { fct: [{ secret: "xyzzy" }] } });
    const text = JSON.stringify(inspect({ token }));
    expect(text).not.toContain("xyzzy");
    expect(text).not.toContain(token.split(".")[2]);
  });

  test("of a token that breaks a limit is the token alone", () => {
    const [token = ""] = chainOf([owner, lead, worker, helper, last, stranger, owner]);
    expect(inspect({ token })).toMatchObject({ valid: false, reasons: ["too_deep"] });
    expect(inspect({ token }).chain).toHaveLength(1);
  });
});

test("a verifier that reads nothing makes every token worthless", () => {
  const nobody = { verifier: { read: () => [], issuersOf: () => undefined }, ownerOf };
  expect(inspectToken({ token: gives(owner, lead) }, nobody)).toMatchObject({ valid: false, reasons: ["malformed"] });
});
