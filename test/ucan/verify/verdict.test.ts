import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { tokenCid, tokenId } from "../../../src/ucan/token/id.js";
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
  summary,
  worker,
} from "../chains.js";
import { type Changes, NOW, type Signer, signer } from "../tokens.js";
import { revoking, verifierBy } from "./judge.js";

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

/** What makes a token of each profile out of one of ours. */
const PROFILES: Readonly<Record<string, Changes>> = {
  "UCAN 0.8": { header: { kid: undefined, ucv: "0.8.1" }, claims: { ucv: undefined } },
  "UCAN 0.9": { header: { kid: undefined, ucv: "0.9.1" }, claims: { ucv: undefined } },
  "UCAN 0.10": {
    header: { kid: undefined },
    claims: { att: undefined, cap: { "file://docs/": { crud: [{}] } }, prf: undefined },
  },
  Covia: {},
};
const names = Object.keys(PROFILES);

describe("a token", () => {
  test.each(names)("of %s is read", (name) => {
    expect(judge([gives(owner, lead, {}, PROFILES[name])])).toEqual(gave(ALL));
  });

  const versions: readonly [string, Changes, boolean][] = [
    ["none", { claims: { ucv: undefined } }, false],
    ["two", { header: { ucv: "0.10.0" } }, false],
    ["two that are different", { header: { ucv: "0.8.1" } }, false],
    ["null", { claims: { ucv: null } }, false],
    ["a number", { claims: { ucv: 0.1 } }, false],
    ["a list", { claims: { ucv: ["0.10.0"] } }, false],
    ["nothing", { claims: { ucv: "" } }, false],
    ["0.3.0", { claims: { ucv: "0.3.0" } }, false],
    ["1.0.0", { claims: { ucv: "1.0.0" } }, false],
    ["99.0.0", { claims: { ucv: "99.0.0" } }, false],
    ["0.10", { claims: { ucv: "0.10" } }, false],
    ["0.10.0-rc.1", { claims: { ucv: "0.10.0-rc.1" } }, false],
    ["0.10.00", { claims: { ucv: "0.10.00" } }, false],
    ["0.10.0 and a line", { claims: { ucv: "0.10.0\n" } }, false],
    ["0.100.0", { claims: { ucv: "0.100.0" } }, false],
    ["0.10.7", { claims: { ucv: "0.10.7" } }, true],
    ["0.8.0 in its header", { header: { ucv: "0.8.0" }, claims: { ucv: undefined } }, true],
    ["0.9.12 in its header", { header: { ucv: "0.9.12" }, claims: { ucv: undefined } }, true],
    ["0.10.0 in its header", { header: { ucv: "0.10.0" }, claims: { ucv: undefined } }, false],
    ["0.8.1 in its payload", { claims: { ucv: "0.8.1" } }, false],
    ["0.9.1 and a map", { header: { ucv: "0.9.1" }, claims: { ucv: undefined, att: undefined, cap: {} } }, false],
  ];
  test.each(versions)("whose version is %s: %j %s", (_what, changes, known) => {
    expect(judge([gives(owner, lead, {}, changes)])).toEqual(known ? gave(ALL) : refusedFor("bad_version"));
  });

  const unversioned: readonly [string, Changes, boolean][] = [
    ["names its key and has an array", {}, true],
    ["does not name its key", { header: { kid: undefined } }, false],
    ["has a map", { claims: { ucv: undefined, att: undefined, cap: {} } }, false],
    ["is of version 0.3", { header: { uav: "0.3.0", kid: undefined } }, false],
    ["has an unknown version after all", { claims: { ucv: "0.3.0" } }, false],
  ];
  test.each(unversioned)(
    "without a version that %s is taken only where that is allowed: %j %s",
    (_what, changes, taken) => {
      const token = gives(owner, lead, {}, { ...changes, claims: { ucv: undefined, ...changes.claims } });
      expect(judge([token], { acceptUnversionedCovia: true })).toEqual(taken ? gave(ALL) : refusedFor("bad_version"));
      expect(judge([token])).toEqual(refusedFor("bad_version"));
    },
  );
});

describe("a map of capabilities", () => {
  const map = (cap: object) => judge([gives(owner, lead, {}, { claims: { att: undefined, cap } })]);
  const rows: readonly [string, object, readonly string[]][] = [
    ["is nothing when it is empty", {}, []],
    [
      "gives what has no conditions",
      { "file://a/": { "crud/read": [{}], "crud/write": [{}] } },
      ["crud/read", "crud/write"],
    ],
    ["gives what also has no conditions", { "file://a/": { "crud/read": [{ x: 1 }, {}] } }, ["crud/read"]],
    ["gives nothing under conditions", { "file://a/": { "crud/read": [{ x: 1 }] } }, []],
    ["gives nothing without any list of conditions", { "file://a/": { "crud/read": [] } }, []],
    ["gives nothing for conditions that are no list", { "file://a/": { "crud/read": {} } }, []],
    ["gives nothing for conditions that are null", { "file://a/": { "crud/read": null } }, []],
    ["gives nothing for a list in a list", { "file://a/": { "crud/read": [[]] } }, []],
    ["gives nothing for abilities in a list", { "file://a/": ["crud/read"] }, []],
    ["gives nothing for other resources", { "my:*": { "*": [{}] }, "file:*": { "*": [{}] } }, []],
  ];
  test.each(rows)("%s: %j", (_what, cap, abilities) => {
    expect(map(cap)).toEqual(gave(...abilities.map((ability) => `${ability} on file://a/`)));
  });

  test("does not confuse names that mean something to JavaScript", () => {
    const cap = JSON.parse('{"__proto__":{"crud":[{}]},"file://a/":{"__proto__":[{}],"crud":[{}],"constructor":[{}]}}');
    expect(map(cap)).toEqual(gave("crud on file://a/", "constructor on file://a/"));
  });

  test("is shown as it is written, and carries capabilities when there is anything in it", () => {
    const cap = { "file://a/": { crud: [{ x: 1 }], "crud/read": [{}] }, "x:y": 5 };
    const read = (claims: object) =>
      verifierBy().read([gives(owner, lead, {}, { claims: { att: undefined, ...claims } })])[0];
    expect(read({ cap })).toMatchObject({
      carriesCapabilities: true,
      entries: [
        { with: "file://a/", can: "crud" },
        { with: "file://a/", can: "crud/read" },
      ],
    });
    expect(read({ cap: { "x:y": 5 } })?.carriesCapabilities).toBe(true);
    expect(read({ cap: {} })?.carriesCapabilities).toBe(false);
  });
});

