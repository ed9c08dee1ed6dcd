// The intent of a group: a folder in the staging directory with all that is needed to undo the group after a crash.

import { createHash } from "node:crypto";
import { notSupportedByRoot, type Place } from "../../../core/errors/texts.js";
import { type Io, runIo, yieldToLoop } from "../../../core/io.js";
import { below, CREATE, enterBelow, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { flushDirectories, flushOpen, openDirectories } from "../../../jail/staging/flush.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { INTENT_KIND } from "../../../jail/staging/staging.js";
import { inodeOf, type Stat } from "../../../jail/stat.js";
import { closeNow, errnoOf, succeeds } from "../../../jail/sys.js";
import type { IntentRegister } from "./register.js";

/** Prefix of the names of intents that are not used any more, and are left for the operator to look at. */
export const ASIDE_KIND = "aside";
const ATTEMPTS = 5;
/** Files that are flushed together. */
const MAX_UNFLUSHED = 32;

/** Properties by which an entry is recognised. */
export interface Image {
  readonly type: string;
  /** Identity without the device, whose number may be another after a restart. */
  readonly inode: string;
  readonly size: number;
  readonly modified: number;
  readonly sha256?: string;
}

/** Names from the root down, as they really are: no links. */
export type RealPath = readonly string[];

/** How one step is undone. Names of kept entries are in the folder of the intent. */
export interface StepRecord {
  /** Directories that the step creates, topmost first. */
  readonly made?: readonly RealPath[];
  /** A file that gets new content, staged as `staged`; what it replaces is kept as `before`. */
  readonly put?: { readonly path: RealPath; readonly after: Image; readonly staged: string; readonly before?: string };
  /** An entry that is taken away and kept; `isBinned`: in the trash, under that name. */
  readonly taken?: {
    readonly path: RealPath;
    readonly what: Image;
    readonly kept: string;
    readonly isBinned?: true;
  };
  /** An entry that gets another name; `isKept`: it comes from the staging directory. */
  readonly moved?: {
    readonly from: RealPath;
    readonly isKept?: true;
    readonly to: RealPath;
    readonly what: Image;
    readonly before?: string;
  };
}

export const imageOf = (stat: Stat, sha256?: string): Image => ({
  type: stat.type,
  inode: inodeOf(stat),
  size: stat.size,
  modified: stat.modifiedMs,
  ...(sha256 === undefined ? {} : { sha256 }),
});

export const recordName = (batch: number): string => `record-${batch}`;

/** The root and its rules, as far as intents need them. */
export interface IntentGround {
  readonly jail: Jail;
  /** Flush to disk: a power failure must not leave half of a group either. */
  readonly durable: boolean;
  /** Ids of the intents of this venue. Absent: intents are known by their owner and this boot. */
  readonly register?: IntentRegister | undefined;
}

/** The intent of one group under way. */
export class Intent {
  readonly #ground: IntentGround;
  readonly #stage: Stage;
  readonly #name: string;
  /** The folder; entries in it are named by the group. */
  readonly folder: Pinned;
  readonly #unflushed: number[] = [];
  #batches = 0;

  private constructor(ground: IntentGround, made: { stage: Stage; name: string; folder: Pinned }) {
    this.#ground = ground;
    this.#stage = made.stage;
    this.#name = made.name;
    this.folder = made.folder;
  }

  /** Creates the folder. The caller ends the intent. @throws NOT_SUPPORTED if the root has no staging directory */
  static *begin(ground: IntentGround, place: Place): Io<Intent> {
    const { staging, top, sys, handles } = ground.jail;
    for (let attempt = 1; ; attempt++) {
      const stage = yield* staging.open(top);
      if (stage.directory === top) throw notSupportedByRoot(place, "changes of several files at once");
      try {
        const name = `${INTENT_KIND}-${staging.newName(stage)}`;
        yield* sys.mkdir(below(stage.directory, name), 0o700);
        const folder = yield* handles.enter(stage.directory, name);
        if (typeof folder !== "string") return new Intent(ground, { stage, name, folder });
        throw Object.assign(new Error("replaced"), { code: "ESTALE", syscall: "mkdir" });
      } catch (error) {
        stage.release();
        // Another process removed the empty staging directory when it ended.
        if (errnoOf(error) !== "ENOENT" || attempt === ATTEMPTS) throw error;
      }
    }
  }

  get jail(): Jail {
    return this.#ground.jail;
  }

  /** The staging directory. */
  get stage(): Pinned {
    return this.#stage.directory;
  }

  /** Whether somebody would undo it after a crash. */
  get isRecorded(): boolean {
    return this.#batches > 0;
  }

  /** Takes over a descriptor of staged content; it is closed once it is flushed, if the root requires that. */
  *flushLater(fd: number): Io<void> {
    if (!this.#ground.durable) {
      yield* this.#ground.jail.sys.close(fd);
      return;
    }
    this.#unflushed.push(fd);
    if (this.#unflushed.length >= MAX_UNFLUSHED) yield* this.flush();
  }

  *flush(): Io<void> {
    const fds = this.#unflushed.splice(0);
    try {
      yield* flushOpen(fds, () => false);
    } finally {
      for (const fd of fds) closeNow(fd);
    }
  }

  /** An entry below the staging directory of the root, by its names. The caller closes it. */
  findKept(names: readonly string[]): Io<PlacedEntry | undefined> {
    return findBelow(this.#ground.jail, this.#stage.directory, names);
  }

  pathOf(name: string): string {
    return below(this.folder, name);
  }

  /** Persists how to undo the next steps. Call before any of them runs. */
  *record(steps: readonly StepRecord[]): Io<void> {
    const { jail, durable, register } = this.#ground;
    const text = Buffer.from(JSON.stringify({ format: 1, steps }));
    const sha256 = createHash("sha256").update(text).digest("hex");
    // First, so that a record which is not registered is never one of ours.
    const open = [...(register?.add(this.#name, sha256, durable) ?? [])];
    try {
      const fd = yield* jail.sys.open(this.pathOf(recordName(this.#batches)), CREATE, 0o600);
      open.push(fd);
      this.#batches++;
      yield* jail.sys.writeAll(fd, text);
      if (!durable) return;
      open.push(...(yield* openDirectories(jail, [this.folder, this.#stage.directory, jail.top])));
      yield* flushOpen(open);
    } finally {
      for (const fd of open) closeNow(fd);
    }
  }

  /** The group is done, or undone: from here on nobody undoes it. @returns whether that survives a power failure */
  *settle(): Io<boolean> {
    const { jail, durable } = this.#ground;
    if (this.#batches === 0) return true;
    yield* jail.sys.unlink(this.pathOf(recordName(0)));
    const isFlushed = !durable || (yield* succeeds(flushDirectories(jail, [this.folder])));
    this.#ground.register?.remove(this.#name);
    return isFlushed;
  }

  /** Some of the group stays done: what was kept is left for the operator. If that fails, the next start goes on. */
  *setAside(): Io<void> {
    const { jail, register } = this.#ground;
    if (yield* moveAside(jail, this.stage, this.#name)) register?.remove(this.#name);
  }

  /** Removes the folder after the answer; one that could not be settled stays for the next start. */
  end(isSettled: boolean): Promise<void> | undefined {
    const { jail } = this.#ground;
    for (const fd of this.#unflushed.splice(0)) closeNow(fd);
    release(this.folder);
    if (!isSettled) {
      this.#stage.release();
      return undefined;
    }
    const purge = async (): Promise<void> => {
      await yieldToLoop();
      try {
        await runIo(jail.staging.purge(this.#stage, this.#name));
      } finally {
        this.#stage.release();
      }
    };
    const purging = purge();
    jail.trackBackground(purging);
    return purging;
  }
}

/** Renames the folder of an intent that is not used any more. @returns whether it could */
export function moveAside({ sys }: Jail, stage: Pinned, name: string): Io<boolean> {
  const aside = `${ASIDE_KIND}${name.slice(INTENT_KIND.length)}`;
  return succeeds(sys.rename(below(stage, name), below(stage, aside)));
}

/** An entry and the directory that it is in. */
export interface PlacedEntry {
  readonly directory: Pinned;
  readonly object: Pinned;
  close(): void;
}

/** Looks up an entry by its names, following no link. */
export function* findBelow(jail: Jail, top: Pinned, names: readonly string[]): Io<PlacedEntry | undefined> {
  const directory = yield* enterBelow(jail, top, names.slice(0, -1));
  if (directory === undefined) return undefined;
  const leave = (): void => {
    if (directory !== top) release(directory);
  };
  const object = yield* jail.handles.pin(directory, names.at(-1) ?? "");
  if (object === undefined) {
    leave();
    return undefined;
  }
  const close = (): void => {
    release(object);
    leave();
  };
  return { directory, object, close };
}
