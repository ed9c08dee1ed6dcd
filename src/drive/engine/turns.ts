// Yields to the event loop during long work.

import { yieldToLoop } from "../../core/io.js";

/** Called per unit of work; returns a promise after several units or some time, to let other work run. */
export type Turn = () => Promise<void> | undefined;

/** Cells processed between yields. */
const CELLS_PER_TURN = 64;

/**
 * Most milliseconds between yields, besides the last unit. Units are usually far quicker, but while V8 marks a large heap,
 * each buffer that is made can cost milliseconds.
 */
const MAX_MS_PER_TURN = 10;

export function createTurn(perTurn = CELLS_PER_TURN, now = (): number => performance.now()): Turn {
  let [done, since] = [0, now()];
  const yieldToOthers = async (): Promise<void> => {
    await yieldToLoop();
    [done, since] = [0, now()];
  };
  return () => {
    done += 1;
    return done < perTurn && now() - since < MAX_MS_PER_TURN ? undefined : yieldToOthers();
  };
}
