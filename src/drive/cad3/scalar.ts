// Tags and encodings of scalar values.

export const NIL_TAG = 0x00;
/** Base tag of a Long; the number of bytes (0 to 8) is added. */
export const LONG_TAG = 0x10;
export const MAX_LONG_BYTES = 8;
export const STRING_TAG = 0x30;
export const BLOB_TAG = 0x31;
export const KEYWORD_TAG = 0x33;
export const VECTOR_TAG = 0x80;
export const MAP_TAG = 0x82;
export const INDEX_TAG = 0x84;
export const SIGNED_TAG = 0x90;
export const FALSE_TAG = 0xb0;
export const TRUE_TAG = 0xb1;

/** Sizes of the fields that precede the Ref in a signed value. */
export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** The encoding of nil. */
export const NIL: Uint8Array = Uint8Array.of(NIL_TAG);
export const FALSE: Uint8Array = Uint8Array.of(FALSE_TAG);
export const TRUE: Uint8Array = Uint8Array.of(TRUE_TAG);

const LONG_BITS = 64;

/**
 * Encodes a Long in the fewest bytes of two's complement.
 *
 * @throws RangeError for a number that is not a safe integer, or a bigint of more than 64 bits
 */
export function longBytes(value: number | bigint): Uint8Array {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return safeBytes(number);
  if (typeof value === "number") throw new RangeError(`Not a safe integer: ${value}`);
  if (BigInt.asIntN(LONG_BITS, value) !== value) throw new RangeError("An integer has at most 64 bits");
  const bytes = new Uint8Array(1 + MAX_LONG_BYTES);
  new DataView(bytes.buffer).setBigInt64(1, value);
  // An integer outside the safe range takes at least 7 bytes.
  const start = isSignOnly(bytes[1], bytes[2]) ? 1 : 0;
  bytes[start] = LONG_TAG + MAX_LONG_BYTES - start;
  return start === 0 ? bytes : bytes.slice(start);
}

function safeBytes(value: number): Uint8Array {
  if (value === 0) return Uint8Array.of(LONG_TAG);
  let size = 1;
  for (let beyond = 0x80; value >= beyond || value < -beyond; beyond *= 256) size += 1;
  const bytes = new Uint8Array(1 + size);
  bytes[0] = LONG_TAG + size;
  // Storing into a byte array keeps the lowest eight bits of each number.
  for (let place = size, rest = value; place > 0; place -= 1, rest = Math.floor(rest / 256)) bytes[place] = rest;
  return bytes;
}

/** Whether the top byte of a two's-complement number merely repeats the sign of the next byte. */
export function isSignOnly(top = 0, next = 0): boolean {
  return next < 0x80 ? top === 0 : top === 0xff;
}

export function keywordBytes({ name }: Keyword): Uint8Array {
  const text = utf8Bytes(name);
  const bytes = new Uint8Array(2 + text.length);
  bytes[0] = KEYWORD_TAG;
  bytes[1] = text.length;
  bytes.set(text, 2);
  return bytes;
}

/** @throws RangeError for lone surrogates, which UTF-8 cannot encode */
export function utf8Bytes(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new RangeError("A string holds no lone surrogates");
  return Buffer.from(text, "utf8");
}

export const MAX_KEYWORD_BYTES = 128;

/** A name that is a value type of its own, such as `:fs`. Created by {@link keyword}. */
export class Keyword {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Creates a keyword.
 *
 * @param name 1 to 128 bytes of UTF-8
 * @throws RangeError for any other length and for lone surrogates
 */
export function keyword(name: string): Keyword {
  const bytes = Buffer.byteLength(name, "utf8");
  if (bytes < 1 || bytes > MAX_KEYWORD_BYTES)
    throw new RangeError(`A keyword has 1 to ${MAX_KEYWORD_BYTES} bytes, not ${bytes}`);
  if (!name.isWellFormed()) throw new RangeError("A keyword holds no lone surrogates");
  return new Keyword(name);
}
