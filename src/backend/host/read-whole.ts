// Reads whole files for recursive searches.

import type { CallScope } from "../../core/call/scope.js";
import type { Io } from "../../core/io.js";
import type { PlacePolicy, WalkContent } from "../../core/ports/backend.js";
import type { Name } from "../../jail/directory.js";
import { type Pinned, READ, release } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { NOT_REGULAR, readRegular, TOO_LARGE } from "../../jail/native/read-regular.js";
import { closeNow, errnoOf, isExhaustion } from "../../jail/sys.js";

/** Initial size of the buffer in bytes; fits most source files. */
const FIRST_BYTES = 262_144;

export interface RulePlace {
  readonly directory: Pinned;
  /** Names from the start of the walk to the directory. */
  readonly below: readonly string[];
  /** Names from the one that is found there to the file. */
  readonly rest: readonly string[];
  readonly policy: PlacePolicy | undefined;
}

/** Reads whole files through the handle of their directory, all into one reused buffer. */
export class FileTaker {
  readonly #jail: Jail;
  readonly #scope: CallScope;
  readonly #exhausted: (() => void) | undefined;
  #buffer: Buffer | undefined;

  /** @param call `exhausted`: called when a file could not be read for lack of descriptors */
  constructor(jail: Jail, { scope, exhausted }: { scope: CallScope; exhausted: (() => void) | undefined }) {
    this.#jail = jail;
    this.#scope = scope;
    this.#exhausted = exhausted;
  }

  /** Whether the files of a directory are read: not those of another device. */
  #mayRead(directory: Pinned): boolean {
    const { crossDevice, top } = this.#jail;
    // On overlay file systems files report the device of their layer, so their directory decides.
    return crossDevice || directory.stat.device === top.stat.device;
  }

  /** `undefined`: the file is gone or not regular. The result is overwritten by the next call. */
  *take(directory: Pinned, { raw }: Name, maxBytes: number): Io<WalkContent | undefined> {
    // A name that is not valid UTF-8 cannot be pinned.
    if (typeof raw !== "string") return undefined;
    if (!this.#mayRead(directory)) return undefined;
    const calls = this.#jail.sys.native?.calls;
    if (calls === undefined || directory.fd < 0) return yield* this.#takePinned(directory, raw, maxBytes);
    const buffer = this.#room(0, FIRST_BYTES);
    const count = readRegular(calls, directory.fd, raw, buffer, maxBytes);
    if (count >= 0) return buffer.subarray(0, count);
    if (count === NOT_REGULAR) return undefined;
    return count === TOO_LARGE ? "too large" : yield* this.#takePinned(directory, raw, maxBytes);
  }

  /** A rule file, at once or in directories below. Links are no regular files or directories, and are not followed. */
  *takeRules(place: RulePlace, found: Name, maxBytes: number): Io<WalkContent | undefined> {
    const { directory, below, rest, policy } = place;
    const { raw, name, type } = found;
    if (policy?.denies(below, name) === true) return undefined;
    const [next, ...others] = rest;
    if (next === undefined)
      return (type ?? "file") === "file" ? yield* this.take(directory, found, maxBytes) : undefined;
    if ((type ?? "directory") !== "directory") return undefined;
    let child: Pinned | string | undefined;
    try {
      child = yield* this.#jail.handles.enter(directory, raw);
      if (typeof child === "string") return undefined;
      const inside = { directory: child, below: [...below, name], rest: others, policy };
      return yield* this.takeRules(inside, { name: next, raw: next, type: undefined }, maxBytes);
    } catch (error) {
      return this.#unreadable(error);
    } finally {
      if (typeof child === "object") release(child);
    }
  }

  *#takePinned(directory: Pinned, name: string, maxBytes: number): Io<WalkContent | undefined> {
    const { handles } = this.#jail;
    let file: Pinned | undefined;
    let isThere = false;
    try {
      file = yield* handles.pin(directory, name);
      if (file === undefined) return undefined;
      isThere = file.stat.isFile();
      if (!isThere) return undefined;
      if (file.stat.size > maxBytes) return "too large";
      return yield* this.#read(yield* handles.reopen(file, READ), file.stat.size, maxBytes);
    } catch (error) {
      const answer = this.#unreadable(error);
      return isThere || isExhaustion(error) ? answer : undefined;
    } finally {
      if (file !== undefined) release(file);
    }
  }

  #unreadable(error: unknown): "unreadable" {
    if (errnoOf(error) === undefined) throw error;
    if (isExhaustion(error)) this.#exhausted?.();
    return "unreadable";
  }

  /** @param fd closed in every case */
  *#read(fd: number, size: number, maxBytes: number): Io<WalkContent> {
    try {
      if (size > maxBytes) return "too large";
      let done = 0;
      for (;;) {
        // Requesting one byte more than expected detects the end in the same call.
        const buffer = this.#room(done, Math.max(size, done) + 1);
        const count = yield* this.#jail.sys.read(fd, buffer, done, done);
        done += count;
        if (done > maxBytes) return "too large";
        if (count === 0 || done < buffer.length) return buffer.subarray(0, done);
        yield* this.#scope.breathe();
      }
    } finally {
      closeNow(fd);
    }
  }

  /** The buffer, with at least `bytes` bytes; its first `kept` bytes are preserved. */
  #room(kept: number, bytes: number): Buffer {
    if (this.#buffer === undefined || this.#buffer.length < bytes) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, bytes, 2 * kept));
      if (kept > 0) this.#buffer?.copy(larger, 0, 0, kept);
      this.#buffer = larger;
    }
    return this.#buffer.subarray(0, Math.max(bytes, kept + 1));
  }
}
