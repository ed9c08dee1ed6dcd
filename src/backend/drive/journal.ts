// The journal of a root that is a drive: the entries of its owner's log that are of this drive.

import type { EntryState } from "../../core/ports/changes/change.js";
import type {
  Image,
  Journal,
  JournalEntry,
  JournalPage,
  JournalQuery,
  KeptState,
  NotUndoable,
  Purge,
  Purged,
  Side,
  TrashEntry,
} from "../../core/ports/changes/journal.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { RootJournalAccess } from "../../core/ports/operation.js";
import type { DriveLog, LogEntry, OwnerDrives } from "../../drive/engine/engine.js";
import { contentVersion } from "../../drive/engine/log/entry.js";
import { fromBelow, pathBelow } from "./below.js";
import type { DriveSource } from "./drive.js";

/** Entries that one query looks at. */
const MAX_VISITED = 20_000;
const PAGE = 256;
/** Paths of a tree that were changed since and are looked up one by one. */
const MAX_DIFFERENT = 1000;
const GROUP = "g";

export interface DriveJournalOptions {
  readonly open: () => Promise<Pick<OwnerDrives, "log">>;
  readonly drive: string;
  /** Directory of the drive that its paths begin at. Others have no entries. */
  readonly top: readonly string[];
}

class DriveJournal implements Journal {
  readonly mode = "on";
  readonly keepsDeleted = false;
  readonly #options: DriveJournalOptions;

  constructor(options: DriveJournalOptions) {
    this.#options = options;
  }

  async query(query: JournalQuery): Promise<JournalPage> {
    const { limit, since = 0, sees } = query;
    const log = await this.#log();
    const entries: JournalEntry[] = [];
    let visited = 0;
    for (let before = query.before; ; ) {
      const page = await log.page({ before, limit: Math.min(PAGE, Math.max(limit + 1, 16)) });
      const end = page.isDamaged ? ({ complete: false, reason: "damaged" } as const) : ({ complete: true } as const);
      for (const one of page.entries) {
        if (entries.length === limit) return { entries, next: before, ...end };
        // Ids sort by time.
        if (one.entry.time < since) return { entries, ...end };
        before = one.entry.id;
        const entry = this.#own(one)?.entry;
        if (entry !== undefined && matches(entry, query) && sees(entry)) entries.push(entry);
      }
      visited += page.entries.length;
      if (page.next === undefined) return { entries, ...end };
      if (visited >= MAX_VISITED) return { entries, next: before, complete: false, reason: "visited" };
    }
  }

