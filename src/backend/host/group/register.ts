// The register of intents, kept outside the roots: an intent that is not in it is foreign and is not undone.

import { closeSync, constants, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { flushesDirectories } from "../../../database/durable-files.js";
import { unlessRefused } from "../../../jail/staging/place-once.js";

const HASH_LENGTH = 64;
/** Most bytes of hashes that are read of one intent. */
const MAX_BYTES = 1_048_576;

/** One file for each intent under way, with the SHA-256 of each of its records. */
export class IntentRegister {
  readonly #directory: string;
  readonly #prepare: () => void;
  #isMade = false;

  /**
   * @param directory of one root, in the state directory of the venue; created with the first intent
   * @param prepare creates the state directory
   */
  constructor(directory: string, prepare: () => void) {
    this.#directory = directory;
    this.#prepare = prepare;
  }

  /**
   * @param sha256 of the next record of an intent
   * @returns descriptors to flush and close, where the record must survive a power failure
   * @throws system errors
   */
  add(id: string, sha256: string, durable: boolean): readonly number[] {
    if (!this.#isMade) {
      this.#prepare();
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      this.#isMade = true;
    }
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW = 0, O_RDONLY } = constants;
    const fd = openSync(join(this.#directory, id), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    try {
      writeSync(fd, `${sha256}\n`);
      if (durable) return flushesDirectories() ? [fd, openSync(this.#directory, O_RDONLY)] : [fd];
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    closeSync(fd);
    return [];
  }

  /** The hashes of the records of an intent; empty: it is not ours. */
  hashesOf(id: string): readonly string[] {
    const text = unlessRefused(() => readFileSync(join(this.#directory, id), "latin1")) ?? "";
    return text
      .slice(0, MAX_BYTES)
      .split("\n")
      .filter((line) => line.length === HASH_LENGTH);
  }

  /** Failing to remove one is harmless: an intent without records counts as done. */
  remove(id: string): void {
    unlessRefused(() => rmSync(join(this.#directory, id), { force: true }));
  }
}
