import type { CallScope } from "../core/call/scope.js";
import { type AnswerMemory, NeedsMemory } from "../core/memory.js";
import type { Gate } from "./gate.js";

interface Turn {
  readonly gate: Gate;
  readonly scope: CallScope;
  readonly memory: AnswerMemory | undefined;
}

/**
 * Runs a call when it is its turn. One that finds no room for its answer runs again once there is some, as often as it
 * takes. It waits outside the gate, so that clients who take their answers slowly keep no other call waiting.
 *
 * @throws ABORTED, TIMEOUT while waiting; what the call fails with
 */
export async function inTurn(work: () => unknown, { gate, scope, memory }: Turn): Promise<unknown> {
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
    await waitForRoom(memory, needed, scope);
  }
}

async function waitForRoom(memory: AnswerMemory, bytes: number, scope: CallScope): Promise<void> {
  const gone = new AbortController();
  try {
    await scope.race(memory.hold(bytes, gone.signal));
  } catch (error) {
    gone.abort(error);
    throw error;
  }
}
