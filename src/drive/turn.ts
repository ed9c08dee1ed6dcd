// Pauses of long work, in which others run.

import { yieldToLoop } from "../core/io.js";

/** Called per unit of work; returns a promise after several units, many bytes or some time, to let other work run. */
export type Turn = (bytes?: number) => Promise<void> | undefined;

/** Cells processed between yields. */
const UNITS = 64;

/**
 * Most milliseconds between yields, besides the last unit or run of work. Units are usually far quicker, but while V8 marks a
 * large heap, each buffer that is made can cost milliseconds.
 */
const MAX_MS = 10;

/** Limits of a turn. */
export interface TurnLimits {
  readonly units?: number;
  readonly bytes?: number;
  readonly now?: () => number;
}

export function createTurn({ units = UNITS, bytes, now = () => performance.now() }: TurnLimits = {}): Turn {
  const maxBytes = bytes ?? Number.POSITIVE_INFINITY;
  let [done, seen, since] = [0, 0, now()];
  const yieldToOthers = async (): Promise<void> => {
    await yieldToLoop();
    [done, seen, since] = [0, 0, now()];
  };
  return (more = 0) => {
    done += 1;
    seen += more;
    return done < units && seen < maxBytes && now() - since < MAX_MS ? undefined : yieldToOthers();
  };
}
