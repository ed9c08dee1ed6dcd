// A file or folder of a root as it stands in a backup, read one entry after the other.

import type { OpenFile } from "../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";
import type { ReadEntry } from "./archive.js";

/** The entry of a root that is read next; `undefined` at the end. */
export type NextEntry = () => Promise<ReadEntry | undefined>;

/** One entry at the top of a root, with all that is below it */
export class ArchivedTree implements TreeSource {
  readonly top: SourceEntry;
  readonly left = { symlinks: 0, policy: 0, unreadable: 0 };
  /** The archive entry after the tree, once that was read. */
  rest: ReadEntry | undefined;
  readonly #prefix: string;
  readonly #next: NextEntry;
  readonly #waiting: SourceEntry[] = [];
  /** Folders from the top to where the last entry was. */
  #folder: readonly string[] = [];

  constructor(first: ReadEntry, next: NextEntry) {
    const [kind = "", root = "", name = "", ...below] = namesOf(first);
    this.#prefix = `${kind}/${root}/${name}/`;
    this.#next = next;
    const [isTop, isDirectory] = [below.length === 0, first.path.endsWith("/")];
    this.top = isTop && !isDirectory ? fileOf(first, []) : directoryOf([], isTop ? first.mode : undefined);
    if (below.length > 0) this.#add(first);
  }

  async next(): Promise<SourceEntry | undefined> {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting;
    if (this.rest !== undefined) return undefined;
    const entry = await this.#next();
    if (entry?.path.startsWith(this.#prefix) === true) this.#add(entry);
    else this.rest = entry;
    return this.#waiting.shift();
  }

  isUnchanged(): boolean {
    return true;
  }

  close(): void {}

  /** Puts an entry in line, behind the folders that lead to it. */
  #add(entry: ReadEntry): void {
    const names = namesOf(entry).slice(3);
    const isDirectory = entry.path.endsWith("/");
    const folder = isDirectory ? names : names.slice(0, -1);
    const shared = folder.findIndex((name, depth) => this.#folder[depth] !== name);
    for (let depth = shared < 0 ? folder.length : shared; depth < folder.length; depth++) {
      const isListed = isDirectory && depth === folder.length - 1;
      this.#waiting.push(directoryOf(folder.slice(0, depth + 1), isListed ? entry.mode : undefined));
    }
    this.#folder = folder;
    if (!isDirectory) this.#waiting.push(fileOf(entry, names));
  }
}

/** @param mode absent: one that a backup does not list */
function directoryOf(below: readonly string[], mode: number | undefined): SourceEntry {
  const open = () => {
    throw new TypeError("A folder has no content");
  };
  return { type: "directory", below, open, ...(mode === undefined ? {} : { mode }) };
}

function fileOf(entry: ReadEntry, below: readonly string[]): SourceEntry {
  const { mode } = entry;
  return { type: "file", below, open: () => openEntry(entry), ...(mode === undefined ? {} : { mode }) };
}

const namesOf = ({ path }: ReadEntry): readonly string[] => path.replace(/\/$/, "").split("/");

/** Reads the content of an entry from its beginning on. */
function openEntry({ size, modified, content }: ReadEntry): OpenFile {
  const chunks = content[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  return {
    ...{ size, modified },
    async read(_offset, length) {
      const pieces = [held];
      let have = held.length;
      while (have < length) {
        const step = await chunks.next();
        if (step.done === true) break;
        pieces.push(step.value);
        have += step.value.length;
      }
      const all = Buffer.concat(pieces);
      held = all.subarray(length);
      return all.subarray(0, length);
    },
    close() {},
  };
}
