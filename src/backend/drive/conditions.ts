// Checks the preconditions (`ifMatch`, expected size) of changes to drive files.

import { createHash, type Hash } from "node:crypto";
import { conflict } from "../../core/errors/texts.js";
import { type Expected, isExpected, namesStamp } from "../../core/etag.js";
import type { Access, AppendOptions, Written } from "../../core/ports/backend.js";
import type { DriveSnapshot, DriveStat } from "../../drive/engine/engine.js";
import { contentVersion } from "../../drive/engine/log/entry.js";
import { expectationError, MAX_TOLD_BYTES, requireExpected, requireStamp, sizeError } from "../preconditions.js";

/** A file of a tree, as seen by one call. */
export interface DriveFile {
  readonly tree: DriveSnapshot;
  readonly segments: readonly string[];
  readonly access: Access;
}

/** Result of checking a conditional append. */
export interface Found {
  /** Hash state of the existing content, to be continued; absent if it was not read. */
  readonly hash?: Hash;
  /** The answer, if the append had already been made. */
  readonly repeated?: Written;
}

const PIECE_BYTES = 1_048_576;

/**
 * @param stat of the existing file; `undefined`: nothing, or not a file
 * @throws CONFLICT
 */
export async function checkExpected(
  file: DriveFile,
  stat: DriveStat | undefined,
  expected: Expected | undefined,
): Promise<Found> {
  if (expected === undefined) return {};
  const isAsRead = expected !== "nothing" && expected.stamp !== undefined && expected.stamp === stat?.content;
  if (isAsRead) return {};
  if (namesStamp(expected) && stat !== undefined) {
    requireStamp(expected, stat.content, file.access);
    return {};
  }
  // The hash is needed only for the error, which omits it for files that are slow to read or that the caller may not
  // read.
  const isForError = expected === "nothing" && stat !== undefined;
  if (isForError && (stat.size > MAX_TOLD_BYTES || !file.access.holds("crud/read"))) {
    throw expectationError(expected, undefined, file.access);
  }
  const hash = stat === undefined ? undefined : await hashOf(file, stat.size);
  requireExpected(expected, hash?.copy().digest("hex"), file.access);
  return hash === undefined ? {} : { hash };
}

/**
 * Checks an append.
 * @param data the whole body, if a size is expected
 * @throws CONFLICT
 */
export async function checkAppend(
  file: DriveFile,
  stat: DriveStat | undefined,
  { data, expected, expectedSize }: Omit<AppendOptions, "parents"> & { readonly data?: Buffer | undefined },
): Promise<Found> {
  const { access, segments, tree } = file;
  const size = stat?.size ?? 0;
  if (expectedSize === undefined || size === expectedSize) return checkExpected(file, stat, expected);
  // Requires the right to read: otherwise a caller could find out the content by guessing one byte more each time.
  const canBeRepeated = stat !== undefined && data !== undefined && access.holds("crud/read");
  if (!canBeRepeated || size !== expectedSize + data.length) throw sizeError(expectedSize, stat && size, access);
  const { bytes } = await tree.readFile(segments, expectedSize, data.length);
  const before = expected === undefined ? undefined : await hashOf(file, expectedSize);
  const wasExpected = expected === undefined || isExpected(expected, before?.copy().digest("hex"));
  if (!bytes.equals(data) || !wasExpected) throw sizeError(expectedSize, size, access);
  const sha256 = before?.update(data).digest("hex");
  return {
    repeated: { bytes: 0, created: false, size, isRepeated: true, ...(sha256 === undefined ? {} : { sha256 }) },
  };
}

/** @param version that the entry must still have; only files have one @throws CONFLICT */
export function checkVersion(stat: DriveStat | undefined, version: string | undefined, { place, verb }: Access): void {
  const content = stat?.content;
  if (version === undefined || content === undefined || contentVersion(content) === version) return;
  throw conflict(place, { verb, expected: "another version" });
}

async function hashOf({ tree, segments, access }: DriveFile, size: number): Promise<Hash> {
  const hash = createHash("sha256");
  const into = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size));
  for (let at = 0; at < size; at += PIECE_BYTES) {
    access.scope.checkpoint();
    hash.update((await tree.readFile(segments, at, Math.min(PIECE_BYTES, size - at), into)).bytes);
  }
  return hash;
}
