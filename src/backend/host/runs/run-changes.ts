// Records what a command has changed in a mounted tree, as one group of entries in the journal of its root.

import { CallScope } from "../../../core/call/scope.js";
import { systemClock } from "../../../core/clock.js";
import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import type { EntryState } from "../../../core/ports/changes/change.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { JournalWriter } from "../../../core/ports/changes/journal-writer.js";
import type { Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { errnoOf } from "../../../jail/sys.js";
import { recordOf, stateOf } from "../changes/report.js";
import { type Difference, differencesOf } from "./differences.js";
import { changesSince, type KnownChanges } from "./known.js";
import { SCAN_LIMITS, type Scan, type SeenEntry, scanTree } from "./scan.js";

/** Entries that are added before others get their turn. */
const TURN = 500;

export interface RunPlace {
  readonly jail: Jail;
  /** The mounted directory. */
  readonly directory: Pinned;
  /** Its path below the root. */
  readonly real: readonly string[];
  readonly access: Access;
  readonly journal: JournalWriter;
}

/** The tree before a command. */
export class RunChanges {
  readonly #place: RunPlace;
  readonly #before: Scan;
  readonly #since: number;

  private constructor(place: RunPlace, before: Scan, since: number) {
    [this.#place, this.#before, this.#since] = [place, before, since];
  }

  static *begin(place: RunPlace): Io<RunChanges> {
    const since = Date.now();
    return new RunChanges(place, (yield* scanMount(place, place.access.scope)) ?? NOTHING_SEEN, since);
  }

  /** After the command: compares, and adds the entries. */
  *record(): Io<void> {
    const { journal, real } = this.#place;
    // Whatever has become of the call: the command was run.
    const scope = new CallScope({ clock: systemClock, timeoutMs: Number.POSITIVE_INFINITY });
    const after = (yield* scanMount(this.#place, scope)) ?? NOTHING_SEEN;
    const known = changesSince(journal, this.#since, real);
    const isComplete = this.#before.isComplete && after.isComplete;
    let added = 0;
    for (const one of differencesOf(this.#before, after, known.has)) {
      if (isReported(one, known)) continue;
      if (++added % TURN === 0) yield new Promise<void>((resolve) => setImmediate(resolve));
      this.#add(one, isComplete ? reasonOf(one, known) : "visited");
    }
    if (!isComplete) this.#addPlace();
  }

  #add({ path, from, before, after, ...rest }: Difference, reason: NotUndoable | undefined): void {
    const { journal, access, real } = this.#place;
    const kind = (after ?? before)?.kind ?? "other";
    const change = {
      ...{ ...rest, kind, path: [...real, ...path.split("/")] },
      ...(from === undefined ? {} : { from: [...real, ...from.split("/")] }),
      ...{ before: toEntryState(before), after: toEntryState(after), mayInclude: "external" as const },
    };
    const record = recordOf({ access }, change, journal.newId());
    journal.add(record, reason === undefined ? undefined : { in: "nothing", reason });
  }

  /** Not everything was looked at: this entry says so, and keeps the group from being undone as a whole. */
  #addPlace(): void {
    const { journal, access, real, directory } = this.#place;
    const state = stateOf(directory.stat);
    const change = { action: "modified", kind: "directory", path: real, before: state, after: state } as const;
    const record = recordOf({ access }, { ...change, mayInclude: "external" }, journal.newId());
    journal.add(record, { in: "nothing", reason: "visited" });
  }
}

const NOTHING_SEEN: Scan = { entries: new Map(), isComplete: false, isWhole: () => false };

/** `undefined`: the directory cannot be read. */
function* scanMount({ jail, directory, access: { policy } }: RunPlace, scope: CallScope): Io<Scan | undefined> {
  try {
    return yield* scanTree(jail, directory, { access: { policy, scope }, limits: SCAN_LIMITS });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Whether the journal has it already: a call has made the change while the command ran. */
const isReported = ({ path, from, after }: Difference, known: KnownChanges): boolean =>
  known.isLast(path, after) && (from === undefined || known.isLast(from, null));

/** What was replaced or deleted was not kept. What was made or moved can be taken back without. */
function reasonOf({ action, path }: Difference, known: KnownChanges): NotUndoable | undefined {
  if (action === "modified" || action === "deleted") return "not_kept";
  return known.has(path) ? "concurrent" : undefined;
}

function toEntryState(seen: SeenEntry | null): EntryState | null {
  if (seen === null) return null;
  const { kind: _, ...state } = seen;
  return state;
}
