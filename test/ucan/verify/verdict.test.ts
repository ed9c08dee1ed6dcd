import { describe, expect, test } from "@jest/globals";
import {
  ALL,
  badlySigned,
  can,
  chainOf,
  DOCS,
  gave,
  gives,
  helper,
  judge,
  last,
  lead,
  owner,
  refusedFor,
  stranger,
  worker,
} from "../chains.js";
import { NOW, signer } from "../tokens.js";
import { verifierBy } from "./judge.js";

/** A P-256 key. */
const P256 = "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169";
const everyone = [owner, lead, worker, helper, last];

describe("a token of the owner", () => {
  test("gives what it lists, and its chain is itself", () => {
    const token = gives(owner, lead, { att: [DOCS, can("b/", "crud/delete")] });
    const [read] = verifierBy().read([token]);
    expect(read?.verdict(owner.did)).toEqual({
      grants: [DOCS, can("b/", "crud/delete")].map((written) => ({
        grant: expect.objectContaining({ written }),
        chain: [{ id: read?.id, issuer: owner.did }],
        expiresAt: NOW + 3600,
      })),
      faults: [],
    });
  });

  test("gives nothing where another is the owner", () => {
    expect(judge([gives(owner, lead)], {}, stranger.did)).toEqual(refusedFor("issuer_not_owner"));
  });

  test("gives nothing of what grants nothing", () => {
    const att = [DOCS, { with: "file:///docs", can: "crud" }, { ...DOCS, nb: {} }, { ...DOCS, can: "CRUD" }, null, "x"];
    expect(judge([gives(owner, lead, { att })])).toEqual(gave(ALL));
  });

  test.each([
    ["every file, as a pattern", { with: "file:*", can: "*" }],
    ["everything", { with: "*", can: "*" }],
    ["all that is mine", { with: "my:*", can: "*" }],
    ["a resource of a service", { with: "as:did:key:z6Mk:*", can: "*" }],
    ["what a proof gives", { with: "prf:0", can: "crud" }],
    ["what all proofs give", { with: "prf:*", can: "ucan/DELEGATE" }],
    ["no resource", { can: "crud" }],
    ["an empty resource", { with: "", can: "crud" }],
    ["the members of version 0.3", { rsc: "file://docs/", cap: "crud", pot: "*" }],
    ["conditions", { ...DOCS, nb: { maxBytes: 1 } }],
    ["no conditions, but says so", { ...DOCS, nb: {} }],
  ])("gives nothing for an entry with %s", (_what, entry) => {
    expect(judge([gives(owner, lead, { att: [entry] })])).toEqual(gave());
  });

  test("needs no proofs, and those it has are not looked at", () => {
    expect(judge([gives(owner, lead, { prf: [badlySigned(gives(stranger, owner))] })])).toEqual(gave(ALL));
  });

  test.each([
    ["who is known by another DID", owner.did, "did:web:files.example"],
    ["when the root has the other DID", "did:web:files.example", owner.did],
  ])("is that of the venue, too, %s", (_what, from, root) => {
    const rules = { canonicalDid: (did: string) => (did === from ? root : did) };
    expect(judge([gives(owner, lead)], rules, root)).toEqual(gave(ALL));
    expect(judge([gives(owner, lead)], rules, from)).toEqual(gave(ALL));
    expect(judge([gives(stranger, lead)], rules, root)).toEqual(refusedFor("issuer_not_owner"));
  });
});

