import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { type DecodedToken, decodeToken } from "../../../src/ucan/token/decode.js";
import { didKeyFromPublicKey } from "../../../src/ucan/token/did-key.js";
import type { TokenForm } from "../../../src/ucan/token/form.js";
import { tokenCid } from "../../../src/ucan/token/id.js";
import { checkSignature, createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { isRevocable, parseRevocations } from "../../../src/ucan/verify/revocation-list.js";
import { createChainCache, createIssuerMemory } from "../../../src/ucan/verify/verifier.js";
import { badlySigned, countingKeys, gives, helper, lead, owner, stranger, summary, worker } from "../chains.js";
import { alice, bob, encode, identityToken, NOW, signed, signer } from "../tokens.js";
import { verifierBy } from "./judge.js";
import { smallOrderKeys } from "./weak-keys.js";

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
    const cache = createChainCache<never>((text) => {
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

type Verifier = ReturnType<typeof verifierBy>;

const issuers = (verifier: Verifier, id: string | undefined) => {
  const known = verifier.issuersOf(id ?? "");
  return known === undefined ? undefined : [...known].sort();
};
const dids = (...signers: readonly { did: string }[]) => signers.map(({ did }) => did).sort();

describe("the issuers of a token", () => {
  const root = gives(owner, lead);
  const middle = gives(lead, worker, { prf: [root] });

  test("are known when it and its chain were found right", () => {
    const verifier = verifierBy();
    const [top] = verifier.read([gives(worker, helper, { prf: [middle] })]);
    expect(issuers(verifier, top?.id)).toBeUndefined();
    top?.verdict(owner.did);
    expect(issuers(verifier, top?.id)).toEqual(dids(worker, lead, owner));
    const [below] = verifier.read([middle]);
    expect(issuers(verifier, below?.id)).toEqual(dids(lead, owner));
  });

  test("is its own alone as long as only it was looked at", () => {
    const verifier = verifierBy();
    const [token] = verifier.read([middle]);
    expect(token?.check()).toBeUndefined();
    expect(issuers(verifier, token?.id)).toEqual(dids(lead));
  });

  test("are not those whose name somebody put there", () => {
    const verifier = verifierBy();
    const prf = [badlySigned(gives(owner, lead)), gives(stranger, worker), root];
    const [token] = verifier.read([gives(lead, worker, { prf })]);
    expect(token?.verdict(owner.did).grants).toHaveLength(1);
    expect(issuers(verifier, token?.id)).toEqual(dids(lead, owner));
    const [forged] = verifier.read([badlySigned(root)]);
    forged?.verdict(owner.did);
    expect(issuers(verifier, forged?.id)).toEqual(dids(owner));
    const [unknown] = verifier.read([badlySigned(gives(owner, helper))]);
    unknown?.verdict(owner.did);
    expect(issuers(verifier, unknown?.id)).toBeUndefined();
  });

  test("are also those of proofs by CID", () => {
    const verifier = verifierBy();
    const [token] = verifier.read([gives(lead, worker, { prf: [tokenCid(root)] }), root]);
    token?.verdict(owner.did);
    expect(issuers(verifier, token?.id)).toEqual(dids(lead, owner));
  });

  test("have the DID that they have here", () => {
    const verifier = verifierBy({ canonicalDid: (did) => (did === owner.did ? "did:web:files" : did) });
    const [token] = verifier.read([middle]);
    token?.verdict("did:web:files");
    expect(issuers(verifier, token?.id)).toEqual([lead.did, "did:web:files"].sort());
  });

  test("are remembered of the 10,000 tokens seen last", () => {
    const memory = createIssuerMemory();
    for (let n = 0; n < 10_000; n++) memory.add(`${n}`, ["did:x:y"]);
    memory.add("0", ["did:x:z"]);
    memory.add("new", ["did:x:y"]);
    expect([...(memory.of("0") ?? [])]).toEqual(["did:x:y", "did:x:z"]);
    expect(memory.of("1")).toBeUndefined();
    expect(memory.of("2")).toBeDefined();
  });
});

const [a, b, c] = [signer(11).did, signer(12).did, signer(13).did];

test("a key is made of its DID", () => {
  const spki = createPublicKeys().of(a)?.export({ format: "der", type: "spki" });
  expect(spki?.subarray(-32).toString("hex")).toBe(Buffer.from(signer(11).publicKey).toString("hex"));
});

test("what is no DID of a key has none", () => {
  const keys = createPublicKeys();
  expect(keys.of("did:web:example.org")).toBeUndefined();
  expect(keys.of(`${a}x`)).toBeUndefined();
});

test("keys are kept, those used last, and never more than the limit", () => {
  const keys = createPublicKeys(2);
  const first = [keys.of(a), keys.of(b)];
  expect(keys.of(a)).toBe(first[0]);
  keys.of(c);
  expect(keys.of(a)).toBe(first[0]);
  expect(keys.of(b)).not.toBe(first[1]);
});

/** Ids end in one of few letters: their last one stands for two bits only. */
const ID = `${"a-_Z09".repeat(7)}E`;

describe("a revocation list", () => {
  test("has an entry a line, with comments and empty lines between", () => {
    const text = `# what\n\n${ID}\n  ${alice.did}\t# the lead, #2\r\n#${ID}\n \t\ndid:web:files.example%3A8080:a`;
    expect(parseRevocations(text)).toEqual({ entries: [ID, alice.did, "did:web:files.example%3A8080:a"] });
  });

  test("may begin with a mark of byte order, as some editors write it", () => {
    expect(parseRevocations(`\ufeff${ID}\n`)).toEqual({ entries: [ID] });
  });

  test("has ids that issuers gave to their JWTs, whatever stands in them", () => {
    const ids = ["jti:7", "jti:onrtac:0f-1/a?b=c", 'jti:"x"'];
    expect(parseRevocations(`${ids.join("\n")} # lost\n`)).toEqual({ entries: ids });
  });

  test.each(["", "\n", "# nothing", "\r\n \r\n"])("may be empty: %j", (text) => {
    expect(parseRevocations(text)).toEqual({ entries: [] });
  });

  test.each([
    ["a word", "revoked"],
    ["an id that is cut", ID.slice(0, -1)],
    ["an id with a letter more", `${ID}A`],
    ["an id that no hash has", `${ID.slice(0, -1)}F`],
    ["an id in base64", `${ID.slice(0, 10)}+${ID.slice(11)}`],
    ["two entries", `${ID} ${ID}`],
    ["two entries and a comma", `${ID},${ID}`],
    ["an entry in quotes", `"${ID}"`],
    ["a DID without a name", "did:key:"],
    ["a DID without a method", "did::x"],
    ["a DID in capitals", "DID:key:x"],
    ["a DID with a path", `${alice.did}/x`],
    ["a DID with a question", `${alice.did}?x`],
    ["no id of a JWT", "jti:"],
    ["an id of a JWT with a space", "jti:a b"],
    ["an id of a JWT that is too long", `jti:${"a".repeat(257)}`],
    ["a comment of another kind", "// x"],
  ])("is malformed with %s, and says where", (_what, line) => {
    expect(parseRevocations(`${ID}\n# x\n${line}\n${line}\n`)).toEqual({ malformedLine: 3 });
    expect(isRevocable(line)).toBe(false);
  });
});

const keys = createPublicKeys();
/** Order of the group, in which the scalar of a signature is counted. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

function decoded(token: string): DecodedToken {
  const result = decodeToken(token);
  if ("fault" in result) throw new Error(result.fault);
  return result;
}

const check = (token: DecodedToken) => checkSignature(token, keys);

/** The token with a number added to the scalar of its signature. */
function shifted(token: DecodedToken, by: bigint): DecodedToken {
  const scalar = BigInt(`0x${Buffer.from(token.signature.subarray(32)).reverse().toString("hex")}`) + by;
  const bytes = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
  return { ...token, signature: Buffer.concat([token.signature.subarray(0, 32), bytes]) };
}

describe("a signature", () => {
  test("of the issuer is right", () => {
    expect(check(decoded(identityToken()))).toBeUndefined();
  });

  // RFC 8032 §7.1, test 3, whose message is no token.
  test("is one of RFC 8032", () => {
    const token: DecodedToken = {
      ...decoded(identityToken()),
      issuer: didKeyFromPublicKey(
        Buffer.from("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "hex"),
      ),
      signedText: Buffer.from("af82", "hex").toString("latin1"),
      signature: Buffer.from(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        "hex",
      ),
    };
    expect(check(token)).toBeUndefined();
    expect(check({ ...token, signedText: "ab" })).toBe("bad_signature");
  });

  test("of another is wrong, whatever the header names", () => {
    const header = { alg: "EdDSA", kid: alice.multikey, jwk: { kty: "OKP", crv: "Ed25519", x: encode("bob") } };
    const token = signed({ header, payload: { iss: alice.did, exp: NOW } }, bob.privateKey);
    expect(check(decoded(token))).toBe("bad_signature");
  });

  test("has one form: the same with a scalar that is not reduced is wrong", () => {
    const token = decoded(identityToken());
    expect(check(shifted(token, 0n))).toBeUndefined();
    expect(check(shifted(token, ORDER))).toBe("bad_signature");
    expect(check(shifted(token, 2n * ORDER))).toBe("bad_signature");
  });

  test.each(["did:web:example.org", "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", "alice"])(
    "needs a key that can be found: not %s",
    (issuer) => {
      expect(check({ ...decoded(identityToken()), issuer })).toBe("bad_did");
    },
  );

  test.each(smallOrderKeys())("needs a key that only one can sign with: not %s", (hex) => {
    const raw = Buffer.from(hex, "hex");
    const signature = Buffer.concat([Buffer.of(1), Buffer.alloc(63)]);
    const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const texts = Array.from({ length: 200 }, (_, index) => `header.payload${index}`);
    const signedText = texts.find((text) => verify(null, Buffer.from(text), key, signature)) ?? "none";
    expect(texts).toContain(signedText);
    const forged = { ...decoded(identityToken()), issuer: didKeyFromPublicKey(raw), signedText, signature };
    expect(check(forged)).toBe("bad_did");
  });
});
