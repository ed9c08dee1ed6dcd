// Decides after commands whether what they left under denied names is too much to hide from the next one.

import { CallScope } from "../../../core/call/scope.js";
import { systemClock } from "../../../core/clock.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/backend.js";
import { identity } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { findMasks, MAX_ENTRIES } from "../masks.js";
import { type ClearAccess, ClearDenied, type ClearGround } from "./clear-denied.js";
import type { Look } from "./give-back.js";
import { hasOtherMarks, type RunMark } from "./run-mark.js";
import type { Scan } from "./scan.js";

/** The directory in which a command may write, and its parts. */
export interface RunGround extends ClearGround {
  readonly access: Access;
  readonly mark: RunMark;
  /** The content of the directory before. */
  readonly look: Look;
}

/** The commands that may write in a root, until their mounts are closed. */
const runsIn = new WeakMap<Jail, Set<MadeDenied>>();

/** The outcome for entries that were too many to hide. */
export interface Cleared {
  /** Number of entries removed, which commands had made. */
  readonly removed: number;
  /** Identities of entries that commands had renamed, and that have visible names again. */
  readonly returned: ReadonlySet<string>;
}

export const NOTHING_CLEARED: Cleared = { removed: 0, returned: new Set() };

/**
 * The entries that one command leaves under denied names. Too many of them would keep all further commands from being
 * run, and no operation can delete them. So after the command, entries that its user has made while it ran (by the record
 * of the file system) are removed, and entries that it saw under another name get that name back.
 */
export class MadeDenied {
  readonly #ground: RunGround;
  readonly #runs: Set<MadeDenied>;
  #since = Date.now();
  /** Its own, and those of commands that ended while it ran. The earliest comes first. */
  readonly #looks: Look[];
  #isRunning = true;

  private constructor(ground: RunGround, runs: Set<MadeDenied>) {
    this.#ground = ground;
    this.#runs = runs;
    this.#looks = [ground.look];
  }

  /** Call it before the command, and {@link leave} at its end. */
  static begin(ground: RunGround): MadeDenied {
    const runs = runsIn.get(ground.jail) ?? new Set();
    runsIn.set(ground.jail, runs);
    const made = new MadeDenied(ground, runs);
    runs.add(made);
    return made;
  }

  leave(): void {
    this.#runs.delete(this);
  }

  /**
   * Call it after the command: clears what it has left, if commands could not be run any more.
   * @param seen what it has left, if that was looked at
   */
  *settle(seen: Scan | undefined): Io<Cleared> {
    this.#isRunning = false;
    const { access, mark } = this.#ground;
    // The command was run, even if the call has ended: this needs a scope of its own.
    const scope = new CallScope({ clock: systemClock, timeoutMs: Number.POSITIVE_INFINITY });
    const { place, verb, policy } = access;
    if (seen?.isThorough === true && seen.denied.size <= MAX_ENTRIES) return NOTHING_CLEARED;
    if (!(yield* isTooMuch(this.#ground, { place, scope, policy }))) return NOTHING_CLEARED;
    // Entries that concurrent commands have left cannot be told apart, so the last command clears them all.
    const others = [...this.#runs].filter((one) => one.#isRunning);
    const wider = others.find((one) => isPrefix(one.#ground.real, this.#ground.real));
    if (wider !== undefined) {
      wider.#since = Math.min(wider.#since, this.#since);
      wider.#looks.push(...this.#looks);
      wider.#looks.sort((one, other) => one.began - other.began);
      return NOTHING_CLEARED;
    }
    // Commands of other processes, too.
    if (yield* hasOtherMarks(this.#ground.jail, mark, new Set([...this.#runs].map((one) => one.#ground.mark.name)))) {
      return NOTHING_CLEARED;
    }
    const busy = new Set(others.map((one) => identity(one.#ground.directory)));
    // Not part of the group of the command: it is nothing that a caller can undo.
    const { group: _, ...origin } = access.origin ?? {};
    const quiet = { place, verb, policy, scope, ...(access.origin === undefined ? {} : { origin }) } as ClearAccess;
    const clearing = new ClearDenied(
      { ...this.#ground, access: quiet },
      { since: this.#since, looks: this.#looks, busy },
    );
    yield* clearing.run();
    return clearing;
  }
}

/** Judged exactly as before the next command. */
function* isTooMuch({ jail, directory }: RunGround, access: Pick<Access, "place" | "scope" | "policy">): Io<boolean> {
  try {
    yield* findMasks(jail, directory, access, { isWritable: false });
    return false;
  } catch (error) {
    if (error instanceof FileAdapterError) return typeof error.data["denied"] === "number";
    throw error;
  }
}

const isPrefix = (above: readonly string[], path: readonly string[]): boolean =>
  above.every((name, index) => name === path[index]);
