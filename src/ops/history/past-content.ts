// Content of files of one root before and after recorded changes, as far as it was kept or is still there.

import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { isSamePath } from "../../core/call/path.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import type { Sha256 } from "../../core/etag.js";
import type { Awaitable } from "../../core/io.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { Journal, JournalEntry, NotUndoable, Side } from "../../core/ports/changes/journal.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { PathCall } from "../../core/ports/operation.js";
import { contentOf, piecesOf } from "../content/pieces.js";

/** Content of a file as it was. */
export interface PastContent extends Omit<EntryState, "version"> {
  /** Opens the content, which the caller closes. */
  open(): Awaitable<OpenFile>;
}

/** `nothing`: there was no file. */
export type Past = PastContent | NotUndoable | "nothing";

/** Most changes of one file that are followed to find a content. */
const MAX_FOLLOWED = 64;
const PAGE = 200;
const MAX_PAGES = 20;

/** A tree that was taken away, and the names of a file in it. */
interface Above {
  readonly tree: JournalEntry;
  readonly names: readonly string[];
}

/** Looks up past content. @param reads a call that may read a real path now; `undefined`: the caller may not */
export class PastContents {
  readonly #journal: Journal;
  readonly #reads: (path: readonly string[]) => PathCall | undefined;

  constructor(journal: Journal, reads: (path: readonly string[]) => PathCall | undefined) {
    this.#journal = journal;
    this.#reads = reads;
  }

  /** Content of an entry's `path`, or of the `from` of a move or copy, before or after its change. */
  at(entry: JournalEntry, side: Side, path: readonly string[]): Promise<Past> {
    if (isSamePath(entry.path, path)) return side === "before" ? this.before(entry) : this.after(entry);
    if (side === "after" && entry.action === "moved") return Promise.resolve("nothing");
    return this.after(entry);
  }

  /** The beginning of a content, as a file that once was no longer. @param state its size and other facts */
  static firstBytes(whole: PastContent, state: EntryState): PastContent {
    const { size, ...facts } = factsOf(state);
    const open = async (): Promise<OpenFile> => {
      const file = await whole.open();
      return {
        ...{ size, modified: state.modified },
        read: (offset, length, into) => file.read(offset, Math.max(0, Math.min(length, size - offset)), into),
        close: () => file.close(),
      };
    };
    return { ...facts, size, open };
  }

  /** @param left how many further changes are followed */
  async before(entry: JournalEntry, left = MAX_FOLLOWED): Promise<Past> {
    const { before, addition, kind } = entry;
    if (before === null) return "nothing";
    if (kind !== "file") return "not_kept";
    if (addition !== undefined) {
      const whole = await this.after(entry, left - 1);
      return typeof whole === "string" ? whole : PastContents.firstBytes(whole, { ...before, size: addition.offset });
    }
    const image = await this.#journal.image(entry, "before");
    return typeof image === "string" ? image : { ...factsOf(before), size: image.size, open: () => image.open() };
  }

  /** The content after a change: still there, or kept by the change that replaced it. */
  async after(entry: JournalEntry, left = MAX_FOLLOWED): Promise<Past> {
    const { after, kind } = entry;
    if (after === null) return "nothing";
    if (kind !== "file" || left <= 0) return "not_kept";
    const current = await this.#current(entry.path, after);
    if (current !== undefined) return current;
    const next = await this.#next(entry);
    const above = await this.#nextAbove(entry);
    if (above !== undefined && (next === undefined || above.tree.id < next.id)) {
      return this.#afterAbove(entry, above, left);
    }
    if (next === undefined) return "not_kept";
    if (!isSamePath(next.path, entry.path)) return next.action === "moved" ? this.after(next, left - 1) : "not_kept";
    if (next.before === null || !mayBeSame(next.before, after)) return "not_kept";
    const past = await this.before(next, left - 1);
    return typeof past === "string" ? past : { ...past, ...factsOf(after), size: past.size };
  }