describe("a proof named by its CID", () => {
  const root = gives(owner, lead);
  const rest = (prf: readonly string[]) => gives(lead, worker, { prf });

  test("is found among the tokens of the request, wherever it stands", () => {
    const top = rest([tokenCid(root)]);
    expect(judge([top, root])).toEqual(gave(ALL));
    const [, read] = verifierBy().read([root, top]);
    expect(read?.verdict(owner.did).grants[0]?.chain).toHaveLength(2);
  });

  test("is not found when it did not come along, even if it came along before", () => {
    const verifier = verifierBy();
    const top = rest([tokenCid(root)]);
    expect(verifier.read([top, root])[0]?.verdict(owner.did).grants).toHaveLength(1);
    expect(summary(verifier.read([top])[0]?.verdict(owner.did) ?? { grants: [], faults: [] })).toEqual(
      refusedFor("proof_not_found"),
    );
  });

  test("is not found inside another token", () => {
    expect(judge([rest([tokenCid(root)]), gives(lead, helper, { prf: [root] })])).toEqual(
      refusedFor("proof_not_found"),
    );
  });

  test("is one that can be read", () => {
    expect(judge([rest([tokenCid("a.b.c")]), "a.b.c"])).toEqual(refusedFor("proof_not_found"));
  });

  const cid = tokenCid(root);
  const digest = createHash("sha256").update(root).digest("hex");
  test.each([
    ["of a changed token", tokenCid(`${root}x`)],
    ["in capitals", cid.toUpperCase()],
    ["without its base", cid.slice(1)],
    ["with another base", `f01551220${digest}`],
    ["with padding", `${cid}=`],
    ["with a name of its method", `ipfs://${cid}`],
  ])("has exactly one name: not the one %s", (_what, name) => {
    expect(judge([rest([name]), root])).toEqual(refusedFor("proof_not_found"));
  });

  test("has version 1, the raw codec and SHA-256", () => {
    // That of no bytes at all, as other software prints it.
    expect(tokenCid("")).toBe("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku");
  });

  test("may itself name its proofs so, whichever way round they come", () => {
    const middle = rest([tokenCid(root)]);
    const top = gives(worker, helper, { prf: [tokenCid(middle)] });
    expect(judge([top, root, middle])).toEqual(gave(ALL));
    expect(judge([top, middle])).toEqual(refusedFor("proof_not_found"));
  });
});

describe("a chain of different profiles", () => {
  const people: readonly Signer[] = [owner, lead, worker, helper];
  const link = (profile: string, by: number, prf: readonly string[]) => {
    const [from = owner, to = owner] = people.slice(by);
    const { header, claims } = PROFILES[profile] ?? {};
    return gives(from, to, {}, { ...(header && { header }), claims: { ...claims, prf } });
  };

  test.each(names.flatMap((a) => names.flatMap((b) => names.map((c): [string, string, string] => [a, b, c]))))(
    "is read: %s under %s under %s",
    (a, b, c) => {
      const root = link(a, 0, []);
      const middle = link(b, 1, [root]);
      expect(judge([link(c, 2, [middle])])).toEqual(gave(ALL));
      const named = link(b, 1, [tokenCid(root)]);
      expect(judge([link(c, 2, [tokenCid(named)]), named, root])).toEqual(gave(ALL));
    },
  );
});

describe("the id of a token", () => {
  test("is the hash of what was signed, so the signature has no part in it", () => {
    const token = gives(owner, lead);
    const signedText = token.slice(0, token.lastIndexOf("."));
    const [read] = verifierBy().read([token]);
    expect(read?.id).toBe(createHash("sha256").update(signedText).digest("base64url"));
    expect(read?.id).toBe(tokenId(signedText));
    expect(verifierBy().read([`${signedText}.${Buffer.alloc(64).toString("base64url")}`])[0]?.id).toBe(read?.id);
  });

  test("does not let one signature stand for another", () => {
    const good = gives(owner, lead);
    const bad = `${good.slice(0, good.lastIndexOf("."))}.${Buffer.alloc(64).toString("base64url")}`;
    for (const order of [
      [good, bad],
      [bad, good],
    ]) {
      const verifier = verifierBy();
      const verdicts = verifier.read(order).map((token) => [token.text, token.check()]);
      expect(Object.fromEntries(verdicts)).toEqual({ [good]: undefined, [bad]: "bad_signature" });
    }
  });
});

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
