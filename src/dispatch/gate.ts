// Bounds the calls that run at once, and runs those that it lets in. Streams and commands have gates of their own.

import { CALLER_SHARE } from "../core/call/limits.js";
import type { CallScope } from "../core/call/scope.js";
import { type Awaitable, isPending } from "../core/io.js";
import { type AnswerMemory, NeedsMemory } from "../core/memory.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { AnyOperation } from "../core/ports/operation.js";
import { deferred, FairQueue } from "../core/turns.js";

/** How long a caller must have been the only one, in milliseconds, to take all places. */
const ALONE_MS = 10_000;

/**
 * A semaphore: at most `max` calls run at once, and beside other callers one gets {@link CALLER_SHARE} of the places, so
 * that another's call finds one at once. The others wait until their deadline; their callers take turns.
 */
export class Gate {
  readonly #max: number;
  readonly #waiting = new FairQueue<() => void>();
  #running = 0;
  readonly #runningOf = new Map<string | undefined, number>();
  readonly #nowMs: () => number;
  #lastCaller: string | undefined;
  /** When the last caller came after another. */
  #aloneSince: number;

  constructor(max: number, nowMs = (): number => performance.now()) {
    this.#max = max;
    this.#nowMs = nowMs;
    this.#aloneSince = nowMs();
  }

  /**
   * @param caller `undefined`: the operator of an embedder, who may take all places
   * @returns `undefined` if admitted at once, which avoids a promise
   * @throws ABORTED, TIMEOUT while waiting
   */
  enter(scope: CallScope, caller?: string): Promise<void> | undefined {
    if (caller !== this.#lastCaller) [this.#lastCaller, this.#aloneSince] = [caller, this.#nowMs()];
    this.#admitWaiting();
    if (this.#running >= this.#max || !this.#hasRoom(caller)) return this.#wait(scope, caller);
    this.#count(caller, 1);
    return undefined;
  }

  leave(caller?: string): void {
    this.#count(caller, -1);
    this.#admitWaiting();
  }

  #admitWaiting(): void {
    while (this.#waiting.size > 0 && this.#running < this.#max) {
      const admit = this.#waiting.take(this.#hasRoom);
      if (admit === undefined) return;
      admit();
    }
  }

  async #wait(scope: CallScope, caller: string | undefined): Promise<void> {
    const { promise: admitted, resolve } = deferred();
    const admit = () => {
      this.#count(caller, 1);
      resolve();
    };
    this.#waiting.push(caller, admit);
    try {
      await scope.race(admitted);
    } catch (error) {
      // Admitted in the same moment: pass the slot to the next in line.
      if (!this.#waiting.remove(caller, admit)) this.leave(caller);
      throw error;
    }
  }

  readonly #hasRoom = (caller: string | undefined): boolean =>
    caller === undefined ||
    (this.#runningOf.get(caller) ?? 0) < this.#max * CALLER_SHARE ||
    this.#nowMs() - this.#aloneSince > ALONE_MS;

  #count(caller: string | undefined, change: 1 | -1): void {
    this.#running += change;
    const running = (this.#runningOf.get(caller) ?? 0) + change;
    if (running === 0) this.#runningOf.delete(caller);
    else this.#runningOf.set(caller, running);
  }
}

/** The gates of one adapter. Streams and commands, as slow as their client or process, must not block other calls. */
export class Gates {
  readonly #calls: Gate;
  readonly #streams: Gate;
  readonly #commands: Gate;
  /** Watches wait and do next to nothing. */
  readonly #watches = new Gate(Number.POSITIVE_INFINITY);

  /** @param shared gates that several adapters use together */
  constructor(max: number, shared: { readonly gate?: Gate | undefined; readonly streamGate?: Gate | undefined }) {
    this.#calls = shared.gate ?? new Gate(max);
    this.#streams = shared.streamGate ?? new Gate(max);
    this.#commands = new Gate(max);
  }

  of({ streams, runs, watches }: Pick<AnyOperation, "streams" | "runs" | "watches">): Gate {
    if (watches === true) return this.#watches;
    if (runs === true) return this.#commands;
    return streams === true ? this.#streams : this.#calls;
  }
}

interface AdmittedCall {
  readonly scope: CallScope;
  readonly context: Pick<SurfaceContext, "callerDID" | "memory">;
}

/**
 * Runs a call once the gate admits it. A call without memory for its answer (NeedsMemory) runs again once there is
 * enough, as often as needed. The call waits outside the gate, so that clients that read slowly block no other call.
 *
 * @returns without a promise where nothing had to be waited for
 * @throws ABORTED, TIMEOUT while waiting; whatever `work` throws
 */
export function runAdmitted(gate: Gate, call: AdmittedCall, work: () => Awaitable<unknown>): Awaitable<unknown> {
  const { scope, context } = call;
  const { callerDID: caller, memory } = context;
  const leave = (output: unknown): unknown => {
    gate.leave(caller);
    return output;
  };
  const fail = (error: unknown): Promise<unknown> => {
    gate.leave(caller);
    if (!(error instanceof NeedsMemory) || memory === undefined) throw error;
    return waitForMemory(memory, error.bytes, scope).then(() => runAdmitted(gate, call, work));
  };
  const run = (): Awaitable<unknown> => {
    let output: Awaitable<unknown>;
    try {
      output = work();
    } catch (error) {
      return fail(error);
    }
    return isPending(output) ? output.then(leave, fail) : leave(output);
  };
  const waiting = gate.enter(scope, caller);
  return waiting === undefined ? run() : waiting.then(run);
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
