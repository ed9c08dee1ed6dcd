// Port of archives that are listed or unpacked as a whole.

import type { Place } from "../errors/texts.js";
import type { OpenFile } from "../ports/open-file.js";
import type { EntryType } from "../ports/walk.js";
import type { CallScope } from "./scope.js";

/** Where the bytes of a file are, and how they are packed. */
export interface Packed {
  /** Position of the local header in a zip, of the content in a tar. */
  readonly offset: number;
  readonly method: "store" | "deflate" | "encrypted" | `${string} is`;
  /** Absent: the archive has none. */
  readonly crc32?: number;
}

export interface ArchiveEntry {
  /** Segments joined by `/`. */
  readonly path: string;
  readonly type: EntryType;
  /** Bytes as the archive declares them; 0 unless it is a file. */
  readonly size: number;
  readonly compressedSize: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Permission bits. */
  readonly mode?: number | undefined;
  readonly packed: Packed;
}

/** A name in the tree. */
export interface ArchiveNode {
  readonly name: string;
  /** Absent: a folder that the archive does not list, but has something in. */
  readonly entry?: ArchiveEntry | undefined;
  /** Present if and only if it is a folder; in the order of the archive. */
  readonly children?: ReadonlyMap<string, ArchiveNode>;
}

/** Entries of an archive, and the tree that their names make. */
export interface ArchiveContents {
  readonly entries: readonly ArchiveEntry[];
  /** Number of entries whose names no path has, and the first of these names. */
  readonly leftOut: number;
  readonly firstLeftOut?: string | undefined;
  /** The first path that several entries have, or a file that others take for a folder. */
  readonly duplicate?: string | undefined;
  /** @returns `undefined`: there is none */
  find(segments: readonly string[]): ArchiveNode | undefined;
}

/** An archive in an open file, which its opener closes after it. */
export interface OpenArchive {
  readonly contents: ArchiveContents;
  /** The content of a file. @throws BAD_FORMAT when it is read */
  open(entry: ArchiveEntry): OpenFile;
  close(): void;
}

/** @param about `name` tells its kind where its first bytes do not; `place`: named in errors @throws BAD_FORMAT, TOO_LARGE */
export type ArchiveOpener = (
  file: Pick<OpenFile, "size" | "read">,
  about: { readonly name: string; readonly place: Place; readonly scope: CallScope },
) => Promise<OpenArchive>;
