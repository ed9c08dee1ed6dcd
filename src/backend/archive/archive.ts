// The backend of what lies in an archive: a file of another backend, opened anew for each call. Nothing in it can be changed.

import type { ArchiveNode } from "../../core/call/archive.js";
import type { RelPath } from "../../core/call/path.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { isADirectory, notADirectory, notAFile, notFound, type Place } from "../../core/errors/texts.js";
import type { Awaitable } from "../../core/io.js";
import type {
  Access,
  Backend,
  FileStat,
  ListedPart,
  Listing,
  ReadBytes,
  ReadRange,
  WalkOptions,
} from "../../core/ports/backend.js";
import type { OpenFile, Stamp } from "../../core/ports/open-file.js";
import type { ArchiveKind } from "../../path/archive-path.js";
import { isReachableName, isReservedName } from "../../path/grammar.js";
import { pageOf, type TreeEntry, walkBelow } from "../tree-walk.js";
import type { ArchiveDirectory } from "./directory.js";
import type { KeptDirectories } from "./kept.js";
import type { ArchiveReader } from "./reader.js";

/** Loaded when the first archive is looked into, and kept: an import costs as much as a third of a read. */
let Reader: typeof ArchiveReader | undefined;

/** The archive, as one call reaches it. */
export interface ArchiveFile {
  readonly kind: ArchiveKind;
  readonly place: Place;
  /** Number of segments of paths in it that lead to its top. */
  readonly depth: number;
  /** Tells archives of different roots with the same stamp apart. */
  readonly key: string;
  readonly kept: KeptDirectories;
  /** Runs it at once, or after others of the caller. @param size of the archive */
  inTurn<T>(size: number, read: () => Promise<T>): Promise<T>;
  /** Opens it with the rights of the caller. @throws NOT_FOUND, IS_A_DIRECTORY, CAPABILITY_DENIED and the like */
  open(): Awaitable<OpenFile>;
  /** @throws NOT_SUPPORTED */
  refuse(): never;
}

/** An archive that is open, and its directory. */
interface Opened {
  readonly reader: ArchiveReader;
  readonly directory: ArchiveDirectory;
  readonly file: OpenFile;
}

export class ArchiveBackend implements Backend {
  readonly #archive: ArchiveFile;
  readonly #refuse = (): never => this.#archive.refuse();
  readonly write = this.#refuse;
  readonly append = this.#refuse;
  readonly mkdir = this.#refuse;
  readonly remove = this.#refuse;
  readonly touch = this.#refuse;
  readonly move = this.#refuse;
  readonly source = this.#refuse;
  readonly place = this.#refuse;
  readonly changeAll = this.#refuse;

  constructor(archive: ArchiveFile) {
    this.#archive = archive;
  }