describe("a chain", () => {
  test.each([2, 3, 4, 5])("of %i signers reaches its end", (length) => {
    expect(judge(chainOf(everyone.slice(0, length)).slice(0, 1))).toEqual(gave(ALL));
  });

  test("is told from the top to the root, and ends with its top", () => {
    const root = gives(owner, lead, { for: 9000 });
    const middle = gives(lead, worker, { for: 5000, prf: [gives(stranger, lead), root] });
    const [top] = verifierBy().read([gives(worker, helper, { for: 5000, prf: [middle] })]);
    const verdict = top?.verdict(owner.did);
    expect(verdict?.grants[0]?.chain.map(({ issuer }) => issuer)).toEqual([worker.did, lead.did, owner.did]);
    expect(verdict?.grants[0]?.expiresAt).toBe(NOW + 5000);
    expect(new Set(verdict?.grants[0]?.chain.map(({ id }) => id)).size).toBe(3);
  });

  test("may pass over the other DID of one of its issuers", () => {
    const rules = { canonicalDid: (did: string) => (did === lead.did ? "did:web:lead" : did) };
    const root = gives(owner, { did: "did:web:lead" });
    expect(judge([gives(lead, worker, { prf: [root] })], rules)).toEqual(gave(ALL));
    expect(judge([gives(lead, worker, { prf: [root] })])).toEqual(refusedFor("broken_chain"));
  });

  test("may have one that begins in a proof that began long ago", () => {
    const root = gives(owner, lead, {}, { claims: { nbf: 1 } });
    expect(judge([gives(lead, worker, { prf: [root] })])).toEqual(gave(ALL));
  });

  test.each([
    ["a proof that ends first", { for: 600 }, {}, { for: 3600 }, {}, NOW + 600],
    ["a proof that never ends", {}, { claims: { exp: null } }, { for: 3600 }, {}, NOW + 3600],
    ["a top that never ends", { for: 600 }, {}, {}, { claims: { exp: null } }, NOW + 600],
  ])("with %s ends with its earliest end", (_what, proof, proofClaims, given, claims, end) => {
    const token = gives(lead, worker, { prf: [gives(owner, lead, proof, proofClaims)], ...given }, claims);
    const [read] = verifierBy().read([token]);
    expect(read?.verdict(owner.did)).toMatchObject({ grants: [{ expiresAt: end }], faults: [] });
  });

  test("that never ends at all grants nothing, unless that is allowed", () => {
    const endless = { claims: { exp: null } };
    const chain = [gives(lead, worker, { prf: [gives(owner, lead, {}, endless)] }, endless)];
    expect(judge(chain)).toEqual(refusedFor("no_exp"));
    expect(judge(chain, { allowNoExpiry: true })).toEqual(gave(ALL));
  });

  test("grants nothing while one of its links is not valid, whichever that is", () => {
    for (const [proof, top] of [
      [{ for: -31 }, {}],
      [{ nbf: NOW + 60 }, {}],
      [{}, { for: -31 }],
    ] as const) {
      const claims = "nbf" in proof ? { claims: { nbf: proof.nbf } } : {};
      const first = gives(owner, lead, "for" in proof ? proof : {}, claims);
      const [read] = verifierBy().read([gives(lead, worker, { prf: [first], ...top })]);
      expect(read?.verdict(owner.did).grants).toEqual([]);
    }
  });

  const byLead = (root: string, given: Parameters<typeof gives>[2] = {}) =>
    gives(lead, worker, { prf: [root], ...given });
  const bad: readonly [string, string, string][] = [
    ["whose root is a stranger's", "issuer_not_owner", byLead(gives(stranger, lead))],
    ["whose root is the next in line", "issuer_not_owner", gives(lead, worker)],
    ["whose proof is for another", "broken_chain", byLead(gives(owner, stranger))],
    ["whose proof is for whom its top is for", "broken_chain", byLead(gives(owner, worker))],
    ["whose proof has the signature of another", "bad_signature", byLead(badlySigned(gives(owner, lead)))],
    [
      "whose proof was forged by a stranger",
      "bad_signature",
      byLead(gives({ ...stranger, did: owner.did, multikey: owner.multikey }, lead)),
    ],
    [
      "whose proof names another key",
      "kid_mismatch",
      byLead(gives(owner, lead, {}, { header: { kid: stranger.multikey } })),
    ],
    ["whose proof begins later", "not_yet_valid", byLead(gives(owner, lead, {}, { claims: { nbf: NOW + 31 } }))],
    ["whose proof does not say when it ends", "no_exp", byLead(gives(owner, lead, {}, { claims: { exp: undefined } }))],
    ["whose proof lives too long", "bad_exp", byLead(gives(owner, lead, { for: 31_622_431 }))],
    ["whose proof has no version", "bad_version", byLead(gives(owner, lead, {}, { claims: { ucv: undefined } }))],
    ["whose proof is no token", "malformed", byLead("a.b.c")],
    [
      "whose proof is not there",
      "proof_not_found",
      byLead("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"),
    ],
    ["whose proof is empty", "proof_not_found", byLead("")],
    [
      "whose proof has no name of a key",
      "bad_did",
      byLead(gives({ ...owner, did: "did:web:o" }, lead, {}, { header: { kid: undefined } })),
    ],
    [
      "whose proof is by a key of another kind",
      "bad_did",
      byLead(gives({ ...owner, did: P256 }, lead, {}, { header: { kid: undefined } })),
    ],
    [
      "whose proof only says who somebody is",
      "malformed",
      byLead(gives(owner, lead, {}, { claims: { att: undefined } })),
    ],
    [
      "whose proof lists nothing of the kind",
      "widened_or_unrooted",
      byLead(gives(owner, lead, { att: [{ with: "my:*", can: "*" }] })),
    ],
  ];
  test.each(bad)("%s gives nothing: %s", (_what, reason, token) => {
    expect(judge([token])).toEqual(refusedFor(reason));
  });

  test("of the owner of another root gives nothing in this one, nor one of the operator", () => {
    const operator = signer(20);
    const chain = chainOf([operator, lead, worker]);
    expect(judge(chain.slice(0, 1), {}, operator.did)).toEqual(gave(ALL));
    expect(judge(chain.slice(0, 1))).toEqual(refusedFor("issuer_not_owner"));
  });
});

