// Changes of a tree since an entry, also at the paths it had before moves and deletions.

import { isSamePath } from "../../core/call/path.js";
import type { Journal, JournalEntry } from "../../core/ports/changes/journal.js";
import { isWithin } from "../../path/grammar.js";

const PAGE = 500;
/** Entries that are looked through. */
const MAX_ENTRIES = 20_000;

type Path = readonly string[];

/** A time during which something was at one path. */
interface Stay {
  readonly path: Path;
  /** Id of the entry that has put it there, or `""`. */
  readonly after: string;
  /** Id of the entry that took it from there, or `undefined`: it still is. */
  readonly until: string | undefined;
}

/** The changes of a root, newest first, as far back as they were asked for. */
export class TreeHistory {
  readonly #journal: Pick<Journal, "query">;
  readonly entries: JournalEntry[] = [];
  /** Entries that put directories somewhere, or take them away. */
  readonly moves: JournalEntry[] = [];
  /** By path, and by the paths above. */
  readonly at = new Map<string, JournalEntry[]>();
  readonly below = new Map<string, JournalEntry[]>();
  #next: string | undefined;
  #isWhole = false;

  constructor(journal: Pick<Journal, "query">) {
    this.#journal = journal;
  }

  /** The changes since an entry. @returns `undefined`: there are too many */
  async since({ id }: JournalEntry): Promise<ChangesSince | undefined> {
    while (!this.#isWhole && (this.entries.at(-1)?.id ?? id) >= id) {
      if (this.entries.length >= MAX_ENTRIES) return undefined;
      const before = this.#next === undefined ? {} : { before: this.#next };
      const page = await this.#journal.query({ limit: PAGE, sees: () => true, ...before });
      for (const entry of page.entries) this.#add(entry);
      this.#next = page.next;
      this.#isWhole = page.next === undefined;
    }
    return new ChangesSince(id, this);
  }

  #add(entry: JournalEntry): void {
    this.entries.push(entry);
    if (entry.kind === "directory" || entry.made !== undefined) this.moves.push(entry);
    for (const place of placesOf(entry)) {
      push(this.at, place, entry);
      for (let length = place.length - 1; length >= 0; length--) push(this.below, place.slice(0, length), entry);
    }
  }
}

/** The changes of a root since one entry. Paths are those of the time after the newest change, unless told. */
export class ChangesSince {
  readonly #since: string;
  readonly #changes: TreeHistory;
  readonly #moves: readonly JournalEntry[];

  constructor(since: string, changes: TreeHistory) {
    this.#since = since;
    this.#changes = changes;
    this.#moves = this.#newer(changes.moves);
  }

  /** All changes in a tree, by its path at an entry, or now. */
  inTree(path: Path, at?: JournalEntry): JournalEntry[] {
    const stays = this.#staysOf(path, at?.id);
    const isThere = (one: JournalEntry, stay: Stay): boolean =>
      isOfStay(stay, one) && placesOf(one).some((place) => isWithin(place, stay.path));
    return this.#newer(this.#changes.entries).filter((one) => stays.some((stay) => isThere(one, stay)));
  }

  /** The newest undo that has put a directory at a path, or above it, where it came from there. */
  broughtBackBy(path: Path): JournalEntry | undefined {
    return this.#staysOf(path)
      .flatMap((stay) => this.#moves.filter(({ id }) => id === stay.after))
      .find(({ action, undoes }) => action === "created" && undoes !== undefined);
  }

  /** The changes at, above or below a path, or where it was before. */
  near(path: Path): JournalEntry[] {
    return this.#changesOf(path, (at) => [
      ...Array.from(
        { length: at.length },
        (_, length) => this.#changes.at.get(keyOf(at.slice(0, length))) ?? [],
      ).flat(),
      ...(this.#changes.at.get(keyOf(at)) ?? []),
      ...(this.#changes.below.get(keyOf(at)) ?? []),
    ]);
  }

  /** The changes that have left a file as it is at a path, or where it was before. */
  ofFile(path: Path): JournalEntry[] {
    return this.#changesOf(path, (at) =>
      (this.#changes.at.get(keyOf(at)) ?? []).filter((one) => isSamePath(one.path, at)),
    );
  }

  /** The changes of a directory and of the names in it, at a path, or where it was before. */
  ofDirectory(path: Path): JournalEntry[] {
    return this.#changesOf(path, (at) => [
      ...(this.#changes.at.get(keyOf(at)) ?? []),
      ...(this.#changes.below.get(keyOf(at)) ?? []).filter((one) =>
        placesOf(one).some((place) => isSamePath(place.slice(0, -1), at)),
      ),
    ]);
  }

  #changesOf(path: Path, changesAt: (path: Path) => readonly JournalEntry[]): JournalEntry[] {
    return this.#staysOf(path).flatMap((stay) =>
      this.#newer(changesAt(stay.path)).filter((one) => isOfStay(stay, one)),
    );
  }

  #newer(entries: readonly JournalEntry[]): JournalEntry[] {
    return entries.filter(({ id }) => id > this.#since);
  }

  /** Where something was since the entry, newest first. @param until id of the newest entry that counts */
  #staysOf(now: Path, until?: string): Stay[] {
    const stays: Stay[] = [];
    let path = now;
    let left = until;
    let isAway = false;
    for (const move of this.#moves) {
      const { id, action, from } = move;
      if (until !== undefined && id >= until) continue;
      if (isAway) {
        if (action !== "deleted" || !isWithin(path, move.path)) continue;
        isAway = false;
        left = id;
      } else if (action === "moved" && from !== undefined && isWithin(path, move.path)) {
        stays.push({ path, after: id, until: left });
        path = [...from, ...path.slice(move.path.length)];
        left = id;
      } else if (bringsTo(move, path)) {
        stays.push({ path, after: id, until: left });
        isAway = true;
      }
    }
    return isAway ? stays : [...stays, { path, after: "", until: left }];
  }
}

/** Whether a change has put a directory at a path, or above it, where there was none. */
const bringsTo = ({ action, kind, path, made = [] }: JournalEntry, place: Path): boolean =>
  (action === "created" && kind === "directory" && isWithin(place, path)) || made.some((one) => isWithin(place, one));

/** Whether an entry is of a stay, which includes the entries that began and ended it. */
const isOfStay = ({ after, until }: Stay, { id }: JournalEntry): boolean =>
  id >= after && (until === undefined || id <= until);

const placesOf = ({ path, from, made = [] }: JournalEntry): readonly Path[] => [
  path,
  ...(from === undefined ? [] : [from]),
  ...made,
];

const keyOf = (path: Path): string => path.join("/");

function push(map: Map<string, JournalEntry[]>, path: Path, entry: JournalEntry): void {
  const known = map.get(keyOf(path));
  if (known === undefined) map.set(keyOf(path), [entry]);
  else known.push(entry);
}
