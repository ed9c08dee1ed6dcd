// Runs calls once the gate admits them, and again when memory for an answer was missing.

import type { CallScope } from "../core/call/scope.js";
import { type AnswerMemory, NeedsMemory } from "../core/memory.js";
import type { Gate } from "./gate.js";

interface Turn {
  readonly gate: Gate;
  readonly scope: CallScope;
  readonly memory: AnswerMemory | undefined;
}

/**
 * Runs a call once the gate admits it. A call without memory for its answer (NeedsMemory) runs again once there is
 * enough, as often as needed. It waits outside the gate, so that clients that read slowly block no other call.
 *
 * @throws ABORTED, TIMEOUT while waiting; whatever `work` throws
 */
export async function runAdmitted(work: () => unknown, { gate, scope, memory }: Turn): Promise<unknown> {
  for (;;) {
    const waiting = gate.enter(scope);
    if (waiting !== undefined) await waiting;
    let needed: number;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof NeedsMemory) || memory === undefined) throw error;
      needed = error.bytes;
    } finally {
      gate.leave();
    }
    await waitForMemory(memory, needed, scope);
  }
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
