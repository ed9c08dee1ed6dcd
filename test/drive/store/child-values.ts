import type { Value } from "../../../src/drive/index.js";
import { bytesOf } from "./cells.js";

/** So small that a few commits fill a pack. */
export const PACK_BYTES = 30_000;

/** What is committed as number `at`. */
export const committedValue = (at: number): Value => [
  BigInt(at),
  bytesOf(9000, at),
  bytesOf(300, at),
  bytesOf(9000, 1 + (at % 3)),
];
