// Records of notes, in files that are written in place. A record: checksum and length of its JSON, length of the content behind
// it, its number; JSON; content; its number again. Records take the place of older ones. One that was cut short by a kill does
// not end with its number, and behind each whole one lies an empty one, where reading ends.

import { writeSync, writevSync } from "node:fs";
import { crc32 } from "node:zlib";
import { attempt } from "../core/io.js";
import type { PendingRow } from "./rows.js";

/** Longer content is written as it is, others with the rest in one piece. */
const COPY_BYTES = 16_384;
const HEAD_BYTES = 16;
const NUMBER_BYTES = 4;
/** An empty record. */
export const END = Buffer.alloc(HEAD_BYTES);
const NOTHING = Buffer.alloc(0);
const NUMBERS = 2 ** 32;
let scratch = Buffer.alloc(65_536);
let records = 0;

/** One record of a file. */
export interface Told {
  readonly process?: string;
  readonly row?: PendingRow;
  /** Ids of notes that have ended. */
  readonly ended?: readonly string[];
}

/** @returns its length @throws system errors */
export function writeRecord(
  { fd, at }: { readonly fd: number; readonly at: number },
  told: Told,
  bytes: Buffer = NOTHING,
): number {
  const json = JSON.stringify(told);
  const isCopied = bytes.length <= COPY_BYTES;
  const most = HEAD_BYTES + json.length * 3 + COPY_BYTES + NUMBER_BYTES + HEAD_BYTES;
  if (scratch.length < most) scratch = Buffer.alloc(most);
  const length = scratch.write(json, HEAD_BYTES);
  let end = HEAD_BYTES + length;
  records = (records + 1) % NUMBERS;
  scratch.writeUInt32LE(crc32(scratch.subarray(HEAD_BYTES, end)), 0);
  scratch.writeUInt32LE(length, 4);
  scratch.writeUInt32LE(bytes.length, 8);
  scratch.writeUInt32LE(records, 12);
  if (isCopied) end += bytes.copy(scratch, end);
  const tail = end;
  scratch.writeUInt32LE(records, end);
  end += NUMBER_BYTES + HEAD_BYTES;
  scratch.fill(0, tail + NUMBER_BYTES, end);
  const written = isCopied
    ? writeSync(fd, scratch, 0, end, at)
    : writevSync(fd, [scratch.subarray(0, tail), bytes, scratch.subarray(tail, end)], at);
  const whole = HEAD_BYTES + length + bytes.length + NUMBER_BYTES;
  if (written < whole) throw Object.assign(new Error("The note was cut short"), { code: "ENOSPC" });
  return whole;
}

export interface FoundRecord {
  readonly told: Told;
  readonly content: Buffer;
  /** Where the next one begins. */
  readonly next: number;
}

/** `undefined`: there is none, or it is not whole. */
export function readRecord(file: Buffer, at: number): FoundRecord | undefined {
  if (at + HEAD_BYTES > file.length) return undefined;
  const [check, length, size, number] = [0, 4, 8, 12].map((offset) => file.readUInt32LE(at + offset));
  const json = file.subarray(at + HEAD_BYTES, at + HEAD_BYTES + (length ?? 0));
  const tail = at + HEAD_BYTES + (length ?? 0) + (size ?? 0);
  const isWhole = length !== 0 && tail + NUMBER_BYTES <= file.length && file.readUInt32LE(tail) === number;
  if (!isWhole || crc32(json) !== check) return undefined;
  const told = attempt(() => JSON.parse(json.toString()) as Told);
  return told && { told, content: file.subarray(at + HEAD_BYTES + json.length, tail), next: tail + NUMBER_BYTES };
}
