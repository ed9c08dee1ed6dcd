// Runs before each suite: compares bytes at once. Jest compares them one by one, which takes seconds for a few hundred KiB.
import { expect } from "@jest/globals";

/** @returns `undefined` where bytes differ: Jest then says where. */
function sameBytes(one, other) {
  if (!ArrayBuffer.isView(one) || !(one instanceof Uint8Array || Buffer.isBuffer(one))) return undefined;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(Object(other))) return undefined;
  return Buffer.compare(one, other) === 0 ? true : undefined;
}

expect.addEqualityTesters([sameBytes]);
