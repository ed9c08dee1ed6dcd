// Modules that a process loads when a call first needs them.

import { notLoaded } from "./errors/texts.js";
import { codeOf } from "./unknown.js";

const loads = new Set<() => unknown>();

/**
 * A module of this package, which {@link loadAhead} loads: Node keeps the failure of an import for as long as the process runs, and a
 * server may be out of descriptors for a moment at any time.
 */
export function later<T>(load: () => Promise<T>): () => Promise<T> {
  loads.add(load);
  return load;
}

/**
 * A package of others, which {@link loadAhead} finds: that none was found is all that Node keeps of a failure. The first call that
 * needs it loads it, since it may be large. @throws IO_ERROR where it cannot be read now; the next call tries again
 */
export function laterPackage<T>(require: NodeJS.Require, name: string): () => T {
  loads.add(() => require.resolve(name));
  return () => {
    try {
      return require(name) as T;
    } catch (error) {
      throw notLoaded(error);
    }
  };
}

/** Errors of a process that is out of descriptors. */
const PASSING = /^(E[MN]FILE|ERR_DLOPEN_FAILED)$/;

/** For a server that is about to listen. @param failed told of failures that a new start mends; others are told where it is needed */
export async function loadAhead(failed: (error: unknown) => void): Promise<void> {
  for (const load of loads) {
    loads.delete(load);
    try {
      await load();
    } catch (error) {
      if (PASSING.test(codeOf(error) ?? "")) failed(error);
    }
  }
}
