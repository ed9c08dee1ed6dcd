// Reserves descriptors, so that a change that has begun can finish when the process runs out of them.

import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { attempt, type Io } from "../core/io.js";

/** Enough for a few concurrent changes, which need one to three descriptors each. */
const SIZE = 8;

const held: number[] = [];
let users = 0;
/** Above 0 while a step of {@link finishWithReserve} runs. */
let depth = 0;

/**
 * Adds a user of the reserve: keeps descriptors open for {@link finishWithReserve}. Pair each call with one of
 * {@link leaveReserve}.
 */
export function joinReserve(): void {
  users++;
  refill();
}

export function leaveReserve(): void {
  if (--users === 0) for (const fd of held.splice(0)) closeSync(fd);
}

/** Reopens released descriptors, as far as the process may open any. */
function refill(): void {
  // Where that fails, the next use of the reserve tries again.
  attempt(() => {
    while (users > 0 && held.length < SIZE) held.push(openSync(devNull, "r"));
  });
}

function giveUp(): boolean {
  const fd = held.pop();
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
}

/**
 * Releases one descriptor of the reserve if the running step belongs to {@link finishWithReserve}. Call it when an open
 * fails for lack of descriptors.
 * @returns whether to retry; another thread may have taken the descriptor
 */
export const releaseReserved = (): boolean => depth > 0 && giveUp();

/** Runs work that must not stop half-way; if the process can open no more descriptors, it draws on the reserve. */
export function* finishWithReserve<T>(work: Io<T>): Io<T> {
  let resume = (): IteratorResult<Promise<unknown>, T> => work.next();
  try {
    for (;;) {
      const step = runStep(resume);
      if (step.done === true) return step.value;
      try {
        const value = yield step.value;
        resume = () => work.next(value);
      } catch (error) {
        resume = () => work.throw(error);
      }
    }
  } finally {
    if (held.length < SIZE) refill();
  }
}

/** Marks one step only: between steps other work runs, which may not use the reserve. */
function runStep<T>(step: () => T): T {
  depth++;
  try {
    return step();
  } finally {
    depth--;
  }
}
