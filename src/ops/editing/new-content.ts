// The content of a file after its edits, or with other line ends.

import type { CallScope } from "../../core/call/scope.js";
import type { FileCall } from "../../core/ports/operation.js";
import { brokenLength } from "../content/broken-text.js";
import { codecOf, encodeText, notEncodable } from "../content/encoding.js";
import { countFeeds } from "../content/text.js";
import type { Replacement } from "./match.js";
import { bytesOf, checkAdded, checkGrowth, type HeldOriginal } from "./original.js";

/** Content that differs from the original. */
export interface NewContent {
  readonly bytes: Buffer;
  /** 1-based line of the first difference, in the original. */
  readonly firstLine: number;
  /** Bytes before it. */
  readonly unchangedBytes: number;
}

/** Bytes copied or compared at once. */
const BLOCK = 1_048_576;
const NOTHING = Buffer.alloc(0);

/**
 * Puts the new texts among the bytes, which stay as they are: no text of that size is built and encoded.
 * @param plan by position, not overlapping
 * @returns `undefined`: nothing changes
 * @throws TOO_LARGE, NOT_TEXT
 */
export async function newContent(
  original: HeldOriginal,
  plan: readonly Replacement[],
  call: FileCall,
): Promise<NewContent | undefined> {
  checkAdded(original, plan, call);
  const before = original.bytes;
  const added = encodedTexts(original, plan, call);
  const lengthOf = lengthsIn(original);
  const ranges: { readonly start: number; readonly end: number; readonly put: Buffer }[] = [];
  let [at, bytesAt, length] = [0, 0, before.length];
  for (const [index, { start, end }] of plan.entries()) {
    const from = bytesAt + lengthOf(at, start);
    const to = from + lengthOf(start, end);
    const put = added[index] ?? NOTHING;
    ranges.push({ start: from, end: to, put });
    length += put.length - (to - from);
    [at, bytesAt] = [end, to];
  }
  const sum = added.reduce((bytes, one) => bytes + one.length, 0);
  checkGrowth({ added: sum, grows: length > before.length }, call);
  const bytes = call.versions.recent.room(length);
  const { scope } = call.access;
  let [from, to] = [0, 0];
  for (const { start, end, put } of [...ranges, { start: before.length, end: before.length, put: NOTHING }]) {
    for (; from < start; from += BLOCK) {
      to += before.copy(bytes, to, from, Math.min(start, from + BLOCK));
      if (before.length > BLOCK) await scope.pause();
    }
    to += put.copy(bytes, to);
    from = end;
  }
  return differing(original, bytes, ranges[0]?.start ?? 0);
}

/** The same for a new text that differs in many places. @throws TOO_LARGE, NOT_TEXT */
export function wholeContent(original: HeldOriginal, text: string, call: FileCall): NewContent | undefined {
  return text === original.text ? undefined : differing(original, bytesOf(text, original, call), 0);
}

/** @param same bytes at the start that are known to be the same */
function differing({ bytes: before, form }: HeldOriginal, bytes: Buffer, same: number): NewContent | undefined {
  const most = Math.min(before.length, bytes.length);
  const isSame = (at: number) => before.subarray(at, at + BLOCK).equals(bytes.subarray(at, at + BLOCK));
  let first = same;
  while (first < most && isSame(first)) first += BLOCK;
  if (first >= most && before.length === bytes.length) return undefined;
  while (first < most && before[first] === bytes[first]) first++;
  const unchangedBytes = Math.min(first, most);
  const codec = codecOf(before, form.encoding);
  const feeds = codec === undefined ? 0 : countFeeds(before.subarray(0, unchangedBytes), codec);
  return { bytes, firstLine: 1 + feeds, unchangedBytes };
}

/** The new texts in the encoding of the file. */
function encodedTexts({ form }: HeldOriginal, plan: readonly Replacement[], { access }: FileCall): Buffer[] {
  const known = new Map<string, Buffer>();
  return plan.map(({ text }) => {
    const bytes = known.get(text) ?? encodeText(text, { encoding: form.encoding, bom: false });
    if (bytes === undefined) throw notEncodable(access.place, form.encoding);
    known.set(text, bytes);
    return bytes;
  });
}

/** The length in bytes of a range of the text. */
function lengthsIn({ form, text, size }: HeldOriginal): (start: number, end: number) => number {
  const { encoding, isBroken } = form;
  if (text.length === size) return (start, end) => end - start;
  if (encoding.startsWith("utf-16")) return (start, end) => 2 * (end - start);
  if (encoding === "utf-8") {
    const length = isBroken === true ? brokenLength : Buffer.byteLength;
    return (start, end) => length(text.slice(start, end));
  }
  return (start, end) => encodeText(text.slice(start, end), { encoding, bom: false })?.length ?? 0;
}

/** Characters converted at once. */
const PIECE = 1_048_576;

export type LineEnding = "lf" | "crlf";

/** @returns the text, and how many line ends were others; a lone return is one where there is no line feed */
export async function converted(
  text: string,
  to: LineEnding,
  scope: CallScope,
): Promise<{ readonly text: string; readonly changed: number }> {
  const end = to === "lf" ? "\n" : "\r\n";
  const pattern = text.includes("\n") ? /\r?\n/g : /\r/g;
  let changed = 0;
  const convert = (found: string): string => {
    if (found !== end) changed++;
    return end;
  };
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const cut = at + PIECE;
    const next = text[cut] === "\n" ? cut + 1 : cut;
    parts.push(text.slice(at, next).replace(pattern, convert));
    at = next;
    await scope.pause();
  }
  return { text: parts.join(""), changed };
}
