import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { Io } from "../core/io.js";

/** Enough for a few changes that are made at once; each needs one to three. */
const SIZE = 8;

const held: number[] = [];
let users = 0;
/** More than 0 while a step of work that has begun runs. */
let depth = 0;

/** Holds a few descriptors of this process back, for {@link finishing}. Whoever calls it calls {@link leaveReserve} once. */
export function joinReserve(): void {
  users++;
  refill();
}

export function leaveReserve(): void {
  if (--users === 0) for (const fd of held.splice(0)) closeSync(fd);
}

/** Takes back what has been given up, as far as there is anything to take. */
function refill(): void {
  try {
    while (users > 0 && held.length < SIZE) held.push(openSync(devNull, "r"));
  } catch {
    // Tried again after the next work that needed it.
  }
}

function giveUp(): boolean {
  const fd = held.pop();
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
}

/**
 * To be asked when nothing more can be opened: gives a descriptor of the reserve up, if the work that runs has begun.
 * @returns whether to try again; another thread may have been faster
 */
export const spare = (): boolean => depth > 0 && giveUp();

/** Runs work that must not stop half way: where the process can open no more, it uses the reserve. */
export function* finishing<T>(work: Io<T>): Io<T> {
  let resume = (): IteratorResult<Promise<unknown>, T> => work.next();
  try {
    for (;;) {
      const step = counted(resume);
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

/** Other work runs between two steps, and has no right to the reserve. */
function counted<T>(step: () => T): T {
  depth++;
  try {
    return step();
  } finally {
    depth--;
  }
}