  /** A directory above it was moved with all that was in it, or deleted and lies in the trash. */
  #afterAbove(entry: JournalEntry, { tree, names }: Above, left: number): Promise<Past> {
    const { after } = entry;
    if (tree.action === "moved") {
      return this.after({ ...entry, path: [...tree.path, ...names], id: tree.id, time: tree.time }, left - 1);
    }
    return this.#inTrash(tree, names, after);
  }

  async #inTrash(tree: JournalEntry, names: readonly string[], state: EntryState | null): Promise<Past> {
    if (state?.version === undefined) return "not_kept";
    const image = (await this.#journal.imageBelow?.(tree, names, state.version)) ?? "not_kept";
    return typeof image === "string" ? image : { ...factsOf(state), size: image.size, open: () => image.open() };
  }

  /** The change that came next and took a directory above a path away. */
  async #nextAbove({ id, path, time }: JournalEntry): Promise<Above | undefined> {
    let next: Above | undefined;
    for (let length = path.length - 1; length > 0; length--) {
      const directory = path.slice(0, length);
      const tree = await this.#oldest(directory, time, (one) => one.id > id && takesAway(one, directory));
      if (tree !== undefined && (next === undefined || tree.id < next.tree.id))
        next = { tree, names: path.slice(length) };
    }
    return next;
  }

  async #current(path: readonly string[], state: EntryState): Promise<PastContent | undefined> {
    const call = this.#reads(path);
    const now = await call?.root.backend.state?.(call.path, call.access);
    if (call === undefined || now?.kind !== "file" || now.size !== state.size) return undefined;
    const open = () => call.root.backend.open(call.path, call.access);
    if (areSame(now, state)) return { ...factsOf(state), open };
    if (state.sha256 === undefined) return undefined;
    const file = await open();
    try {
      return (await hashRange(file, 0, file.size)) === state.sha256 ? { ...factsOf(state), open } : undefined;
    } finally {
      file.close();
    }
  }

  /** The change of the same path that came next. */
  #next({ id, path, time }: JournalEntry): Promise<JournalEntry | undefined> {
    return this.#oldest(path, time, (one) => one.id > id && changes(one, path));
  }

  /** The oldest entry at a path or below, of those since a time. */
  async #oldest(
    path: readonly string[],
    since: number,
    sees: (entry: JournalEntry) => boolean,
  ): Promise<JournalEntry | undefined> {
    let oldest: JournalEntry | undefined;
    let before: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = { path, since, limit: PAGE, sees, ...(before === undefined ? {} : { before }) };
      const found = await this.#journal.query(query);
      oldest = found.entries.at(-1) ?? oldest;
      if (found.next === undefined) return oldest;
      before = found.next;
    }
    return undefined;
  }
}

/** Whether an entry has deleted or moved a directory. */
const takesAway = ({ path, from, action, kind }: JournalEntry, directory: readonly string[]): boolean =>
  kind === "directory" &&
  ((action === "deleted" && isSamePath(path, directory)) ||
    (action === "moved" && from !== undefined && isSamePath(from, directory)));

/** Whether an entry changed what a path itself held. */
const changes = ({ path, from, action }: JournalEntry, at: readonly string[]): boolean =>
  isSamePath(path, at) || (action === "moved" && from !== undefined && isSamePath(from, at));

/** Whether nothing tells two states apart, which were reported by changes that followed each other. */
function mayBeSame(one: EntryState, other: EntryState): boolean {
  if (one.size !== other.size || one.modified !== other.modified) return areSame(one, other);
  return one.sha256 === undefined || other.sha256 === undefined || one.sha256 === other.sha256;
}

const factsOf = ({ size, modified, mode, sha256 }: EntryState) => ({
  ...{ size, modified },
  ...(mode === undefined ? {} : { mode }),
  ...(sha256 === undefined ? {} : { sha256 }),
});

export const notUndoable = (id: string, reason: string): FileAdapterError =>
  adapterError("NOT_SUPPORTED", `Cannot undo ${id}: ${REASONS[reason] ?? "what it replaced was not kept"}`, {
    ...{ id, reason },
  });

const REASONS: Readonly<Record<string, string>> = {
  too_large: "what it replaced was too large to keep",
  permanent: "it was deleted for good",
  off: "the journal of this root keeps no content",
  altered: "what was kept has been altered since",
  pruned: "what it replaced was kept until room was needed, and is gone",
  purged: "what it replaced was removed for good",
  other_device:
    'it lies on another device than the root. What was kept of it is read with version "<id>:before", to be written by hand',
  concurrent: "others have changed the same at the same time",
  pending: "the process was killed as it made the change. Look at what is there, and change it by hand",
  visited: "the tree was too large to see all that the command has changed",
  partial: "you may not see every member of this group. Undo the ones you see by their ids",
};

type State = EntryState | null | undefined;

/** Whether two states are known to be of the same entry with the same content and mode. */
export function areSame(one: State, other: State): boolean {
  if (!one || !other) return !one && !other;
  if (one.mode !== undefined && other.mode !== undefined && one.mode !== other.mode) return false;
  if (one.version !== undefined && one.version === other.version) return true;
  return one.sha256 !== undefined && one.sha256 === other.sha256;
}

/** The hash of bytes `from` to `to` of an open file. */
export async function hashRange(file: OpenFile, from: number, to: number): Promise<Sha256> {
  const hash = createHash("sha256");
  for await (const bytes of piecesOf(file, { from, to })) hash.update(bytes);
  return hash.digest("hex");
}

/** Up to this size the content is loaded at once. */
const WHOLE_BYTES = 1_048_576;

/** The content, small ones as one buffer. @throws as opening it does */
export async function streamOf(content: PastContent): Promise<Buffer | AsyncIterable<Uint8Array>> {
  const pieces = contentOf(() => content.open(), { to: content.size });
  return content.size > WHOLE_BYTES ? pieces : buffer(pieces);
}
