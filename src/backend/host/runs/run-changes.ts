// Records what a command has changed in a mounted tree, as one group of entries in the journal of its root.

import { CallScope } from "../../../core/call/scope.js";
import { systemClock } from "../../../core/clock.js";
import { identityInVersion, withoutChangeTime } from "../../../core/identity.js";
import { type Io, yieldToLoop } from "../../../core/io.js";
import type { EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { JournalWriter, Kept } from "../../../core/ports/changes/journal-writer.js";
import { stateOf } from "../changes/report.js";
import { type Keeping, noteChange, recordOf } from "../history/note.js";
import { type Difference, differencesOf } from "./differences.js";
import { changesSince, type JournalMark, type KnownChanges } from "./recorded-changes.js";
import { type RunPlace, type Scan, type SeenEntry, scanTree } from "./scan.js";
import { type TreeSnapshot, takeSnapshot } from "./snapshot.js";

/** Entries that are added before others get their turn. */
const TURN = 500;

export interface RunStart {
  /** The tree before the command, as far as it was scanned. */
  readonly before: Scan;
  /** Taken before the scan of the tree: changes in the journal by then are in the tree too. */
  readonly since: JournalMark;
  /** Clone the tree, so that entries that the command replaces or deletes can be brought back. */
  readonly keeps: boolean;
}

interface Begun extends Omit<RunStart, "keeps"> {
  /** The content of the tree before, or the reason why it was not kept. */
  readonly snapshot: TreeSnapshot | NotUndoable;
  readonly noted: Keeping | undefined;
}

/** The tree before a command. */
export class RunChanges {
  readonly #place: RunPlace;
  readonly #begun: Begun;

  private constructor(place: RunPlace, begun: Begun) {
    [this.#place, this.#begun] = [place, begun];
  }

  static *begin(place: RunPlace, { before, since, keeps }: RunStart): Io<RunChanges> {
    const snapshot = keeps ? yield* takeSnapshot(place, before) : "not_kept";
    // If this process dies from now on, the history says that it does not know what the command has changed.
    const noted = noteChange({ ...place, made: [] }, placeOf(place), { kept: NOT_SEEN });
    return new RunChanges(place, { before, since, snapshot, noted });
  }

  /** Removes the provisional note and the snapshot; called last. */
  *end(): Io<void> {
    const { noted, snapshot } = this.#begun;
    if (noted !== undefined) yield* noted.undo();
    if (typeof snapshot !== "string") yield* snapshot.drop();
  }

  /** Scans the tree as the command has left it. */
  look(): Io<Scan> {
    // The command was run, even if the call has ended: this needs a scope of its own.
    const scope = new CallScope({ clock: systemClock, timeoutMs: Number.POSITIVE_INFINITY });
    const { jail, directory, access } = this.#place;
    return scanTree(jail, directory, { policy: access.policy, scope });
  }

  /**
   * Compares, and adds the entries.
   * @param seen what the command has left, if nothing was changed since
   * @param returned identities of entries that have got their names back
   */
  *record(seen: Scan | undefined, returned: ReadonlySet<string>): Io<void> {
    const { journal, real } = this.#place;
    const { before, since, snapshot } = this.#begun;
    const after = seen ?? (yield* this.look());
    const known = changesSince(journal, since, real);
    const isComplete = before.isComplete && after.isComplete;
    const differences = differencesOf(before, after, known.has).filter(
      (one) => !isReported(one, known) && !(isRenamedOnly(one) && returned.has(identityOfSeen(one.after))),
    );
    const found = differences.map((one) => ({ one, id: journal.newId() }));
    const kept = isComplete ? yield* keepChanges(found, { journal, snapshot, known }) : undefined;
    for (const [index, { one, id }] of found.entries()) {
      if (index % TURN === TURN - 1) yield yieldToLoop();
      this.#add(one, id, kept === undefined ? { in: "nothing", reason: "visited" } : kept.get(id));
    }
    if (!isComplete) this.addPlace();
  }

  #add({ path, from, was: _, before, after, ...rest }: Difference, id: string, kept: Kept | undefined): void {
    const { journal, access, real } = this.#place;
    const kind = (after ?? before)?.kind ?? "other";
    const change = {
      ...{ ...rest, kind, path: [...real, ...path.split("/")] },
      ...(from === undefined ? {} : { from: [...real, ...from.split("/")] }),
      ...{ before: toEntryState(before), after: toEntryState(after), mayInclude: "external" as const },
    };
    journal.add(recordOf({ access }, change, id), kept);
  }

  /** Not everything was looked at: this entry says so, and keeps the group from being undone as a whole. */
  addPlace(): void {
    const { journal } = this.#place;
    journal.add(recordOf(this.#place, placeOf(this.#place), journal.newId()), NOT_SEEN);
  }
}

const NOT_SEEN = { in: "nothing", reason: "visited" } as const;

/** The entry of a command whose changes were not all seen. */
function placeOf({ directory, real }: RunPlace): EntryChange {
  const state = stateOf(directory.stat);
  return { action: "modified", kind: "directory", path: real, before: state, after: state, mayInclude: "external" };
}

const identityOfSeen = (seen: SeenEntry | null): string => (seen === null ? "" : identityInVersion(seen.version));

/** Whether nothing but the time of the last change is another, which a rename sets as well. */
const isRenamedOnly = ({ action, before, after }: Difference): boolean =>
  action === "modified" &&
  before?.mode === after?.mode &&
  withoutChangeTime(before?.version ?? "") === withoutChangeTime(after?.version ?? "");

/** Whether the journal has it already: a call has made the change while the command ran. */
const isReported = ({ path, from, after }: Difference, known: KnownChanges): boolean =>
  known.isLast(path, after) && (from === undefined || known.isLast(from, null));

function toEntryState(seen: SeenEntry | null): EntryState | null {
  if (seen === null) return null;
  const { kind: _, ...state } = seen;
  return state;
}

/** A difference with the id that its entry will have. */
interface FoundChange {
  readonly one: Difference;
  readonly id: string;
}

interface KeeperParts {
  readonly journal: JournalWriter;
  /** A reason: why there is none. */
  readonly snapshot: TreeSnapshot | NotUndoable;
  readonly known: KnownChanges;
}

/** @returns what is kept of each change, or why nothing is, by id; absent: nothing is needed to undo it */
function* keepChanges(found: readonly FoundChange[], parts: KeeperParts): Io<ReadonlyMap<string, Kept>> {
  const kept = new Map<string, Kept>();
  // Deepest first: a tree that is kept must not hold entries that are kept elsewhere.
  for (const { one, id } of found.toSorted((a, b) => depthOf(b) - depthOf(a))) {
    const result = yield* keepOne(one, id, parts);
    if (result !== undefined) kept.set(id, result);
  }
  return kept;
}

function* keepOne(one: Difference, id: string, { journal, snapshot, known }: KeeperParts): Io<Kept | undefined> {
  const { action, path, was, before } = one;
  const isChangedByCall = known.has(path) || (action === "deleted" && known.hasBelow(path));
  if (action === "created" || action === "moved") {
    if (was !== undefined && typeof snapshot !== "string") yield* snapshot.forget(was, journal.trashName(id));
    return isChangedByCall ? nothing("concurrent") : undefined;
  }
  if (typeof snapshot === "string") return nothing(snapshot);
  if (isChangedByCall || was === undefined) return nothing("concurrent");
  if (action === "deleted" && journal.trashMode === "off") return nothing("off");
  // An entry changed in place can be put back only if it is a file.
  if (action === "modified" && before?.kind !== "file") return nothing("not_kept");
  return (yield* snapshot.take(was, journal.trashName(id))) ?? nothing("not_kept");
}

const nothing = (reason: NotUndoable): Kept => ({ in: "nothing", reason });

const depthOf = ({ one }: FoundChange): number => (one.was ?? "").split("/").length;
