// Long computations over cells that pause to let other work run, and until missing cells are loaded.

import { codeOf } from "../core/unknown.js";

/** A pause of a long computation: the cells it waits for, if any. */
export interface Step {
  /** Refs of branches that it looks into next, so that they can be fetched together. */
  readonly wanted: readonly Uint8Array[];
  /** MISSING_CELL for a branch that it cannot go on without; it looks again when it is resumed. */
  readonly missing?: unknown;
  /** Work that ends before the computation goes on. Only computations that were given such work ask for it. */
  readonly wait?: () => Promise<void>;
}

/**
 * A long computation that is written once and runs in either of two ways: at once, or in turns with others, where it can
 * wait for cells. One step looks into two nodes at most, and their children.
 */
export type Steps<T> = Generator<Step, T, void>;

/** The end of a step that needs nothing. */
export const STEP: Step = { wanted: [] };

/** Runs to the end at once. @throws MISSING_CELL */
export function runSteps<T>(steps: Steps<T>): T {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (step.value.missing !== undefined) throw step.value.missing;
  }
}

/** Work that looks into few cells and can be done again: asks for one that is missing, then does it once more. */
export function* stepOf<T>(work: () => T): Steps<T> {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isMissing(error)) throw error;
      yield { wanted: [], missing: error };
    }
  }
}

const isMissing = (error: unknown): boolean => codeOf(error) === "MISSING_CELL";
