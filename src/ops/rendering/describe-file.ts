// Describes a file to a model in place of bytes that would fill its context: size, type, hash, and how to get it.

import { etagOf, hashText } from "../../core/etag.js";
import { type Io, wait } from "../../core/io.js";
import type { FileCall } from "../../core/ports/operation.js";
import { isArchiveName } from "../../path/grammar.js";
import type { ReadOutput } from "../../schema/types.js";
import { etagFor, hashOf } from "../content/file-etag.js";
import { humanSize } from "../content/human-size.js";
import { bySignature } from "../content/mime.js";
import { mimeAt, type Reading } from "../content/reading.js";
import { type ImageLook, isImageType, lookAtImage } from "./image.js";

const MAX_IMAGE_BYTES = 1_048_576;
/** Larger files are not hashed for a description: that would take longer than a model should wait. */
const MAX_HASHED_BYTES = 16_777_216;

/** Among several files the room of one is no limit for what is shown when it is read alone. */
const mostOfImage = ({ mostWhole, ceiling, call }: Reading): number =>
  Math.min(MAX_IMAGE_BYTES, call.budget?.hidesImages === true ? ceiling : mostWhole);

/** Whether a file goes to a model as an image, if nothing is wrong with it. @param head its first bytes @param size in bytes */
export const mayBeShown = (reading: Reading, head: Buffer, size: number): boolean =>
  reading.call.budget?.hidesImages !== true && size <= mostOfImage(reading) && isImageType(bySignature(head) ?? "");

/** Whether bytes that are no text are described: to models, unless they ask for a range of bytes. */
export const describesBytes = ({ call: { budget }, mode }: Reading): boolean =>
  budget !== undefined && budget.asStored !== true && mode === "auto";

/** Most bytes that a model gets as base64, unless it says how many. */
export const mostBase64 = ({ call: { budget }, request: { maxBytes } }: Reading): number =>
  budget === undefined || maxBytes !== undefined ? Number.POSITIVE_INFINITY : budget.defaultBytes;

/** The description of a file, as the answer of a read. @throws as opening it does */
export function* describeFile(reading: Reading): Io<ReadOutput> {
  const { call } = reading;
  const file = yield* wait(call.root.backend.open(call.path, call.access));
  try {
    const head = yield* wait(file.read(0, 64));
    const { size } = file;
    const isImage = isImageType(bySignature(head) ?? "");
    const image = isImage ? lookAtImage(yield* wait(file.read(0, Math.min(size, MAX_IMAGE_BYTES)))) : undefined;
    const mime = image?.mime ?? mimeAt(reading, head, () => false);
    const sha256 = size <= MAX_HASHED_BYTES ? (yield* hashOf(file, call)).sha256 : undefined;
    const version = sha256 === undefined ? etagFor(call, file.stamp) : { etag: etagOf(sha256), hash: hashText(sha256) };
    const facts = { size, mime, ...version };
    const kind = isImageType(mime) ? `Image, ${imageText(image, size, reading)}: ` : "No text: ";
    return { ...facts, description: kind + textOf(facts, reading, { image, mayBeText: mayBeText(head) }) };
  } finally {
    file.close();
  }
}

/** Whether a file that is not UTF-8 begins as text in an encoding of single bytes does. */
const mayBeText = (head: Buffer): boolean =>
  bySignature(head) === undefined && head.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));

function textOf(
  { size, mime, hash }: ReadOutput,
  { call, request }: Reading,
  { image, mayBeText }: { readonly image: ImageLook | undefined; readonly mayBeText: boolean },
): string {
  const { budget } = call;
  const offers = (operation: string): boolean => budget?.offers?.(operation) === true;
  const sides = image?.width === undefined ? "" : `, ${image.width}x${image.height} px`;
  return [
    `${mime}${sides}, ${size} bytes${size < 1024 ? "" : ` (${humanSize(size)})`}`,
    ...(hash === undefined ? [] : [hash]),
    ...(offers("file:list") && mayBeLookedInto(call) ? ['Inside: file_list of the path with "!" added'] : []),
    ...(mayBeText && request.encoding === undefined ? ["As text: its encoding, such as latin1"] : []),
    `Bytes as base64: offset and length, or mode: "bytes" (${budget?.defaultBytes} bytes a call, or maxBytes)`,
    ...(hash === undefined && offers("file:hash") ? ["Hash: file_hash"] : []),
    ...(offers("file:transfer") && call.issueTicket !== undefined ? ["The whole file: file_transfer gives a URL"] : []),
  ].join("\n");
}

/** Whether the file is called like an archive, and lies in none. */
const mayBeLookedInto = ({ path: { segments } }: FileCall): boolean =>
  isArchiveName(`${segments.at(-1)}!`) && !segments.some(isArchiveName);

/** Why an image is not shown. */
function imageText(image: ImageLook | undefined, size: number, reading: Reading): string {
  if (size > mostOfImage(reading)) return "too large to show";
  if (image === undefined) return "its header cannot be read";
  return image.fault ?? "shown when read alone";
}
