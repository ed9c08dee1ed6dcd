// The planned state of a root during an undo: what is there now, with the steps planned so far applied.

import { FileAdapterError } from "../../core/errors/errors.js";
import type { ChangedKind, EntryState } from "../../core/ports/changes/change.js";
import type { PathCall } from "../../core/ports/operation.js";
import type { PastContent } from "../history/past-content.js";

/** An entry as it will be at one moment of the plan. */
export interface Outlook {
  readonly state: EntryState;
  readonly kind: ChangedKind;
  /** Where it is on disk; absent: only the plan has it. */
  readonly disk?: readonly string[];
  /** Content that an earlier step writes there. */
  readonly content?: PastContent;
  /** It comes back in a folder, so that nobody can look at it yet. */
  readonly isUnseen?: true;
  /** A step of the plan puts it there. */
  readonly isPlanned?: true;
}

type Planned = Outlook | "gone";

/** The largest directory that is looked through to find whether it will be empty. */
const MAX_NAMES = 10_000;

export class OutlookOfRoot {
  readonly #reads: (path: readonly string[]) => PathCall | undefined;
  readonly #planned = new Map<string, { readonly path: readonly string[]; readonly is: Planned }>();

  #isReplaced = false;

  /** @param reads a call that may read a real path */
  constructor(reads: (path: readonly string[]) => PathCall | undefined) {
    this.#reads = reads;
  }

  /** The planned state of a path. `unseen`: it lies in a folder that the plan restores. */
  async at(path: readonly string[]): Promise<Outlook | "unseen" | undefined> {
    for (let length = path.length; length > 0; length--) {
      const planned = this.#planned.get(keyOf(path.slice(0, length)))?.is;
      if (planned === undefined) continue;
      if (planned === "gone") return undefined;
      if (length === path.length) return { ...planned, isPlanned: true };
      if (planned.disk === undefined) return planned.kind === "directory" ? "unseen" : undefined;
      return this.#onDisk([...planned.disk, ...path.slice(length)]);
    }
    return this.#isReplaced ? "unseen" : this.#onDisk(path);
  }

  /** All of the root gets another content. */
  replaceAll(): void {
    this.#planned.clear();
    this.#isReplaced = true;
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

  /** An entry, with all below it, goes away. */
  remove(path: readonly string[]): void {
    this.#set(path, "gone");
  }

  /** An entry takes a place. */
  put(path: readonly string[], entry: Outlook): void {
    this.#set(path, entry);
  }

  /** An entry, with all below it, gets another path. */
  move(from: readonly string[], to: readonly string[], entry: Outlook): void {
    const below = [...this.#planned.values()].filter((one) => isBelow(one.path, from));
    this.#set(from, "gone");
    this.#set(to, entry);
    for (const { path, is } of below) this.#set([...to, ...path.slice(from.length)], is, true);
  }

  /** Whether a directory will hold nothing. */
  async isEmpty(path: readonly string[]): Promise<boolean> {
    const planned = [...this.#planned.values()].filter((one) => isChild(one.path, path));
    if (planned.some(({ is }) => is !== "gone")) return false;
    const disk = (await this.at(path)) ?? "unseen";
    if (disk === "unseen" || disk.disk === undefined) return disk !== "unseen" && disk.isUnseen !== true;
    const call = this.#reads(disk.disk);
    if (call === undefined) return false;
    const { entries, total, denied } = await call.root.backend.list(
      call.path,
      { offset: 0, limit: MAX_NAMES },
      call.access,
    );
    if (total > entries.length || (denied ?? 0) > 0) return false;
    const gone = new Set(planned.map((one) => one.path.at(-1)));
    return entries.every(({ name }) => gone.has(name));
  }

  #set(path: readonly string[], is: Planned, keepsBelow = false): void {
    if (!keepsBelow) {
      for (const [key, one] of this.#planned) if (isBelow(one.path, path)) this.#planned.delete(key);
    }
    this.#planned.set(keyOf(path), { path, is });
  }
}

const NOTHING: ReadonlySet<string> = new Set(["NOT_FOUND", "NOT_A_DIRECTORY", "CONFLICT"]);

const keyOf = (path: readonly string[]): string => path.join("/");

const isBelow = (path: readonly string[], directory: readonly string[]): boolean =>
  path.length > directory.length && directory.every((name, index) => name === path[index]);

const isChild = (path: readonly string[], directory: readonly string[]): boolean =>
  path.length === directory.length + 1 && isBelow(path, directory);