  async entry(id: string): Promise<JournalEntry | undefined> {
    return (await this.#find(id))?.entry;
  }

  async group(id: string): Promise<readonly JournalEntry[]> {
    if (!id.startsWith(GROUP)) return [];
    const first = id.slice(GROUP.length);
    const members: JournalEntry[] = [];
    await this.#visit(({ entry }) => {
      if (entry.group === id) members.push(entry);
      // The id of a group is older than those of its members.
      return entry.id >= first;
    });
    return members.reverse();
  }

  async image({ id, kind }: JournalEntry, side: Side): Promise<Image | NotUndoable> {
    const log = await this.#log();
    const found = await log.entry(id);
    const node = found?.[side];
    const state = found?.entry[side];
    if (kind !== "file" || node === undefined || !state) return found?.entry.reason ?? "not_kept";
    return imageOf(log, node, state);
  }

  async imageBelow({ id }: JournalEntry, names: readonly string[], version: string): Promise<Image | NotUndoable> {
    const log = await this.#log();
    const found = await log.entry(id);
    if (found?.before === undefined) return found?.entry.reason ?? "not_kept";
    const file = await log.below(found.before, names);
    const isSame = file?.stat.content !== undefined && contentVersion(file.stat.content) === version;
    return isSame ? imageOf(log, file.node, file.stat) : "not_kept";
  }

  async stateBelow({ id }: JournalEntry, names: readonly string[]): Promise<KeptState | undefined> {
    const log = await this.#log();
    const tree = (await this.#find(id))?.before;
    const found = tree && (await log.below(tree, names));
    if (found === undefined) return undefined;
    const { type: kind, size, modified, content } = found.stat;
    return {
      ...{ kind, size, modified },
      ...(content === undefined ? {} : { version: contentVersion(content) }),
      ...(found.names === undefined ? {} : { names: found.names }),
    };
  }

  async keptAt({ id, action }: JournalEntry): Promise<readonly string[] | undefined> {
    if (action !== "deleted") return undefined;
    return (await this.#find(id))?.before === undefined ? undefined : [id];
  }

  async differences(
    { id, after }: JournalEntry,
    path: readonly string[],
  ): Promise<readonly (readonly string[])[] | undefined> {
    const log = await this.#log();
    const node = (await log.entry(id))?.after;
    if (node === undefined && after !== null) return undefined;
    const { drive, top } = this.#options;
    const place = { drive, path: [...top, ...path] };
    return log.differences(node, place, MAX_DIFFERENT);
  }

  /** The undo itself has marked them: its entry and the marks are of one swap. */
  note(): void {}

  async trash(): Promise<readonly TrashEntry[]> {
    const found: TrashEntry[] = [];
    await this.#visit(({ entry, before, kept }) => {
      const { id, path, kind, time, actor, action, undoneBy, undoable } = entry;
      if (action !== "deleted" || before === undefined || undoneBy !== undefined || !undoable) return true;
      found.push({ id, path, kind, ...(kind === "file" ? { size: kept } : {}), deleted: time, by: actor });
      return true;
    });
    return found;
  }

  async purge(ids: readonly string[] | "all", { path, ...by }: Purge): Promise<Purged> {
    const log = await this.#log();
    const wanted = ids === "all" ? await this.#allKept() : ids;
    const nothing = { before: null, after: null } as const;
    const note = { ...by, ...nothing, op: "purge", action: "deleted", kind: "other", path } as const;
    const { drive, top } = this.#options;
    return { purged: wanted.length === 0 ? [] : await log.purge(drive, wanted, fromBelow(note, top)) };
  }

  async #allKept(): Promise<string[]> {
    const ids: string[] = [];
    await this.#visit(({ entry, before, after }) => {
      if (before !== undefined || after !== undefined) ids.push(entry.id);
      return true;
    });
    return ids;
  }

  async #find(id: string): Promise<LogEntry | undefined> {
    const found = await (await this.#log()).entry(id);
    return found === undefined ? undefined : this.#own(found);
  }

  /** An entry of the drive, with paths as the root has them. */
  #own(found: LogEntry): LogEntry | undefined {
    const { drive, top } = this.#options;
    if (found.drive !== drive) return undefined;
    if (top.length === 0) return found;
    const { path: whole, from, made, ...entry } = found.entry;
    const path = pathBelow(whole, top);
    if (path === undefined) return undefined;
    const source = from === undefined || entry.fromRoot !== undefined ? from : pathBelow(from, top);
    const own = {
      ...{ ...entry, path },
      ...(source === undefined ? {} : { from: source }),
      ...(made === undefined
        ? {}
        : { made: made.flatMap((one) => [pathBelow(one, top)].filter((two) => two !== undefined)) }),
    };
    // A node moved in from elsewhere in the drive cannot be put back from here.
    const isForeign = from !== undefined && source === undefined;
    return { ...found, entry: isForeign ? { ...own, undoable: false, reason: "denied" } : own };
  }

  /** Entries of the drive, newest first. @param visit whether to go on */
  async #visit(visit: (entry: LogEntry) => boolean): Promise<void> {
    const log = await this.#log();
    for (let before: string | undefined; ; ) {
      const { entries, next } = await log.page({ before, limit: PAGE });
      for (const one of entries) {
        const own = this.#own(one);
        if (own !== undefined && !visit(own)) return;
      }
      if (next === undefined) return;
      before = next;
    }
  }

  async #log(): Promise<DriveLog> {
    return (await this.#options.open()).log;
  }
}

/** The journal of one owner's drive, or of a directory in it. */
export const journalAccess = (
  drives: DriveSource,
  owner: string,
  place: Pick<DriveJournalOptions, "drive" | "top">,
): RootJournalAccess => ({
  mode: "on",
  open: () => new DriveJournal({ open: () => drives.of(owner), ...place }),
});

function imageOf(log: DriveLog, node: Uint8Array, { size, modified }: Pick<EntryState, "size" | "modified">): Image {
  const read = async (offset: number, length: number) => (await log.read(node, offset, length)).bytes;
  const open = (): OpenFile => ({ size, modified, read, close() {} });
  return { size, open };
}

function matches({ actor, via, group, path, from, fromRoot }: JournalEntry, query: JournalQuery): boolean {
  const isAt = (at: readonly string[] | undefined): boolean =>
    at !== undefined && (query.path ?? []).every((name, index) => name === at[index]);
  return (
    (query.actor === undefined || actor === query.actor) &&
    (query.via === undefined || via === query.via) &&
    (query.group === undefined || group === query.group) &&
    (query.path === undefined || isAt(path) || (fromRoot === undefined && isAt(from)))
  );
}
