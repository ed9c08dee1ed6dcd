// Sequential reader over bytes, with bounds checks.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { driveError } from "../../error.js";

/** Read position in bytes; input ends at `end`. */
export interface Reader {
  readonly bytes: Uint8Array;
  at: number;
  end: number;
}

const MAX_VLQ_BYTES = 9;

export const readerOf = (bytes: Uint8Array): Reader => ({ bytes, at: 0, end: bytes.length });

export const badFormat = (why: string): FileAdapterError => driveError("BAD_FORMAT", `Not a valid cell: ${why}`);

export function takeByte(reader: Reader): number {
  const byte = reader.at < reader.end ? reader.bytes[reader.at] : undefined;
  if (byte === undefined) throw badFormat("it ends too early");
  reader.at += 1;
  return byte;
}

/** A view of the next bytes. */
export function take(reader: Reader, length: number): Uint8Array {
  const { at } = reader;
  if (length > reader.end - at) throw badFormat("it ends too early");
  reader.at = at + length;
  return reader.bytes.subarray(at, reader.at);
}

/** @throws LIMIT for a count above 2^53 - 1; BAD_FORMAT if it is not minimal, is unterminated or exceeds 63 bits */
export function takeVlq(reader: Reader): number {
  let count = 0;
  for (let taken = 1; ; taken += 1) {
    const byte = takeByte(reader);
    if (taken === 1 && byte === 0x80) throw badFormat("a count has a leading zero");
    count = count * 128 + (byte & 0x7f);
    if (byte < 0x80) break;
    if (taken === MAX_VLQ_BYTES) throw badFormat("a count has more than 63 bits");
  }
  if (count > Number.MAX_SAFE_INTEGER) throw driveError("LIMIT", "A cell counts more than 2^53 - 1");
  return count;
}
