// Cursors of searches: opaque texts that say where the next page begins, bound to root, input and caller.

import { createHash } from "node:crypto";
import { isBelow } from "../core/call/path.js";
import { invalidInput } from "../core/errors/texts.js";
import { isWithin } from "../path/grammar.js";
import { compareVisits } from "../path/order.js";

/** The point that an enumeration has reached. */
export interface Position {
  /** Segments below the root of the last entry that has been answered. */
  readonly path: readonly string[];
  /** The last line of that file that has been answered; 0: all of it. */
  readonly line: number;
  /** Number of items in earlier pages. */
  readonly counted: number;
  /** Where to read on in a large file: bytes before, and how many lines they end. */
  readonly at?: FilePosition | undefined;
}

export interface FilePosition {
  readonly offset: number;
  readonly lines: number;
}

/** Root, input and caller that a cursor is bound to. Any other use is refused. */
export type Binding = readonly unknown[];

const SEAL_BYTES = 10;
const HASH_BYTES = 8;
/** Kinds of cursors, in the first byte. */
const HASHED = 1;
const IN_FILE = 2;
const FILE_BYTES = 10;
/** Keeps a cursor within 200 characters in all. */
const MAX_PATH_BYTES = 110;

/** Position of an entry relative to the last one answered. `above`: answered too, but the last one may lie in it. */
export type Standing = "before" | "above" | "last" | "after";

/** Tells which entries earlier pages have answered. */
export class Resume {
  readonly line: number;
  readonly counted: number;
  readonly at: FilePosition | undefined;
  readonly #path: readonly string[];
  /** Hash of the whole path, if only its first segments fit into the cursor. */
  readonly #hash: string | undefined;
  #isFound = false;

  constructor(position: Position, hash?: string) {
    this.#path = position.path;
    this.line = position.line;
    this.counted = position.counted;
    this.at = position.at;
    this.#hash = hash;
  }

  /** Whether a hashed path was not found again: then it is unknown what has been answered. */
  get isLost(): boolean {
    return this.#hash !== undefined && !this.#isFound;
  }

  /** Must be called for each entry, in the order of the walk. */
  standing(segments: readonly string[]): Standing {
    if (this.#hash !== undefined && isBelow(segments, this.#path)) {
      if (this.#isFound) return "after";
      this.#isFound = hashOf(segments) === this.#hash;
      return this.#isFound ? "last" : "above";
    }
    const order = compareVisits(segments, this.#path);
    if (order > 0) return "after";
    if (order === 0) return this.#hash === undefined ? "last" : "above";
    return isWithin(this.#path, segments) ? "above" : "before";
  }
}

/** Encodes a position as a cursor of at most 200 characters. */
export function writeCursor(binding: Binding, { path, line, counted, at }: Position): string {
  const whole = path.join("/");
  const isWhole = Buffer.byteLength(whole) <= MAX_PATH_BYTES;
  const kept: string[] = [];
  if (!isWhole) {
    let bytes = 0;
    for (const name of path) {
      bytes += Buffer.byteLength(name) + 1;
      if (bytes > MAX_PATH_BYTES) break;
      kept.push(name);
    }
  }
  const head = Buffer.alloc(9);
  head.writeUInt8((isWhole ? 0 : HASHED) + (at === undefined ? 0 : IN_FILE), 0);
  head.writeUInt32BE(line, 1);
  head.writeUInt32BE(Math.min(counted, 0xffff_ffff), 5);
  const inFile = Buffer.alloc(at === undefined ? 0 : FILE_BYTES);
  if (at !== undefined) {
    inFile.writeUIntBE(at.offset, 0, 6);
    inFile.writeUInt32BE(Math.min(at.lines, 0xffff_ffff), 6);
  }
  const body = Buffer.concat([
    ...[head, inFile],
    ...(isWhole ? [] : [Buffer.from(hashOf(path), "hex")]),
    Buffer.from(isWhole ? whole : kept.join("/")),
  ]);
  return seal(binding, body);
}

/** @throws INVALID_INPUT unless the cursor was made for the same binding */
export function readCursor(binding: Binding, text: string): Resume {
  const body = unseal(binding, text);
  if (body === undefined || body.length < 9) throw invalidCursor();
  const kind = body.readUInt8(0);
  const isWhole = (kind & HASHED) === 0;
  const isInFile = (kind & IN_FILE) !== 0;
  const hashAt = isInFile ? 9 + FILE_BYTES : 9;
  const pathAt = isWhole ? hashAt : hashAt + HASH_BYTES;
  if (body.length < pathAt) throw invalidCursor();
  const path = body.subarray(pathAt).toString("utf8");
  const position = {
    path: path === "" ? [] : path.split("/"),
    line: body.readUInt32BE(1),
    counted: body.readUInt32BE(5),
    at: isInFile ? { offset: body.readUIntBE(9, 6), lines: body.readUInt32BE(15) } : undefined,
  };
  return new Resume(position, isWhole ? undefined : body.subarray(hashAt, pathAt).toString("hex"));
}

/** The text of a cursor with any content. */
export const seal = (binding: Binding, body: Buffer): string =>
  Buffer.concat([sealOf(binding, body), body]).toString("base64url");

/** The content of a cursor; `undefined`: it was not made for this binding. */
export function unseal(binding: Binding, text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  const body = bytes.subarray(SEAL_BYTES);
  return sealOf(binding, body).equals(bytes.subarray(0, SEAL_BYTES)) ? body : undefined;
}

export const invalidCursor = (): Error =>
  invalidInput(
    "'cursor' must be the nextCursor of the same call: same root, input and caller. Leave it out to start again",
    "/cursor",
    "nextCursor",
  );

/**
 * Binds a cursor to its search. The seal is an unkeyed hash against mistakes: a forged cursor gains nothing, since it
 * only says where to begin in a search that the caller may make anyway.
 */
function sealOf(binding: Binding, body: Buffer): Buffer {
  return createHash("sha256")
    .update(JSON.stringify(binding))
    .update("\0")
    .update(body)
    .digest()
    .subarray(0, SEAL_BYTES);
}

const hashOf = (path: readonly string[]): string =>
  createHash("sha256")
    .update(path.join("/"))
    .digest("hex")
    .slice(0, 2 * HASH_BYTES);
