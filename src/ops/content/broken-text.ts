// UTF-8 text with invalid bytes: each such byte is one character that no well-formed text contains.

/** A bad byte is this plus its value: U+DC80 to U+DCFF, halves of a surrogate pair. */
const BASE = 0xdc00;
const ASCII_END = 0x80;
/** Any character beyond ASCII that is no bad byte. */
const OTHER = /[^\0-\x7f\udc80-\udcff]/u;
const LONGEST = 4;

/** Bytes to a text that {@link brokenBytes} gives back; show it with `toWellFormed`. */
export function brokenText(bytes: Buffer): string {
  const units = new Uint16Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    const size = byte < ASCII_END ? 1 : sequenceLength(bytes, at);
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
  const bytes = Buffer.allocUnsafe(brokenLength(text));
  let to = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code < ASCII_END || isBad(text, at)) {
      bytes[to++] = code < ASCII_END ? code : code - BASE;
      at++;
      continue;
    }
    let end = at + 1;
    while (end < text.length && text.charCodeAt(end) >= ASCII_END && !isBad(text, end)) end++;
    to += bytes.write(text.slice(at, end), to);
    at = end;
  }
  return bytes;
}

/** Length of {@link brokenBytes}. */
export function brokenLength(text: string): number {
  let bad = 0;
  for (let at = 0; at < text.length; at++) if (isBad(text, at)) bad++;
  // A half is counted as the three bytes of a replacement character.
  return Buffer.byteLength(text) - 2 * bad;
}

/** Only a half without its other half is a bad byte. */
function isBad(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= BASE + ASCII_END && code <= BASE + 0xff && (text.charCodeAt(at - 1) & 0xfc00) !== 0xd800;
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