  list(path: RelPath, page: ListedPart, access: Access): Promise<Listing> {
    return this.#look(access, (opened) => {
      const inside = this.#inside(path);
      const { children } = nodeAt(opened, inside, access);
      if (children === undefined) throw notADirectory(access.place);
      const { shown, counts } = pageOf([...children.values()], page, access);
      const { leftOut } = opened.directory;
      const entries = shown.map((node) => ({
        ...entryOf(node, opened),
        ...(page.stamps === true ? stampPart(node, opened) : {}),
        ...(isReachableName(node.name, false) && !isReservedName(node.name) ? {} : { unreachable: true as const }),
      }));
      return { entries, ...counts, ...(inside.length === 0 && leftOut > 0 && { unreadable: leftOut }) };
    });
  }

  walk(path: RelPath, options: WalkOptions, access: Access): Promise<void> {
    return this.#look(access, async (opened) => {
      const inside = this.#inside(path);
      if (nodeAt(opened, inside, access).children === undefined) throw notADirectory(access.place);
      const { directory } = opened;
      if (inside.length === 0) for (let count = 0; count < directory.leftOut; count++) options.unreadable?.();
      const entries = (below: readonly string[]) =>
        [...(directory.find(below)?.children?.values() ?? [])].map((node) => entryOf(node, opened));
      const readFile = (below: readonly string[], offset: number, length: number) =>
        readRange(contentAt(opened, below, access), () => ({ offset, length }));
      await walkBelow({ entries, readFile }, inside, { ...options, access });
    });
  }

  async stat(path: RelPath, access: Access): Promise<FileStat | undefined> {
    try {
      return await this.#look(access, (opened) => {
        const node = opened.directory.find(this.#inside(path));
        if (node === undefined) return undefined;
        const { type, size, modified } = entryOf(node, opened);
        return { type, size, modified, readOnly: true, symlink: type === "symlink", ...stampPart(node, opened) };
      });
    } catch (error) {
      // Without the archive there is nothing in it.
      if (error instanceof FileAdapterError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  async read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Promise<ReadBytes> {
    return readRange(await this.open(path, access), plan);
  }

  async open(path: RelPath, access: Access): Promise<OpenFile> {
    const opened = await this.#open(access);
    try {
      const content = contentAt(opened, this.#inside(path), access);
      const close = () => {
        content.close();
        closeAll(opened);
      };
      return { ...content, close };
    } catch (error) {
      closeAll(opened);
      throw error;
    }
  }

  close(): void {}

  #inside({ segments }: RelPath): readonly string[] {
    return segments.slice(this.#archive.depth);
  }

  async #look<T>(access: Access, work: (opened: Opened) => Awaitable<T>): Promise<T> {
    const opened = await this.#open(access);
    try {
      return await work(opened);
    } finally {
      closeAll(opened);
    }
  }

  /** Every look passes here: the archive is opened with the rights of the caller, and its directory is that of what was opened. */
  async #open({ scope }: Access): Promise<Opened> {
    const { kind, key, kept, place } = this.#archive;
    const file = await this.#archive.open();
    try {
      // A call that has already been answered would never close it.
      scope.checkpoint();
      Reader ??= (await import("./reader.js")).ArchiveReader;
      const reader = new Reader(file, { kind, place, scope });
      const known = file.stamp === undefined ? undefined : `${key}/${kind}/${file.stamp}`;
      const find = () => (known === undefined ? undefined : kept.get(known));
      const read = async () => {
        // Another call may have read it before this one had its turn.
        const directory = find() ?? (await reader.directory());
        if (known !== undefined) kept.put(known, directory);
        return directory;
      };
      return { reader, directory: find() ?? (await this.#archive.inTurn(file.size, read)), file };
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

function closeAll({ reader, file }: Opened): void {
  reader.close();
  file.close();
}

function nodeAt({ directory }: Opened, inside: readonly string[], { place }: Access): ArchiveNode {
  const node = directory.find(inside);
  if (node === undefined) throw notFound(place);
  return node;
}

/** @throws NOT_FOUND, IS_A_DIRECTORY, NOT_A_FILE */
function contentAt(opened: Opened, inside: readonly string[], access: Access): OpenFile {
  const node = nodeAt(opened, inside, access);
  if (node.children !== undefined) throw isADirectory(access.place);
  if (node.entry?.type !== "file") throw notAFile(access.place);
  return { ...opened.reader.open(node.entry), ...stampPart(node, opened) };
}

async function readRange(file: OpenFile, plan: (size: number) => ReadRange): Promise<ReadBytes> {
  try {
    const { size, stamp } = file;
    const { offset, length } = plan(size);
    return { bytes: await file.read(offset, length), size, ...(stamp === undefined ? {} : { stamp }) };
  } finally {
    file.close();
  }
}

/** Folders that the archive does not list have its own time. */
const entryOf = ({ name, entry, children }: ArchiveNode, { file }: Opened): TreeEntry => ({
  ...{ name, type: children === undefined ? (entry?.type ?? "other") : "directory", size: entry?.size ?? 0 },
  modified: entry?.modified ?? file.modified,
});

/** A stamp of the archive stands for all that is in it. */
function stampPart({ entry }: ArchiveNode, { file }: Opened): { stamp?: Stamp } {
  if (entry?.type !== "file" || file.stamp === undefined) return {};
  return { stamp: `${file.stamp}!${entry.packed.offset}/${entry.path}` };
}
