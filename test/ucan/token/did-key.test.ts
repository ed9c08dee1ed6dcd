import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { didKeyFromPublicKey, multikeyFromPublicKey, publicKeyFromDidKey } from "../../../src/ucan/token/did-key.js";
import { smallOrderKeys } from "../verify/weak-keys.js";

// Public keys and DIDs of https://w3c-ccg.github.io/did-key-spec/ and of RFC 8032 §7.1, tests 1 and 2.
const KNOWN = [
  [
    "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
    "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
  ],
  [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
  ],
] as const;
const DID = KNOWN[0][1];

describe("the did:key of an Ed25519 key", () => {
  test.each(KNOWN)("%s is %s", (key, did) => {
    expect(didKeyFromPublicKey(Buffer.from(key, "hex"))).toBe(did);
    expect(`did:key:${multikeyFromPublicKey(Buffer.from(key, "hex"))}`).toBe(did);
  });

  test.each([0, 31, 33])("is refused for %i bytes", (length) => {
    expect(() => didKeyFromPublicKey(new Uint8Array(length))).toThrow(RangeError);
  });
});

describe("the Ed25519 key of a did:key", () => {
  test.each(KNOWN)("is %s of %s", (key, did) => {
    expect(Buffer.from(publicKeyFromDidKey(did) ?? []).toString("hex")).toBe(key);
  });

  test.each([
    ["nothing", ""],
    ["another method", DID.replace("did:key:", "did:kex:")],
    ["capital letters", DID.replace("did:", "DID:")],
    ["another multibase", DID.replace(":z6Mk", ":u6Mk")],
    ["a fragment", `${DID}#${DID.slice(8)}`],
    ["a bare multikey", DID.slice(8)],
    ["a space behind it", `${DID} `],
    ["a space in place of a character", `${DID.slice(0, -1)} `],
    ["a character that base58 does not have", `${DID.slice(0, -1)}0`],
    ["one character less", DID.slice(0, -1)],
    ["one character more", `${DID}1`],
    ["a leading zero byte", DID.replace(":z6", ":z16")],
    // The example of https://w3c-ccg.github.io/did-key-spec/ with an X25519 key, as long as ours.
    ["a key of X25519", "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"],
    ["a key of P-256", "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"],
  ])("is refused for %s", (_what, did) => {
    expect(publicKeyFromDidKey(did)).toBeUndefined();
  });

  test("has one DID only", () => {
    const edit = fc.record({ at: fc.nat(DID.length), cut: fc.nat(2), put: fc.string({ maxLength: 2 }) });
    fc.assert(
      fc.property(edit, ({ at, cut, put }) => {
        const text = DID.slice(0, at) + put + DID.slice(at + cut);
        const key = publicKeyFromDidKey(text);
        expect(key === undefined ? text : didKeyFromPublicKey(key)).toBe(text);
      }),
    );
  });

  test("is the key that the DID was made of", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        // Clear of the top of the field, where no key is.
        const key = Uint8Array.from(bytes, (byte, index) =>
          index === 30 ? byte & 0x7f : index === 29 ? byte | 1 : byte,
        );
        expect(publicKeyFromDidKey(didKeyFromPublicKey(key))).toEqual(key);
      }),
    );
  });
});

describe("a key with which anybody can sign", () => {
  /** The neutral element and nothing else: no secret is needed for it. */
  const NOBODYS = Buffer.concat([Buffer.of(1), Buffer.alloc(63)]);

  test.each(smallOrderKeys())("is no did:key, though OpenSSL takes it: %s", (hex) => {
    const raw = Buffer.from(hex, "hex");
    const header = Buffer.from("302a300506032b6570032100", "hex");
    const key = createPublicKey({ key: Buffer.concat([header, raw]), format: "der", type: "spki" });
    const messages = Array.from({ length: 200 }, (_, index) => Buffer.from(`message ${index}`));
    expect(messages.some((message) => verify(null, message, key, NOBODYS))).toBe(true);
    expect(publicKeyFromDidKey(didKeyFromPublicKey(raw))).toBeUndefined();
  });

  test("is any other way to write a key, too", () => {
    for (let low = 0xed; low <= 0xff; low++) {
      for (const high of [0x7f, 0xff]) {
        const raw = Uint8Array.of(low, ...Array<number>(30).fill(0xff), high);
        expect(publicKeyFromDidKey(didKeyFromPublicKey(raw))).toBeUndefined();
      }
    }
    // The largest coordinate but one is no point of small order, and below the prime.
    const raw = Uint8Array.of(0xeb, ...Array<number>(30).fill(0xff), 0x7f);
    expect(publicKeyFromDidKey(didKeyFromPublicKey(raw))).toEqual(raw);
  });
});
