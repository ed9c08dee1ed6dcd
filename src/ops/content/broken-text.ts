// UTF-8 text in which some bytes are none: each of them is one character that no well-formed text contains.

/** A bad byte is this plus its value: U+DC80 to U+DCFF, halves of a surrogate pair. */
const BASE = 0xdc00;
/** With `u` only a half without its other half matches. */
const BAD = /[\udc80-\udcff]/gu;
const BAD_RUN = /[\udc80-\udcff]+/gu;
/** Any character beyond ASCII that is no bad byte. */
const OTHER = /[^\0-\x7f\udc80-\udcff]/u;
const LONGEST = 4;

/** Bytes to a text that {@link brokenBytes} gives back; show it with `toWellFormed`. */
export function brokenText(bytes: Buffer): string {
  const units = new Uint16Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    const size = byte < 0x80 ? 1 : sequenceLength(bytes, at);
    if (size > 1) {
      const point = bytes.toString("utf8", at, at + size);
      for (let index = 0; index < point.length; index++) units[length++] = point.charCodeAt(index);
    } else units[length++] = size === 0 ? BASE + byte : byte;
    at += Math.max(1, size);
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString("utf16le");
}

/** The bytes of a {@link brokenText}. */
export function brokenBytes(text: string): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { 0: run, index } of text.matchAll(BAD_RUN)) {
    parts.push(Buffer.from(text.slice(at, index)), Buffer.from(Array.from(run, (one) => one.charCodeAt(0) - BASE)));
    at = index + run.length;
  }
  parts.push(Buffer.from(text.slice(at)));
  return Buffer.concat(parts);
}

/** Length of {@link brokenBytes}. */
export function brokenLength(text: string): number {
  // A half is counted as the three bytes of a replacement character.
  return Buffer.byteLength(text) - 2 * (text.match(BAD)?.length ?? 0);
}

/** Whether a broken text may be in another encoding: nothing in it beyond ASCII is UTF-8. */
export const isPerhapsOther = (text: string): boolean => !OTHER.test(text);

/** Bytes of the UTF-8 sequence beyond ASCII that starts at `at`; 0: it is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0;
  const size = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : LONGEST;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  for (let next = 1; next < size; next++) {
    const byte = bytes[at + next] ?? 0;
    if (byte < (next === 1 ? low : 0x80) || byte > (next === 1 ? high : 0xbf)) return 0;
  }
  return size;
}
