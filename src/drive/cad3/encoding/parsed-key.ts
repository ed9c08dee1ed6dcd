// Keys of parsed index cells.

import { Keyword } from "../keyword.js";
import { MAX_DIGITS, SLOT_BYTES } from "../maps/index-key.js";
import { utf8Bytes } from "../scalar.js";
import type { ParsedCell } from "./parsed.js";
import { badFormat } from "./reader.js";

/** Number of significant digits of an index key. @throws BAD_FORMAT if it is not a key */
export function keyDigits(cell: ParsedCell): number {
  if (cell.kind === "blob") return Math.min(MAX_DIGITS, 2 * cell.length);
  return 2 * keywordSlot(cell).length;
}

/** @throws BAD_FORMAT if it is not a keyword */
export function keywordSlot(cell: ParsedCell): Uint8Array {
  if (cell.kind === "scalar" && cell.value instanceof Keyword)
    return utf8Bytes(cell.value.name).subarray(0, SLOT_BYTES);
  throw badFormat("the key of an index is no string, blob or keyword");
}
