import { describe, expect, test } from "@jest/globals";
import { ALL, badlySigned, DOCS, gave, gives, judge, lead, owner, refusedFor, stranger, worker } from "../chains.js";
import { NOW } from "../tokens.js";
import { revoking, verifierBy } from "./judge.js";

type Rules = Parameters<typeof verifierBy>[0];

describe("a token by itself", () => {
  const own: readonly [string, string | undefined, Parameters<typeof gives>[3], Rules?][] = [
    ["ends in a year", undefined, { claims: { exp: NOW + 31_622_400 } }],
    ["ends as late as it may by a clock that differs", undefined, { claims: { exp: NOW + 31_622_430 } }],
    ["ends later", "bad_exp", { claims: { exp: NOW + 31_622_431 } }],
    ["ended within the skew", undefined, { claims: { exp: NOW - 29 } }],
    ["ended", "expired", { claims: { exp: NOW - 30 } }],
    ["begins within the skew", undefined, { claims: { nbf: NOW + 30 } }],
    ["begins later", "not_yet_valid", { claims: { nbf: NOW + 31 } }],
    ["never ends where that is allowed", undefined, { claims: { exp: null } }, { allowNoExpiry: true }],
    ["does not say when it ends", "no_exp", { claims: { exp: undefined } }],
    ["does not say, where it may not end", "no_exp", { claims: { exp: undefined } }, { allowNoExpiry: true }],
    ["counts milliseconds", "bad_exp", { claims: { exp: NOW * 1000 } }],
    ["ends at a text", "bad_exp", { claims: { exp: `${NOW}` } }],
    ["is by no algorithm", "bad_header", { header: { alg: "none" } }],
    ["is by a shared secret", "bad_header", { header: { alg: "HS256" } }],
    ["is for nobody", "malformed", { claims: { aud: undefined } }],
    ["is for several", "malformed", { claims: { aud: [lead.did] } }],
    ["has no list", "malformed", { claims: { att: undefined } }],
    ["has both lists", "malformed", { claims: { cap: {} } }],
    ["has another subject", "malformed", { claims: { sub: lead.did } }],
    ["names another key", "kid_mismatch", { header: { kid: stranger.multikey } }],
  ];
  test.each(own)("that %s: %s", (_what, fault, changes, rules = {}) => {
    const [token] = verifierBy(rules).read([gives(owner, lead, {}, changes)]);
    expect(token?.check()).toBe(fault);
    expect(token?.verdict(owner.did).grants).toHaveLength(fault === undefined ? 1 : 0);
    expect(token?.verdict(owner.did).faults.map(({ reason }) => reason)).toEqual(fault === undefined ? [] : [fault]);
  });

  test("is judged by the lifetime and the skew that are set", () => {
    const rules = { maxLifetimeSeconds: 100, clockSkewSeconds: 0 };
    expect(judge([gives(owner, lead, { for: 100 })], rules)).toEqual(gave(ALL));
    expect(judge([gives(owner, lead, { for: 101 })], rules)).toEqual(refusedFor("bad_exp"));
    expect(judge([gives(owner, lead, { for: 0 })], rules)).toEqual(refusedFor("expired"));
  });

  test("may end only by its proof", () => {
    const rules = { allowNoExpiry: true };
    const endless = { claims: { exp: null } };
    const chain = (proof: object) => [gives(lead, worker, { prf: [gives(owner, lead, {}, proof)] }, endless)];
    expect(judge(chain(endless), rules)).toEqual(gave(ALL));
    expect(judge(chain({}), rules)).toEqual(gave(ALL));
    const ending = gives(lead, worker, { prf: [gives(owner, lead, {}, endless)] });
    expect(verifierBy(rules).read([ending])[0]?.verdict(owner.did).grants[0]?.expiresAt).toBe(NOW + 3600);
  });

  test("shows what can be read of it before anything is proved", () => {
    const [token] = verifierBy().read([badlySigned(gives(owner, lead, { att: [DOCS, { with: "my:", can: "*" }, 5] }))]);
    expect(token).toMatchObject({ decoded: { issuer: owner.did, audience: lead.did }, carriesCapabilities: true });
    expect(token?.own.map(({ written }) => written)).toEqual([DOCS]);
    expect(token?.entries).toEqual([DOCS, { with: "my:", can: "*" }]);
    expect(token?.fault).toBeUndefined();
  });

  test("that cannot be read has nothing but a fault", () => {
    const [token] = verifierBy().read(["x"]);
    expect(token).toMatchObject({
      text: "x",
      fault: "malformed",
      carriesCapabilities: true,
      own: [],
      entries: [],
      proofs: [],
    });
    expect(token?.decoded).toBeUndefined();
    expect(token?.check()).toBe("malformed");
    expect(token?.verdict(owner.did)).toEqual({ grants: [], faults: [{ reason: "malformed" }] });
  });

  test("that only says who somebody is carries no capabilities", () => {
    const [identity, empty] = verifierBy().read([
      gives(owner, lead, {}, { claims: { att: undefined } }),
      gives(owner, lead, { att: [] }),
    ]);
    expect(identity).toMatchObject({ fault: "malformed", carriesCapabilities: false });
    expect(empty).toMatchObject({ carriesCapabilities: false });
    expect(empty?.check()).toBeUndefined();
    for (const root of [owner, stranger]) expect(empty?.verdict(root.did)).toEqual({ grants: [], faults: [] });
  });
});

