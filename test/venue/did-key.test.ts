import { describe, expect, test } from "@jest/globals";
import { createEphemeralIdentity, didKeyFromPublicKey } from "../../src/ucan/did-key.js";

describe("the did:key of an Ed25519 key", () => {
  // Public keys and DIDs of https://w3c-ccg.github.io/did-key-spec/ and of RFC 8032 §7.1, tests 1 and 2.
  test.each([
    [
      "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
      "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
    ],
    [
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
    ],
  ])("%s is %s", (key, did) => {
    expect(didKeyFromPublicKey(Buffer.from(key, "hex"))).toBe(did);
  });

  test.each([0, 31, 33])("is refused for %i bytes", (length) => {
    expect(() => didKeyFromPublicKey(new Uint8Array(length))).toThrow(RangeError);
  });
});

test("an ephemeral identity is a did:key, and another one each time", () => {
  const dids = [createEphemeralIdentity().did, createEphemeralIdentity().did];
  for (const did of dids) expect(did).toMatch(/^did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/);
  expect(dids[0]).not.toBe(dids[1]);
});
