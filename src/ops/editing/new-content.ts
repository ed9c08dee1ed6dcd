// The content of a file after its edits.

import type { FileCall } from "../../core/ports/operation.js";
import { firstDifference } from "./apply.js";
import type { Replacement } from "./match.js";
import { bytesOf, checkedLength, type HeldOriginal, textAfter } from "./original.js";

/** Content that differs from the original. */
export interface NewContent {
  readonly bytes: Buffer;
  /** Position of the first difference, in characters of the original. */
  readonly first: number;
  /** About as many bytes are before it; at most all. */
  readonly unchangedBytes: number;
}

const ASCII = /^[\0-\x7f]*$/;

/** `undefined`: nothing changes. @param plan by position, not overlapping @throws TOO_LARGE, NOT_TEXT */
export function newContent(
  original: HeldOriginal,
  plan: readonly Replacement[],
  call: FileCall,
): NewContent | undefined {
  if (isAscii(original) && plan.every(({ text }) => ASCII.test(text))) return splicedBytes(original, plan, call);
  const text = textAfter(original, plan, call);
  const first = firstDifference(original.text, text, plan[0]?.start ?? 0);
  if (first === undefined) return undefined;
  const bytes = bytesOf(text, original, call);
  return { bytes, first, unchangedBytes: Math.min(bytes.length, Buffer.byteLength(text.slice(0, first))) };
}

/** In UTF-8, only ASCII has as many bytes as characters. */
const isAscii = ({ form, text, size }: HeldOriginal): boolean => form.encoding === "utf-8" && text.length === size;

/** The same on the bytes: no text of that size is built and encoded. */
function splicedBytes(original: HeldOriginal, plan: readonly Replacement[], call: FileCall): NewContent | undefined {
  const before = original.bytes;
  const bytes = call.versions.recent.room(checkedLength(original, plan, call));
  let from = 0;
  let to = 0;
  for (const { start, end, text } of plan) {
    to += before.copy(bytes, to, from, start);
    to += bytes.write(text, to, "latin1");
    from = end;
  }
  before.copy(bytes, to, from);
  if (bytes.equals(before)) return undefined;
  const most = Math.min(before.length, bytes.length);
  let first = plan[0]?.start ?? 0;
  while (first < most && before[first] === bytes[first]) first++;
  return { bytes, first, unchangedBytes: first };
}
