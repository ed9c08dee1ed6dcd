import { describe, expect, test } from "@jest/globals";
import type { Grant } from "../../src/authz/grant.js";
import { type InspectionRules, inspectToken } from "../../src/authz/inspect-token.js";
import type { TokenQuestion } from "../../src/authz/token-report.js";
import type { UcanRules } from "../../src/ucan/verify/verifier.js";
import { badlySigned, can, chainOf, DOCS, gives, helper, last, lead, owner, stranger, worker } from "../ucan/chains.js";
import { alice, identityToken, NOW, venue } from "../ucan/tokens.js";
import { revoking, verifierBy } from "../ucan/verify/judge.js";

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
