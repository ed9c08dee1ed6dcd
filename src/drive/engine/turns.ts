// Yields to the event loop during long work.

import { setImmediate as nextTurn } from "node:timers/promises";

/** Called per unit of work; returns a promise after several units, to let other work run. */
export type Turn = () => Promise<void> | undefined;

/** Cells processed between yields. */
const CELLS_PER_TURN = 64;

export function createTurn(perTurn = CELLS_PER_TURN): Turn {
  let done = 0;
  return () => {
    done += 1;
    return done % perTurn === 0 ? nextTurn() : undefined;
  };
}
