// The mark of a machine in the staging directory of a root that several instances share: they take turns by its lock file, which
// means nothing to another machine.

import { type Io, runIo } from "../../core/io.js";
import { below, CREATE, statBelow } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import type { Stage } from "../../jail/staging/lock-file.js";
import { closeNow, errnoOf, quietly } from "../../jail/sys.js";
import { setTime } from "../../jail/times.js";
import { bootId, NO_BOOT_ID } from "../../process/identity.js";

const KIND = "machine-";
const TOUCH_MS = 10_000;
/** A mark that nobody touched for this long is of a machine that has stopped. */
const KEPT_MS = 60_000;

export class MachineMark {
  readonly #jail: Jail;
  readonly #name: string;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(jail: Jail, boot = bootId() ?? NO_BOOT_ID) {
    this.#jail = jail;
    this.#name = `${KIND}${boot}`;
  }

  /**
   * Marks the root as used by this machine, from now on. The mark comes before the look, so that of two machines that start at once
   * at least one sees the other.
   * @throws Error whose message completes "Root 'x' …" where another machine uses it
   */
  async claim(): Promise<void> {
    if (this.#timer !== undefined || this.#isClosed) return;
    const other = await runIo(this.#inStage((stage) => this.#markAndLook(stage)));
    if (other === true) {
      const advice = `Instances that share a folder run on one machine. Stop those on the other; its mark ends ${KEPT_MS / 1000} s later`;
      throw new Error(`is used by another machine. ${advice}`);
    }
    this.#timer = setInterval(() => this.#touchLater(), TOUCH_MS);
    this.#timer.unref();
  }

  /** The mark stays: other processes of this machine may use the root. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #touchLater(): void {
    this.#jail.trackBackground(runIo(quietly(this.#inStage((stage) => this.#touch(stage)))));
  }

  *#inStage<T>(work: (stage: Stage) => Io<T>): Io<T | undefined> {
    const stage = yield* this.#jail.staging.open(this.#jail.top);
    try {
      return stage.directory === this.#jail.top ? undefined : yield* work(stage);
    } finally {
      stage.release();
    }
  }

  *#markAndLook(stage: Stage): Io<boolean> {
    yield* this.#touch(stage);
    const { sys } = this.#jail;
    const since = Date.now() - KEPT_MS;
    for (const { name } of yield* sys.names(stage.directory)) {
      if (!name.startsWith(KIND) || name === this.#name) continue;
      const stat = yield* quietly(statBelow(sys, stage.directory, name));
      if (stat === undefined) continue;
      const path = below(stage.directory, stat.modifiedMs > since ? this.#name : name);
      yield* quietly(sys.unlink(path));
      if (stat.modifiedMs > since) return true;
    }
    return false;
  }

  *#touch(stage: Stage): Io<void> {
    const { sys } = this.#jail;
    const path = below(stage.directory, this.#name);
    try {
      closeNow(yield* sys.open(path, CREATE, 0o600));
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
    yield* setTime(sys, path, Date.now());
  }
}
