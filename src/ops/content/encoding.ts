// Text encodings: strict decoding and encoding that always round-trips to the same bytes.

import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, escapeText, invalidInput, type Place } from "../../core/errors/texts.js";
import { laterPackage } from "../../core/later.js";
import { brokenBytes } from "./broken-text.js";

/** A strict text encoding: bytes that do not round-trip are not text. */
export interface TextCodec {
  /** `utf-8`, `utf-16le`, `utf-16be`, or the given name in lower case. */
  readonly name: string;
  /** Bytes per code unit. A line feed is one unit: the byte 0x0a and otherwise zeros, aligned to the unit. */
  readonly unit: 1 | 2;
  /** The byte 0x0a is the last of a line feed's bytes, not the first. */
  readonly bigEndian: boolean;
  /** Keeps a byte order mark as U+FEFF. `undefined`: some of the bytes are not text in this encoding. */
  decode(bytes: Buffer): string | undefined;
  /** `undefined`: this encoding cannot represent some character. */
  encode(text: string): Buffer | undefined;
}

/** The encoding of a file's text. */
export interface TextForm {
  /** As {@link TextCodec.name}. */
  readonly encoding: string;
  /** The file starts with a byte order mark. */
  readonly bom: boolean;
  /** Some bytes are no UTF-8: the text is as `brokenText` gives it. */
  readonly isBroken?: boolean;
}

/** The text of a whole file, without its byte order mark. */
export interface DecodedText extends TextForm {
  readonly text: string;
}

export const BOM = "\ufeff";
const MAX_NAME = 40;
/** iconv-lite names that are no text encodings, or that do not encode a line feed as the byte 0x0a. */
const NO_TEXT_ENCODING = /^(base64|hex|.*utf7.*|utf32.*|ucs4.*|.*utf8.*|cesu8)$/;

export const UTF8: TextCodec = {
  name: "utf-8",
  unit: 1,
  bigEndian: false,
  decode: (bytes) => (isUtf8(bytes) ? bytes.toString("utf8") : undefined),
  encode: (text) => (text.isWellFormed() ? Buffer.from(text, "utf8") : undefined),
};

const UTF16LE: TextCodec = {
  name: "utf-16le",
  unit: 2,
  bigEndian: false,
  decode(bytes) {
    const text = bytes.length % 2 === 0 ? bytes.toString("utf16le") : undefined;
    return text?.isWellFormed() === true ? text : undefined;
  },
  encode: (text) => (text.isWellFormed() ? Buffer.from(text, "utf16le") : undefined),
};

const UTF16BE: TextCodec = {
  name: "utf-16be",
  unit: 2,
  bigEndian: true,
  decode: (bytes) => (bytes.length % 2 === 0 ? UTF16LE.decode(Buffer.from(bytes).swap16()) : undefined),
  encode: (text) => UTF16LE.encode(text)?.swap16(),
};

/**
 * The encoding to read a file with, without guessing: a given name is used as it is; otherwise UTF-16 if a byte order
 * mark says so, else UTF-8.
 * @param head the first bytes of the file, at least two where there are
 * @returns `undefined`: the head contradicts the name, or the name is unknown
 */
export function codecOf(head: Buffer, encoding?: string): TextCodec | undefined {
  const marked = byMark(head);
  if (encoding === undefined) return marked ?? UTF8;
  switch (bareName(encoding)) {
    case "utf16":
      return marked;
    case "utf16le":
    case "ucs2":
      return marked === UTF16BE ? undefined : UTF16LE;
    case "utf16be":
      return marked === UTF16LE ? undefined : UTF16BE;
    default:
      return byName(encoding);
  }
}

/** A text in UTF-8, to be searched. As it is where that is its encoding, or where it is not text in the given one. */
export function searchableText(bytes: Buffer, encoding?: string): Buffer {
  const codec = codecOf(bytes, encoding);
  const text = codec === undefined || codec === UTF8 ? undefined : codec.decode(bytes);
  return text === undefined ? bytes : Buffer.from(text, "utf8");
}

/** Whether {@link codecOf} knows a name. */
export const isEncodingName = (name: string): boolean =>
  name.length <= MAX_NAME && (/^(utf16(le|be)?|ucs2)$/.test(bareName(name)) || byName(name) !== undefined);

/** @param field the object in the input that has it @throws INVALID_INPUT unless {@link codecOf} knows the name, or there is none */
export function checkEncoding(name: string | undefined, field = ""): void {
  if (name === undefined || isEncodingName(name)) return;
  const pointer = `${field}/encoding`;
  throw invalidInput("'encoding' must be the name of a text encoding", pointer, "utf-8, utf-16le, latin1, …");
}

