// Runs calls once the gate admits them, and again when memory for an answer was missing.

import type { CallScope } from "../core/call/scope.js";
import { type Awaitable, isPending } from "../core/io.js";
import { type AnswerMemory, NeedsMemory } from "../core/memory.js";
import type { Gate } from "./gate.js";

interface Turn {
  readonly gate: Gate;
  readonly scope: CallScope;
  readonly memory: AnswerMemory | undefined;
  readonly caller: string | undefined;
}

/**
 * Runs a call once the gate admits it. A call without memory for its answer (NeedsMemory) runs again once there is
 * enough, as often as needed. It waits outside the gate, so that clients that read slowly block no other call.
 *
 * @returns without a promise where nothing had to be waited for
 * @throws ABORTED, TIMEOUT while waiting; whatever `work` throws
 */
export function runAdmitted(work: () => Awaitable<unknown>, turn: Turn): Awaitable<unknown> {
  const waiting = turn.gate.enter(turn.scope, turn.caller);
  return waiting === undefined ? runInside(work, turn) : waiting.then(() => runInside(work, turn));
}

/** Runs a call that is inside the gate, and leaves it. */
function runInside(work: () => Awaitable<unknown>, turn: Turn): Awaitable<unknown> {
  let result: Awaitable<unknown>;
  try {
    result = work();
  } catch (error) {
    turn.gate.leave(turn.caller);
    return runLater(error, work, turn);
  }
  if (isPending(result)) return leaveAfter(result, work, turn);
  turn.gate.leave(turn.caller);
  return result;
}

async function leaveAfter(result: Promise<unknown>, work: () => Awaitable<unknown>, turn: Turn): Promise<unknown> {
  let fault: unknown;
  try {
    return await result;
  } catch (error) {
    fault = error;
  } finally {
    turn.gate.leave(turn.caller);
  }
  return runLater(fault, work, turn);
}

/** Runs a call again that had no memory for its answer. @throws any other failure of it */
function runLater(error: unknown, work: () => Awaitable<unknown>, turn: Turn): Promise<unknown> {
  const { memory, scope } = turn;
  if (!(error instanceof NeedsMemory) || memory === undefined) throw error;
  return waitForMemory(memory, error.bytes, scope).then(() => runAdmitted(work, turn));
}

async function waitForMemory(memory: AnswerMemory, bytes: number, scope: CallScope): Promise<void> {
  const gone = new AbortController();
  try {
    await scope.race(memory.hold(bytes, gone.signal));
  } catch (error) {
    gone.abort(error);
    throw error;
  }
}
