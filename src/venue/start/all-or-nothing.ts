// Opens parts one after another: all of them, or none.

import { ConfigError } from "../../config/errors.js";
import { RootsError } from "../../roots/open.js";

export interface Closable {
  close(): Promise<unknown>;
}

/** The parts opened so far, to be closed in reverse order. `keep` adds one. */
export class Opened {
  readonly #parts: Closable[] = [];

  readonly keep = <T extends Closable>(part: T): T => {
    this.#parts.push(part);
    return part;
  };

  /** Adds a part that is closed after another. */
  keepBelow(above: Closable, part: Closable): void {
    this.#parts.splice(this.#parts.indexOf(above), 0, part);
  }

  /** @throws the first failure, once all have been closed */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const one of this.#parts.reverse()) {
      // A failure must not leave the others open, or temp roots behind.
      await Promise.resolve(one.close()).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Closes what was opened when a later part cannot be. @throws ConfigError for roots that cannot be opened */
export async function allOrNothing<T>(open: (opened: Opened) => Promise<T>): Promise<T> {
  const opened = new Opened();
  try {
    return await open(opened);
  } catch (error) {
    await opened.close();
    throw asConfigError(error);
  }
}

/** Turns the error of roots that cannot be opened into a ConfigError (exit status 78). */
export const asConfigError = (error: unknown): unknown =>
  error instanceof RootsError ? new ConfigError(error.problems, 78) : error;
