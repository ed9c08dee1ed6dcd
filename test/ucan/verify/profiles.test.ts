import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { tokenCid, tokenId } from "../../../src/ucan/token/id.js";
import { ALL, gave, gives, helper, judge, lead, owner, refusedFor, summary, worker } from "../chains.js";
import type { Changes, Signer } from "../tokens.js";
import { verifierBy } from "./judge.js";

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
