// The directory of an archive: its entries as they stand in it, and the tree that their names make.

import type { EntryType } from "../../core/ports/walk.js";
import { DRIVE, MAX_PATH_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS } from "../../path/grammar.js";
import { tooLarge } from "./fault.js";

export const MAX_ENTRIES = 100_000;
/** Names and what else stands beside the contents. */
export const MAX_DIRECTORY_BYTES = 67_108_864;
/** Entries, and folders that only the paths of entries name. */
const MAX_NODES = 2 * MAX_ENTRIES;
/** Memory that an entry takes beside its name. */
const ENTRY_BYTES = 300;

/** Where the bytes of a file are, and how they are packed. */
export interface Packed {
  /** Of the local header in a zip, of the content in a tar. */
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
  /** Present if and only if it is a folder. */
  readonly children?: Map<string, ArchiveNode>;
}

export class ArchiveDirectory {
  readonly entries: ArchiveEntry[] = [];
  /** Number of entries whose names no path has, and the first of these names. */
  leftOut = 0;
  firstLeftOut: string | undefined;
  /** The first path that several entries have, or a file that others take for a folder. */
  duplicate: string | undefined;
  /** Bytes of memory, about. */
  weight = 0;
  readonly #top: Required<Pick<ArchiveNode, "children">> & ArchiveNode = { name: "", children: new Map() };
  #nodes = 0;

  /** @param name as the archive has it @throws ArchiveFault if there are too many */
  add(name: string, facts: Omit<ArchiveEntry, "path">): void {
    this.weight += ENTRY_BYTES + 2 * name.length;
    if (this.entries.length + this.leftOut >= MAX_ENTRIES) throw tooLarge(`${MAX_ENTRIES} entries`);
    const segments = segmentsOf(name);
    if (segments === undefined) {
      this.leftOut++;
      this.firstLeftOut ??= name;
      return;
    }
    // The top itself, which some writers list.
    if (segments.length === 0) return;
    const entry = { ...facts, path: segments.join("/") };
    this.entries.push(entry);
    this.#place(segments, entry);
  }

  /** @returns `undefined`: there is none */
  find(segments: readonly string[]): ArchiveNode | undefined {
    let node: ArchiveNode | undefined = this.#top;
    for (const segment of segments) node = node?.children?.get(segment);
    return node;
  }

  #place(segments: readonly string[], entry: ArchiveEntry): void {
    let folder: Map<string, ArchiveNode> = this.#top.children;
    for (const segment of segments.slice(0, -1)) folder = this.#folderIn(folder, segment, entry);
    const name = segments.at(-1) ?? "";
    const old = folder.get(name);
    const children = entry.type === "directory" ? (old?.children ?? new Map()) : undefined;
    if (old !== undefined && (old.entry !== undefined || children === undefined)) this.duplicate ??= entry.path;
    this.#put(folder, { name, entry, ...(children && { children }) });
  }

  #folderIn(folder: Map<string, ArchiveNode>, name: string, { path }: ArchiveEntry): Map<string, ArchiveNode> {
    const old = folder.get(name);
    if (old?.children !== undefined) return old.children;
    if (old !== undefined) this.duplicate ??= path;
    const children = new Map<string, ArchiveNode>();
    this.#put(folder, { name, children });
    return children;
  }

  #put(folder: Map<string, ArchiveNode>, node: ArchiveNode): void {
    if (++this.#nodes > MAX_NODES) throw tooLarge(`${MAX_NODES} entries and folders`);
    this.weight += ENTRY_BYTES;
    folder.set(node.name, node);
  }
}

/** The segments of a name in an archive; `undefined`: no path leads there. */
function segmentsOf(name: string): readonly string[] | undefined {
  const text = name.replaceAll("\\", "/");
  if (text.startsWith("/") || text.includes("\0") || Buffer.byteLength(text) > MAX_PATH_BYTES) return undefined;
  const segments = text.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isRefused =
    segments.length > MAX_SEGMENTS ||
    DRIVE.test(segments[0] ?? "") ||
    segments.some((segment) => segment === ".." || Buffer.byteLength(segment) > MAX_SEGMENT_BYTES);
  return isRefused ? undefined : segments;
}
