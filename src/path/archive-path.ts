// Paths that look into archives: `a/x.zip!/docs/b.md`. Pure text, whatever the disk has.

import type { RelPath } from "../core/call/path.js";
import { isArchiveName, relPath } from "./grammar.js";

export type ArchiveKind = "zip" | "tar" | "tgz";

/** A path, split where it enters an archive. */
export interface ArchivePath {
  readonly kind: ArchiveKind;
  /** Path of the archive file itself. */
  readonly archive: RelPath;
  /** Segments below the top of the archive. */
  readonly inside: readonly string[];
  /** The rest enters an archive within the archive. */
  readonly isNested: boolean;
}

/** @returns `undefined`: no segment of the path is an archive */
export function archiveIn({ segments }: RelPath): ArchivePath | undefined {
  const depth = segments.findIndex(isArchiveName);
  const name = segments[depth]?.slice(0, -1);
  if (name === undefined) return undefined;
  const inside = segments.slice(depth + 1);
  const archive = relPath([...segments.slice(0, depth), name]);
  return { kind: archiveKindOf(name), archive, inside, isNested: inside.some(isArchiveName) };
}

/** The kind of an archive by its name; zip, unless that says otherwise. */
export function archiveKindOf(name: string): ArchiveKind {
  if (/\.tar$/i.test(name)) return "tar";
  return /gz$/i.test(name) ? "tgz" : "zip";
}
