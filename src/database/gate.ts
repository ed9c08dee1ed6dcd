// A lock between processes, beside a database. LMDB as it is bundled (ITS#9496) lets a process that opens a database
// set back the number of the last transaction, so that a commit of another process meanwhile is lost. Whoever opens,
// changes or closes a shared database therefore holds its gate.

import { join } from "node:path";
import type { RootDatabase } from "lmdb";
import { makeEmpty, openEnvironment } from "./environment.js";

/** Its files are these, with the lock file of LMDB's own. */
const FILE = "gate.mdb";
/** Another process may just have closed the gate for good; then it is opened anew. */
const TRIES = 100;
const MAX_PAUSE_MS = 20;
/** Answer of LMDB for a lock that its last user has destroyed. */
const INVALID = 22;

export interface Gate {
  /** Nobody else opens, changes or closes the database meanwhile. Calls inside a call do not wait. */
  hold<T>(work: () => T): T;
  close(): Promise<void>;
}

/**
 * @param folder of the database, which exists
 * @throws Error of the system if its files cannot be written
 */
export function openGate(folder: string): Gate {
  for (let tries = 1; ; tries += 1) {
    const path = join(folder, FILE);
    // Only its lock on writers is used: whatever is in it, it holds nothing, and has no commit to lose.
    makeEmpty(path);
    const env = openEnvironment({ path, isFile: true, maxTables: 1, maxReaders: 8, flush: false });
    try {
      env.transactionSync(() => undefined);
      return gateOf(env);
    } catch (error) {
      void env.close();
      if (tries === TRIES || !isDestroyedLock(error)) throw error;
      pause(Math.random() * Math.min(tries, MAX_PAUSE_MS));
    }
  }
}

function gateOf(env: RootDatabase<Buffer, Buffer>): Gate {
  let isHeld = false;
  return {
    hold<T>(work: () => T): T {
      if (isHeld) return work();
      return env.transactionSync(() => {
        isHeld = true;
        try {
          return { result: work() };
        } finally {
          isHeld = false;
        }
      }).result;
    },
    close: () => env.close(),
  };
}

const isDestroyedLock = (error: unknown): boolean => error instanceof Error && Reflect.get(error, "code") === INVALID;

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