describe("a revocation", () => {
  const root = gives(owner, lead);
  const top = gives(lead, worker, { prf: [root] });
  const idOf = (token: string) => verifierBy().read([token])[0]?.id ?? "";

  const rows: readonly [string, string][] = [
    ["of the top", idOf(top)],
    ["of its issuer", lead.did],
    ["of the proof", idOf(root)],
    ["of the owner", owner.did],
  ];
  test.each(rows)("%s ends the chain", (_what, entry) => {
    expect(judge([top], { revocations: revoking(entry) })).toEqual(refusedFor("revoked"));
  });

  test.each([
    ["of the audience", worker.did],
    ["of another token", idOf(gives(owner, lead, { nnc: 1 }))],
  ])("%s does not", (_what, entry) => {
    expect(judge([top], { revocations: revoking(entry) })).toEqual(gave(ALL));
  });

  test("is looked up once for each name, whoever asks", () => {
    const asked: string[] = [];
    const revocations = {
      has(name: string) {
        asked.push(name);
        return false;
      },
    };
    const [token] = verifierBy({ revocations }).read([top]);
    for (const someone of [owner, lead, stranger]) token?.verdict(someone.did);
    expect(token?.check()).toBeUndefined();
    expect(asked.sort()).toEqual([idOf(top), lead.did, idOf(root), owner.did].sort());
  });

  test("of one proof leaves what rests on another", () => {
    const other = gives(owner, lead, { nnc: "other" });
    const both = gives(lead, worker, { prf: [root, other] });
    expect(judge([both], { revocations: revoking(idOf(root)) })).toEqual(gave(ALL));
    expect(judge([both], { revocations: revoking(idOf(root), idOf(other)) })).toEqual(refusedFor("revoked", "revoked"));
  });

  test("is said of a token before its time and its signature are looked at", () => {
    const over = badlySigned(gives(owner, lead, { for: -1000 }));
    expect(judge([over], { revocations: revoking(owner.did) })).toEqual(refusedFor("revoked"));
    expect(judge([over])).toEqual(refusedFor("expired"));
  });

  test("of one of two DIDs of the issuer is one of both", () => {
    const canonicalDid = (did: string) => (did === owner.did ? "did:web:files.example" : did);
    for (const entry of [owner.did, "did:web:files.example"]) {
      const rules = { canonicalDid, revocations: revoking(entry) };
      expect(judge([top], rules, "did:web:files.example")).toEqual(refusedFor("revoked"));
    }
  });

  const OTHER = "A".repeat(43);
  const facts: readonly [string, unknown, boolean][] = [
    ["whom it was made for", [{ "venue-files": { for: stranger.did } }], true],
    ["what it was made by", [{ "venue-files": { via: ["B".repeat(43), OTHER] } }], true],
    ["these behind facts of others", ["x", null, 5, { a: 1 }, { "venue-files": { via: [OTHER] } }], true],
    ["these in a map, as in version 0.10", { "venue-files": { for: stranger.did } }, true],
    ["these with something odd beside", [{ "venue-files": { for: 5, via: [null, OTHER] } }], true],
    ["nothing", [{ "venue-files": {} }], false],
    ["something that is no list", [{ "venue-files": { via: OTHER } }, { "venue-files": { via: 5 } }], false],
    ["nothing of ours", [{ "other-files": { for: stranger.did } }], false],
    ["a list in ours", [{ "venue-files": [stranger.did] }], false],
    ["no facts", null, false],
  ];
  test.each(facts)("reaches a token that says in its facts %s: %j %s", (_what, fct, reaches) => {
    const token = gives(owner, lead, {}, { claims: { fct } });
    const canonicalDid = (did: string) => did.trim();
    const rules = { revocations: revoking(stranger.did, OTHER), canonicalDid };
    expect(judge([token], rules)).toEqual(reaches ? refusedFor("revoked") : gave(ALL));
    expect(judge([token])).toEqual(gave(ALL));
    const below = gives(lead, worker, { prf: [token] });
    expect(judge([below], rules)).toEqual(reaches ? refusedFor("revoked") : gave(ALL));
  });
});
