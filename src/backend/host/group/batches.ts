// Divides the steps of a group into batches: a step that depends on an earlier one is checked after that is committed.

import type { RealPath } from "./intent.js";

/** Most steps whose places are open at once. */
const MOST = 128;

/** The places of one step. */
export interface Touched {
  readonly paths: readonly RealPath[];
  /** Directories that it makes on the way. A step that makes those it needs waits for no other that does. */
  readonly made: readonly RealPath[];
  readonly makesParents: boolean;
}

/** The paths of the steps of one batch. None of them is, or lies in, another's. */
export class Batch {
  readonly #paths = new Set<string>();
  readonly #above = new Set<string>();
  readonly #made = new Set<string>();
  #steps = 0;

  /** Adds the places of one step. @returns `false`, and nothing is added, if the step belongs into the next batch */
  add(touched: Touched): boolean {
    if (this.#steps >= MOST || touched.paths.some((path) => this.#isRelated(path, touched))) return false;
    this.#steps++;
    for (const path of touched.paths) {
      this.#paths.add(keyOf(path));
      for (const above of aboveOf(path)) this.#above.add(above);
    }
    for (const path of touched.made) this.#made.add(keyOf(path));
    return true;
  }

  #isRelated(path: RealPath, { makesParents }: Touched): boolean {
    const key = keyOf(path);
    const above = aboveOf(path);
    if (this.#paths.has(key) || this.#above.has(key) || above.some((one) => this.#paths.has(one))) return true;
    return !makesParents && above.some((one) => this.#made.has(one));
  }
}

export const keyOf = (path: RealPath): string => path.join("/");

const aboveOf = (path: RealPath): string[] => path.slice(1).map((_, index) => keyOf(path.slice(0, index + 1)));
