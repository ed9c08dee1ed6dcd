// Recursive walks of a host directory.

import { type Io, wait } from "../../core/io.js";
import type { Access, EntryType, Visit, WalkContent, WalkEntry, WalkOptions } from "../../core/ports/backend.js";
import { examine, isReachable, type Name, readNames } from "../../jail/directory.js";
import { type Pinned, release } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { errnoOf, isExhaustion } from "../../jail/sys.js";
import { Descent } from "../../jail/walk/descent.js";
import { FileTaker } from "./changes/take.js";
import { isEntryDenied } from "./denied.js";

/** A directory on the current branch of a walk. */
interface Frame {
  /** The directory itself is denied. */
  readonly isDenied: boolean;
  readonly names: readonly Name[];
  next: number;
}

export interface HostWalkOptions extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  /** Fail if a directory cannot be read, instead of skipping it. */
  readonly strict?: boolean;
}

type Step = "enter" | "skip" | "stop";

/**
 * Visits the entries below a directory, depth first and in order. Each directory is entered through its parent's
 * handle.
 */
export function* walkEntries(jail: Jail, start: Pinned, options: HostWalkOptions): Io<void> {
  const walk = new EntryWalk(jail, start, options);
  try {
    yield* walk.run();
  } finally {
    walk.close();
  }
}

class EntryWalk {
  readonly #jail: Jail;
  readonly #options: HostWalkOptions;
  readonly #taker: FileTaker;
  readonly #descent: Descent;
  /** One per directory from the start to the deepest. */
  readonly #frames: Frame[] = [];
  /** Names from the start to the deepest directory. */
  readonly #below: string[] = [];
  readonly #isWindows = process.platform === "win32";

  constructor(jail: Jail, start: Pinned, options: HostWalkOptions) {
    this.#jail = jail;
    this.#options = options;
    this.#taker = new FileTaker(jail, { scope: options.access.scope, exhausted: options.exhausted });
    this.#descent = new Descent(jail.handles, start);
  }

  *run(): Io<void> {
    const { scope } = this.#options.access;
    yield* this.#begin(false, yield* this.#names());
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      yield* scope.breathe();
      const name = frame.names[frame.next++];
      if (name === undefined) yield* this.#leave();
      else if ((yield* this.#look(frame, name)) === "stop") return;
    }
  }

  close(): void {
    this.#descent.close();
  }

  *#look(frame: Frame, name: Name): Io<Step> {
    const { policy } = this.#options.access;
    const entry = { directory: this.#descent.directory, below: this.#below, name };
    const isDenied = frame.isDenied || (yield* isEntryDenied(this.#jail, entry, policy));
    const visit = isDenied ? this.#options.visitDenied : this.#options.visit;
    const step = visit === undefined ? "skip" : yield* this.#visit(name, visit);
    if (step !== "enter") return step;
    const child = yield* this.#leniently(this.#enter(name));
    if (child === undefined) return "skip";
    this.#descent.push(child, name.raw);
    this.#below.push(name.name);
    yield* this.#begin(isDenied, (yield* this.#leniently(this.#names())) ?? []);
    return step;
  }

  *#begin(isDenied: boolean, names: readonly Name[]): Io<void> {
    this.#frames.push({ isDenied, names, next: 0 });
    yield* this.#readRules(names, isDenied);
  }

  *#leave(): Io<void> {
    this.#frames.pop();
    if (this.#frames.length === 0) return;
    const left = yield* this.#descent.leave();
    this.#below.length -= left;
    for (let lost = 1; lost < left; lost++) {
      const frame = this.#frames.pop();
      if (frame === undefined || frame.next >= frame.names.length) continue;
      // The rest of the directory cannot be visited any more.
      this.#options.unreadable?.();
      this.#options.exhausted?.();
    }
  }

  #names(): Io<Name[]> {
    const { sys, foldsCase, top } = this.#jail;
    const { directory } = this.#descent;
    return readNames(sys, directory, { top: directory === top, foldsCase, scope: this.#options.access.scope });
  }

  /** `undefined` for a directory that cannot be read. */
  *#leniently<T>(work: Io<T>): Io<T | undefined> {
    try {
      return yield* work;
    } catch (error) {
      if (errnoOf(error) === undefined || this.#options.strict === true) throw error;
      this.#options.unreadable?.();
      if (isExhaustion(error)) this.#options.exhausted?.();
      return undefined;
    }
  }

  /** Reads the rule files (such as ignore files) of a directory before its entries are visited. */
  *#readRules(names: readonly Name[], isDenied: boolean): Io<void> {
    const { rules, access } = this.#options;
    if (rules === undefined || isDenied) return;
    const contents: (WalkContent | undefined)[] = [];
    for (const wanted of rules.names) {
      const found = names.find(({ raw }) => raw === wanted);
      // Links are not regular files and are not followed.
      const isFile = found !== undefined && (found.type ?? "file") === "file";
      const isRead = isFile && access.policy?.denies(this.#below, wanted) !== true;
      const content = isRead ? yield* this.#taker.take(this.#descent.directory, found, rules.maxBytes) : undefined;
      contents.push(Buffer.isBuffer(content) ? Buffer.from(content) : content);
    }
    rules.found(this.#descent.depth, contents);
  }

  *#visit(name: Name, visit: Visit): Io<Step> {
    const { directory } = this.#descent;
    const entry = yield* this.#describe(directory, name, this.#descent.depth + 1);
    // Vanished, or of an unknown type: left out.
    if (entry === undefined) return "skip";
    const step = yield* wait(visit(entry));
    if (step !== "read") return step === "enter" && entry.type !== "directory" ? "skip" : step;
    const { content } = this.#options;
    if (content === undefined || entry.type !== "file") return "skip";
    const taken = yield* this.#taker.take(directory, name, content.maxBytes);
    if (taken === undefined) return "skip";
    return (yield* wait(content.take(entry, taken))) === "stop" ? "stop" : "skip";
  }

  *#describe(directory: Pinned, name: Name, depth: number): Io<WalkEntry | undefined> {
    const { sizes, versions } = this.#options;
    const isExamined = name.type === undefined || versions === true || (sizes && name.type === "file");
    const stat = isExamined ? yield* examine(this.#jail.sys, directory, name) : undefined;
    const type: EntryType | undefined = isExamined ? stat?.type : name.type;
    if (type === undefined) return undefined;
    const isUnreachable = !isReachable(name, directory === this.#jail.top, this.#isWindows);
    const more = {
      ...(isUnreachable ? ({ unreachable: true } as const) : {}),
      ...(versions === true && stat !== undefined ? { version: stat.version, changed: stat.changedMs } : {}),
    };
    if (!sizes) return { name: name.name, type, depth, size: undefined, ...more };
    if (type !== "file" || stat === undefined) return { name: name.name, type, depth, size: 0, ...more };
    const identity = stat.nlink > 1 ? { identity: stat.identity } : {};
    return { name: name.name, type, depth, size: stat.size, modified: stat.modifiedMs, ...identity, ...more };
  }

  /** `undefined` if it is gone, not a directory, or on another device. */
  *#enter(name: Name): Io<Pinned | undefined> {
    const { handles, crossDevice, top } = this.#jail;
    const child = yield* handles.enter(this.#descent.directory, name.raw);
    if (typeof child === "string") return undefined;
    if (crossDevice || child.stat.device === top.stat.device) return child;
    release(child);
    this.#options.unreadable?.();
    return undefined;
  }
}
