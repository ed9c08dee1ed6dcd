import { expect, test } from "@jest/globals";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { signer } from "../tokens.js";

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
