// Decodes whole files piece by piece, so that a large one does not hold up other calls.

import type { CallScope } from "../../core/call/scope.js";
import { brokenText } from "../content/broken-text.js";
import { BOM, codecOf, type DecodedText, UTF8 } from "../content/encoding.js";
import { mayBeText } from "../content/text.js";
import { yieldIfDue } from "./yield.js";

/** Bytes decoded at once. */
const PIECE = 524_288;
const LINE_FEED = 0x0a;

/**
 * As `decodeText`. Where no encoding is named, a text in which some bytes are no UTF-8 is one too.
 * @returns `undefined`: the bytes are no text in that encoding
 */
export async function decodeFile(
  bytes: Buffer,
  encoding: string | undefined,
  scope: CallScope,
): Promise<DecodedText | undefined> {
  const codec = codecOf(bytes, encoding);
  if (codec === undefined) return undefined;
  const isUnicode = codec === UTF8 || codec.unit === 2;
  // What the runtime decodes itself takes less time at once than in pieces.
  let text = isUnicode ? codec.decode(bytes) : await decodePieces(bytes, (piece) => codec.decode(piece), scope);
  const isBroken = text === undefined && encoding === undefined && codec === UTF8 && mayBeText(bytes);
  if (isBroken) text = await decodePieces(bytes, (piece) => UTF8.decode(piece) ?? brokenText(piece), scope);
  if (text === undefined) return undefined;
  const bom = text.startsWith(BOM);
  const form = { encoding: codec.name, bom, ...(isBroken ? { isBroken } : {}) };
  return { text: bom ? text.slice(BOM.length) : text, ...form };
}

/** Pieces end behind a line: what a byte is may depend on those before it in its line. */
async function decodePieces(
  bytes: Buffer,
  decode: (piece: Buffer) => string | undefined,
  scope: CallScope,
): Promise<string | undefined> {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.length - at <= PIECE ? bytes.length : bytes.indexOf(LINE_FEED, at + PIECE) + 1 || bytes.length;
    const text = decode(bytes.subarray(at, end));
    if (text === undefined) return undefined;
    parts.push(text);
    at = end;
    await yieldIfDue(scope);
  }
  return parts.join("");
}