describe("a delegate", () => {
  const passOn = (held: readonly unknown[], att: readonly unknown[]) =>
    judge([gives(lead, worker, { att, prf: [gives(owner, lead, { att: held })] })]);

  test.each([
    ["a folder of it", can("docs/a"), true],
    ["the same without a slash", can("docs"), true],
    ["fewer abilities", can("docs/", "crud/write"), true],
    ["the same in other words", can("docs/", "crud/*"), true],
    ["a folder with a name that begins alike", can("docs-evil/"), false],
    ["a longer name of a root", can("docs2/"), false],
    ["all roots", can(""), false],
    ["every ability", can("docs/", "*"), false],
    ["another ability that begins alike", can("docs/", "crud2"), false],
    ["another root", can("other/"), false],
    ["a way out", can("docs/../other"), false],
    ["a way out in code", can("docs/%2e%2e/other"), false],
    ["a backslash", can("docs\\..\\other"), false],
    ["another case", can("Docs/"), false],
  ])("passes on %s: %j %s", (_what, entry, passes) => {
    const { grants } = passOn([DOCS], [entry]);
    expect(grants).toEqual(passes ? [`${entry.can} on ${entry.with}`] : []);
  });

  test("keeps what is covered, in its order, and hears once that some is not", () => {
    const att = [can("x/"), can("docs/b"), can("y/"), can("docs/a")];
    const reasons = ["widened_or_unrooted"];
    expect(passOn([DOCS], att)).toEqual({
      grants: ["crud/read on file://docs/b", "crud/read on file://docs/a"],
      reasons,
    });
  });

  test("is told of what is wrong with the token that drops a part", () => {
    const middle = gives(lead, worker, { att: [can("x/"), can("docs/a")], prf: [gives(owner, lead)] });
    const [top] = verifierBy().read([
      gives(worker, helper, { att: [can("x/"), can("docs/a")], prf: [middle] }),
      middle,
    ]);
    const verdict = top?.verdict(owner.did);
    const ids =
      top === undefined
        ? []
        : verifierBy()
            .read([middle])
            .map(({ id }) => id);
    expect(verdict?.grants).toHaveLength(1);
    expect(verdict?.faults).toEqual([
      { reason: "widened_or_unrooted", id: ids[0] },
      { reason: "widened_or_unrooted", id: top?.id },
    ]);
  });

  test("needs one grant that covers, and two halves of one are none", () => {
    const halves = [can("docs/", "crud/read"), can("docs/", "crud/write")];
    expect(passOn(halves, [DOCS])).toEqual(refusedFor("widened_or_unrooted"));
  });

  test("may rest on several proofs, each for its part", () => {
    const prf = [gives(owner, lead, { att: [can("a/")] }), gives(owner, lead, { att: [can("b/")] })];
    const att = [can("b/x"), can("a/x"), can("c/x")];
    expect(judge([gives(lead, worker, { att, prf })])).toEqual({
      grants: ["crud/read on file://b/x", "crud/read on file://a/x"],
      reasons: ["widened_or_unrooted"],
    });
  });

  test("is not hurt by bad proofs beside a good one, in whatever order", () => {
    const good = gives(owner, lead);
    const others = [gives(stranger, lead), badlySigned(good), "x.y.z", "bafk"];
    for (let at = 0; at < 4; at++) {
      const prf = others.slice(0, 3).toSpliced(at, 0, good);
      expect(judge([gives(lead, worker, { prf })])).toEqual(gave(ALL));
    }
    expect(judge([gives(lead, worker, { prf: others })]).reasons).toEqual([
      "issuer_not_owner",
      "bad_signature",
      "malformed",
      "proof_not_found",
    ]);
  });

  test("who names a proof in the place of its own key gains nothing", () => {
    // The worker's grant, used by a stranger as if it were its own.
    const stolen = gives(lead, worker, { prf: [gives(owner, lead)] });
    expect(judge([gives(stranger, helper, { prf: [stolen] })])).toEqual(refusedFor("broken_chain"));
  });
});