/**
 * Decodes a whole file losslessly: terminators stay as they are, and {@link encodeText} gives the same bytes.
 * @param encoding as for {@link codecOf}
 * @returns `undefined`: the bytes are not text in that encoding
 */
export function decodeText(bytes: Buffer, encoding?: string): DecodedText | undefined {
  const codec = codecOf(bytes, encoding);
  const text = codec?.decode(bytes);
  if (codec === undefined || text === undefined) return undefined;
  const bom = text.startsWith(BOM);
  return { text: bom ? text.slice(BOM.length) : text, encoding: codec.name, bom };
}

/**
 * Encodes a text in the form of another.
 * @returns `undefined`: the encoding cannot represent some of it, or it would not round-trip
 */
export function encodeText(text: string, { encoding, bom, isBroken }: TextForm): Buffer | undefined {
  if (isBroken === true) return brokenBytes(bom ? BOM + text : text);
  return codecOf(Buffer.alloc(0), encoding)?.encode(bom ? BOM + text : text);
}

/**
 * Encodes the text of a new file. UTF-16 of either order starts with a mark: without one it could not be read again.
 * @param encoding as for {@link codecOf}
 * @returns `undefined`: the encoding cannot represent some of it
 */
export function encodeNew(text: string, encoding = "utf-8"): Buffer | undefined {
  if (bareName(encoding) !== "utf16") return encodeText(text, { encoding, bom: false });
  return UTF16LE.encode(text.startsWith(BOM) ? text : BOM + text);
}

/** A name for comparison: letters in lower case and digits only. */
export const bareName = (name: string): string => name.toLowerCase().replace(/[^0-9a-z]/g, "");

function byMark(head: Buffer): TextCodec | undefined {
  if (head.length < 2) return undefined;
  if (head[0] === 0xff && head[1] === 0xfe) return UTF16LE;
  return head[0] === 0xfe && head[1] === 0xff ? UTF16BE : undefined;
}

function byName(name: string): TextCodec | undefined {
  const bare = bareName(name);
  if (bare === "utf8") return UTF8;
  if (bare === "latin1" || bare === "iso88591") return latin1(name.toLowerCase());
  return NO_TEXT_ENCODING.test(bare) ? undefined : byTable(name.toLowerCase());
}

const latin1 = (name: string): TextCodec => ({
  name,
  unit: 1,
  bigEndian: false,
  decode: (bytes) => bytes.toString("latin1"),
  encode(text) {
    const bytes = Buffer.from(text, "latin1");
    return bytes.toString("latin1") === text ? bytes : undefined;
  },
});

const loadIconv = laterPackage<typeof import("iconv-lite")>(createRequire(import.meta.url), "iconv-lite");

/** An iconv-lite encoding. The package is loaded on first use, since that takes about 0.1 s. */
function byTable(name: string): TextCodec | undefined {
  const iconv = loadIconv();
  if (!iconv.encodingExists(name)) return undefined;
  const toText = (bytes: Buffer): string => iconv.decode(bytes, name, { stripBOM: false });
  const toBytes = (text: string): Buffer => iconv.encode(text, name, { addBOM: false });
  return {
    name,
    unit: 1,
    bigEndian: false,
    decode(bytes) {
      const text = toText(bytes);
      // iconv-lite decodes an invalid byte to U+FFFD, and encodes U+FFFD to one of those bytes.
      return !text.includes("\ufffd") && toBytes(text).equals(bytes) ? text : undefined;
    },
    encode(text) {
      const bytes = toBytes(text);
      return !text.includes("\ufffd") && toText(bytes) === text ? bytes : undefined;
    },
  };
}

/** @param encoding of the file, which has no way to write it @param otherwise another way than other characters */
export const notEncodable = (place: Place, encoding = "utf-8", otherwise = ""): FileAdapterError =>
  adapterError(
    "NOT_TEXT",
    `The file's encoding, ${escapeText(encoding)}, has no way to write the new text. Use characters it has${otherwise}`,
    at(place),
  );

/** The error for a file that is not valid in an encoding. @param which encoding to pass, after a colon or comma */
export const otherEncoding = (place: Place, which = ", such as latin1", encoding = "UTF-8"): FileAdapterError =>
  adapterError("NOT_TEXT", `File is not valid ${escapeText(encoding)} text. Pass its encoding${which}`, {
    ...at(place),
    next: { option: "encoding" },
  });
