// The directory of an archive: its entries as they stand in it, and the tree that their names make.

import type { ArchiveContents, ArchiveEntry, ArchiveNode } from "../../core/call/archive.js";
import { DRIVE, MAX_PATH_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS } from "../../path/grammar.js";
import { tooLarge } from "./fault.js";

export const MAX_ENTRIES = 100_000;
/** Names and what else stands beside the contents. */
export const MAX_DIRECTORY_BYTES = 67_108_864;
/** Entries, and folders that only the paths of entries name. */
const MAX_NODES = 2 * MAX_ENTRIES;
/** Memory that an entry takes beside its name. */
const ENTRY_BYTES = 300;

/** A name in the tree, in which others are put. */
interface Node extends ArchiveNode {
  readonly children?: Map<string, Node>;
}

export class ArchiveDirectory implements ArchiveContents {
  readonly entries: ArchiveEntry[] = [];
  /** Number of entries whose names no path has, and the first of these names. */
  leftOut = 0;
  firstLeftOut: string | undefined;
  /** The first path that several entries have, or a file that others take for a folder. */
  duplicate: string | undefined;
  /** Bytes of memory, about. */
  weight = 0;
  readonly #top: Required<Pick<Node, "children">> & Node = { name: "", children: new Map() };
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
    let node: Node | undefined = this.#top;
    for (const segment of segments) node = node?.children?.get(segment);
    return node;
  }

  #place(segments: readonly string[], entry: ArchiveEntry): void {
    let folder: Map<string, Node> = this.#top.children;
    for (const segment of segments.slice(0, -1)) folder = this.#folderIn(folder, segment, entry);
    const name = segments.at(-1) ?? "";
    const old = folder.get(name);
    const children = entry.type === "directory" ? (old?.children ?? new Map()) : undefined;
    if (old !== undefined && (old.children === undefined || children === undefined)) this.duplicate ??= entry.path;
    this.#put(folder, { name, entry, ...(children && { children }) });
  }

  #folderIn(folder: Map<string, Node>, name: string, { path }: ArchiveEntry): Map<string, Node> {
    const old = folder.get(name);
    if (old?.children !== undefined) return old.children;
    if (old !== undefined) this.duplicate ??= path;
    const children = new Map<string, Node>();
    this.#put(folder, { name, children });
    return children;
  }

  #put(folder: Map<string, Node>, node: Node): void {
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
