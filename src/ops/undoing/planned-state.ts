// The planned state of a root during an undo: its present state, with the steps planned so far applied.

import { isBelow } from "../../core/call/path.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import type { ChangedKind, EntryState } from "../../core/ports/changes/change.js";
import type { Journal, JournalEntry } from "../../core/ports/changes/journal.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { PathCall } from "../../core/ports/operation.js";
import { notUndoable, type PastContent } from "../history/past-content.js";

/** A place in a tree that a deletion has kept. */
export interface KeptPlace {
  readonly tree: JournalEntry;
  /** Below the tree. */
  readonly names: readonly string[];
}

/** An entry as it will be at one moment of the plan. */
export interface Outlook {
  readonly state: EntryState;
  readonly kind: ChangedKind;
  /** Where it is on disk; absent: only the plan has it. */
  readonly disk?: readonly string[];
  /** Content that an earlier step writes there. */
  readonly content?: PastContent;
  /** Place among kept content from which it comes back. */
  readonly kept?: KeptPlace;
  /** The entry comes back in a folder, so it cannot be looked at yet. */
  readonly isUnseen?: true;
  /** A step of the plan puts it there. */
  readonly isPlanned?: true;
}

type Planned = Outlook | "gone";

/** The largest directory that is looked through to find whether it will be empty. */
const MAX_NAMES = 10_000;

export class OutlookOfRoot {
  readonly #reads: (path: readonly string[]) => PathCall | undefined;
  readonly #journal: Pick<Journal, "stateBelow" | "imageBelow">;
  readonly #planned = new Map<string, { readonly path: readonly string[]; readonly is: Planned }>();

  #isReplaced = false;

  /** @param reads a call that may read a real path */
  constructor(
    reads: (path: readonly string[]) => PathCall | undefined,
    journal: Pick<Journal, "stateBelow" | "imageBelow">,
  ) {
    this.#reads = reads;
    this.#journal = journal;
  }

  /** The planned state of a path. `unseen`: it lies in a folder that the plan restores, and cannot be looked up. */
  async at(path: readonly string[]): Promise<Outlook | "unseen" | undefined> {
    for (let length = path.length; length > 0; length--) {
      const planned = this.#planned.get(keyOf(path.slice(0, length)))?.is;
      if (planned === undefined) continue;
      if (planned === "gone") return undefined;
      if (length === path.length) return { ...planned, isPlanned: true };
      if (planned.disk === undefined && planned.kind !== "directory") return undefined;
      if (planned.disk === undefined) return this.#inKept(planned.kept, path, length);
      return this.#onDisk([...planned.disk, ...path.slice(length)]);
    }
    return this.#isReplaced ? "unseen" : this.#onDisk(path);
  }

  /** The whole root gets another content. */
  replaceAll(): void {
    this.#planned.clear();
    this.#isReplaced = true;
  }

  /** The state in a kept tree. @param length of the path of what is kept */
  async #inKept(
    kept: KeptPlace | undefined,
    path: readonly string[],
    length: number,
  ): Promise<Outlook | "unseen" | undefined> {
    const journal = this.#journal;
    if (kept === undefined || journal.stateBelow === undefined || this.#reads(path) === undefined) return "unseen";
    const { tree } = kept;
    const names = [...kept.names, ...path.slice(length)];
    const found = await journal.stateBelow(tree, names);
    if (found === undefined) return undefined;
    const { kind, names: _, ...state } = found;
    const place = { state, kind, kept: { tree, names } };
    return kind === "file" ? { ...place, content: { ...state, open: () => openKept(journal, place) } } : place;
  }

  /** The state on disk; also `undefined` if the caller may not read it. */
  async #onDisk(path: readonly string[]): Promise<Outlook | undefined> {
    const call = this.#reads(path);
    if (call === undefined) return undefined;
    try {
      const now = await call.root.backend.state?.(call.path, call.access);
      if (now === undefined) return undefined;
      const { kind, ...state } = now;
      return { state, kind, disk: path };
    } catch (error) {
      if (error instanceof FileAdapterError && NOTHING.has(error.code)) return undefined;
      throw error;
    }
  }

  /** An entry, with all below it, gets another path. */
  move(from: readonly string[], to: readonly string[], entry: Outlook): void {
    const below = [...this.#planned.values()].filter((one) => isBelow(one.path, from));
    this.put(from, "gone");
    this.put(to, entry);
    for (const { path, is } of below) this.put([...to, ...path.slice(from.length)], is, true);
  }

  /** Whether a directory will hold nothing. */
  async isEmpty(path: readonly string[]): Promise<boolean> {
    const planned = [...this.#planned.values()].filter((one) => isChild(one.path, path));
    if (planned.some(({ is }) => is !== "gone")) return false;
    const disk = (await this.at(path)) ?? "unseen";
    const gone = new Set(planned.map((one) => one.path.at(-1)));
    if (disk !== "unseen" && disk.kept !== undefined) {
      const { tree, names } = disk.kept;
      const now = this.#reads(path) === undefined ? undefined : await this.#journal.stateBelow?.(tree, names);
      return now?.names?.every((name) => gone.has(name)) ?? false;
    }
    if (disk === "unseen" || disk.disk === undefined) return disk !== "unseen" && disk.isUnseen !== true;
    const call = this.#reads(disk.disk);
    if (call === undefined) return false;
    const { entries, total, denied } = await call.root.backend.list(
      call.path,
      { offset: 0, limit: MAX_NAMES },
      call.access,
    );
    if (total > entries.length || (denied ?? 0) > 0) return false;
    return entries.every(({ name }) => gone.has(name));
  }

  /** An entry takes a place, or goes away with all below it. */
  put(path: readonly string[], is: Planned, keepsBelow = false): void {
    if (!keepsBelow) {
      for (const [key, one] of this.#planned) if (isBelow(one.path, path)) this.#planned.delete(key);
    }
    this.#planned.set(keyOf(path), { path, is });
  }
}

/** @throws NOT_SUPPORTED if it was altered, or is gone */
async function openKept(
  journal: Pick<Journal, "imageBelow">,
  { state, kept: { tree, names } }: { readonly state: EntryState; readonly kept: KeptPlace },
): Promise<OpenFile> {
  const image = await journal.imageBelow?.(tree, names, state.version ?? "");
  if (image === undefined || typeof image === "string") throw notUndoable(tree.id, image ?? "not_kept");
  return image.open();
}

const NOTHING: ReadonlySet<string> = new Set(["NOT_FOUND", "NOT_A_DIRECTORY", "CONFLICT"]);

const keyOf = (path: readonly string[]): string => path.join("/");

const isChild = (path: readonly string[], directory: readonly string[]): boolean =>
  path.length === directory.length + 1 && isBelow(path, directory);
