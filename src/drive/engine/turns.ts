import { setImmediate as nextTurn } from "node:timers/promises";

/** Is told of each piece of work; others get their turn after some of them. Awaiting it keeps nobody waiting before that. */
export type Turn = () => Promise<void> | undefined;

/** How many cells are worked on before others get their turn. */
const CELLS_PER_TURN = 64;

export function createTurn(perTurn = CELLS_PER_TURN): Turn {
  let done = 0;
  return () => {
    done += 1;
    return done % perTurn === 0 ? nextTurn() : undefined;
  };
}
