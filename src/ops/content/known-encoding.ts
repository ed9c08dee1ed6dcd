// Tells the encoding of a file by its bytes, before text is put into it or in its place.

import type { OpenFile } from "../../core/ports/open-file.js";
import type { PathCall } from "../../core/ports/operation.js";
import { brokenText, isPerhapsOther } from "./broken-text.js";
import { codecOf, UTF8 } from "./encoding.js";
import { characterEnd, characterStart, mayBeText } from "./text.js";

/** Bytes looked at, at the start and at the end. */
const LOOK = 524_288;

/** `other`: text in neither UTF-8 nor UTF-16; `ascii`: of any encoding but UTF-16. */
type KnownEncoding = "utf-16le" | "utf-16be" | "utf-8" | "ascii" | "other";

export const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/**
 * The encoding of the text in a file, as far as its first and last {@link LOOK} bytes tell it.
 * @returns `undefined`: no text, no file, or the caller may not read it
 */
export async function knownEncoding({ root, path, access }: PathCall): Promise<KnownEncoding | undefined> {
  if (!access.holds("crud/read")) return undefined;
  let file: OpenFile | undefined;
  try {
    file = await root.backend.open(path, access);
    // Judged again, since links have been followed now.
    if (!access.holds("crud/read")) return undefined;
    const { size } = file;
    const head = await file.read(0, Math.min(size, LOOK));
    const codec = codecOf(head);
    if (codec !== UTF8) return codec?.name as KnownEncoding | undefined;
    if (!mayBeText(head)) return undefined;
    const from = Math.max(LOOK, size - LOOK);
    const tail = from >= size ? Buffer.alloc(0) : await file.read(from, size - from);
    const whole = size > head.length ? head.subarray(0, characterEnd(head, 0, { at: head.length, codec })) : head;
    return kindOf(whole, tail.subarray(characterStart(tail, 0, codec)));
  } catch {
    // The change itself reports the fault, or replaces a file whose content is lost.
    return undefined;
  } finally {
    file?.close();
  }
}

function kindOf(head: Buffer, tail: Buffer): KnownEncoding {
  const texts = [head, tail].map((bytes) => UTF8.decode(bytes) ?? brokenText(bytes));
  if (texts.every(isAscii)) return "ascii";
  return texts.every(isPerhapsOther) ? "other" : "utf-8";
}
