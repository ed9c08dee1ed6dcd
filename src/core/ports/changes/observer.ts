// Port of changes that others make in a root: programs, editors, other processes.

import type { Awaitable } from "../../io.js";

/** A change seen from outside: the present state is known, its author is not. */
export interface SeenChange {
  readonly type: "created" | "modified" | "deleted";
  /** Real segments below the root. */
  readonly path: readonly string[];
  readonly entryType: "file" | "directory";
  /** Version of the present entry, as in `EntryState`; `null`: none. */
  readonly version: string | null;
}

/** Takes the changes that an observation sees, and names those it need not report. No method throws. */
export interface Observer {
  /** Whose share of what can be watched is used. Absent: nobody's. */
  readonly caller?: string | undefined;
  changed(change: SeenChange): void;
  /**
   * Whether a change is known already, since this venue made it or another observer has reported it.
   * @param version of the entry, as in `EntryState`; `null`: it is gone
   * @returns `tree`: all below the entry was put there with it
   */
  knows(path: readonly string[], version: string | null): "tree" | boolean;
  /** Whether a change of this venue is under way, which will be known soon. */
  isBusy(): boolean;
  /** Whether no caller may see the path, so that it need not be watched. */
  ignores(path: readonly string[]): boolean;
  /** A look at all that cannot be watched begins. @returns called at its end, if nothing was left out */
  beginLook(): () => void;
  /** Changes may have gone unseen. */
  lost(): void;
}

/** Directories that are being watched. */
export interface Observation {
  /** Settles once all of them are. */
  readonly ready: Awaitable<void>;
  /** Whether everything that was asked for is watched, or looked at again and again. */
  readonly isComplete: boolean;
  /** Whether some of it is looked at: what happens there is seen with the next look. */
  readonly isPolled: boolean;
  /** Idempotent. */
  close(): void;
}

/** The watched place: an entry, its children, and with `recursive` everything below. */
export interface ObservedPlace {
  /** Real segments below the root. */
  readonly path: readonly string[];
  readonly recursive: boolean;
}
