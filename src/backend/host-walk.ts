import type { Access, EntryType, Visit, WalkContent, WalkEntry, WalkOptions } from "../core/backend.js";
import { type Io, wait } from "../core/io.js";
import { examine, isReachable, type Name, readNames } from "../jail/directory.js";
import { type Pinned, release } from "../jail/handles.js";
import type { Jail } from "../jail/jail.js";
import { errnoOf } from "../jail/sys.js";
import { FileTaker } from "./host-take.js";

interface Frame {
  readonly directory: Pinned;
  /** From the start of the walk to the directory. */
  readonly below: readonly string[];
  /** The policy denies the directory itself. */
  readonly isDenied: boolean;
  names: readonly Name[];
  next: number;
}

export interface HostWalkOptions extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  /** Fails where a directory cannot be looked into, rather than passing it by. */
  readonly strict?: boolean;
}

type Step = "enter" | "skip" | "stop";

/** Visits the entries below a directory, depth first and in order; each directory is entered by its parent's handle. */
export function* walkEntries(jail: Jail, start: Pinned, options: HostWalkOptions): Io<void> {
  const { scope, policy } = options.access;
  const walk = new EntryWalk(jail, options);
  const top: Frame = { directory: start, below: [], isDenied: false, names: yield* walk.names(start), next: 0 };
  const frames = [top];
  try {
    yield* walk.readRules(top);
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const name = frame.names[frame.next++];
      if (name === undefined) {
        leave(frames, start);
        continue;
      }
      yield* scope.breathe();
      const isDenied = frame.isDenied || policy?.denies(frame.below, name.name) === true;
      const visit = isDenied ? options.visitDenied : options.visit;
      if (visit === undefined) continue;
      const step = yield* walk.visit(frame, name, visit);
      if (step === "stop") return;
      const child = step === "enter" ? yield* walk.leniently(walk.enter(frame.directory, name)) : undefined;
      if (child === undefined) continue;
      // Pushed before its names are read, so that it is released whatever happens.
      const entered: Frame = { directory: child, below: [...frame.below, name.name], isDenied, names: [], next: 0 };
      frames.push(entered);
      entered.names = (yield* walk.leniently(walk.names(child))) ?? [];
      yield* walk.readRules(entered);
    }
  } finally {
    while (frames.length > 0) leave(frames, start);
  }
}

class EntryWalk {
  readonly #jail: Jail;
  readonly #options: HostWalkOptions;
  readonly #taker: FileTaker;
  readonly #isWindows = process.platform === "win32";

  constructor(jail: Jail, options: HostWalkOptions) {
    this.#jail = jail;
    this.#options = options;
    this.#taker = new FileTaker(jail, options.access.scope);
  }

  names(directory: Pinned): Io<Name[]> {
    const { sys, foldsCase, top } = this.#jail;
    return readNames(sys, directory, { top: directory === top, foldsCase, scope: this.#options.access.scope });
  }

  /** `undefined` for a directory that cannot be looked into. */
  *leniently<T>(work: Io<T>): Io<T | undefined> {
    try {
      return yield* work;
    } catch (error) {
      if (errnoOf(error) === undefined || this.#options.strict === true) throw error;
      this.#options.unreadable?.();
      return undefined;
    }
  }

  /** Reads the files by which a directory says what is in it, before anything in it is visited. */
  *readRules({ directory, names, below, isDenied }: Frame): Io<void> {
    const { rules, access } = this.#options;
    if (rules === undefined || isDenied) return;
    const contents: (WalkContent | undefined)[] = [];
    for (const wanted of rules.names) {
      const found = names.find(({ raw }) => raw === wanted);
      // A link is no regular file, and is not followed.
      const isFile = found !== undefined && (found.type ?? "file") === "file";
      const isRead = isFile && access.policy?.denies(below, wanted) !== true;
      const content = isRead ? yield* this.#taker.take(directory, found, rules.maxBytes) : undefined;
      contents.push(Buffer.isBuffer(content) ? Buffer.from(content) : content);
    }
    rules.found(below.length, contents);
  }

  *visit({ directory, below }: Frame, name: Name, visit: Visit): Io<Step> {
    const entry = yield* this.#describe(directory, name, below.length + 1);
    // Vanished, or of a kind that nobody knows: left out.
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
    const { sizes } = this.#options;
    const isExamined = name.type === undefined || (sizes && name.type === "file");
    const stat = isExamined ? yield* examine(this.#jail.sys, directory, name) : undefined;
    const type: EntryType | undefined = isExamined ? stat?.type : name.type;
    if (type === undefined) return undefined;
    const isUnreachable = !isReachable(name, directory === this.#jail.top, this.#isWindows);
    const more = isUnreachable ? ({ unreachable: true } as const) : {};
    if (!sizes) return { name: name.name, type, depth, size: undefined, ...more };
    if (type !== "file" || stat === undefined) return { name: name.name, type, depth, size: 0, ...more };
    const identity = stat.nlink > 1 ? { identity: stat.identity } : {};
    return { name: name.name, type, depth, size: stat.size, modified: stat.modifiedMs, ...identity, ...more };
  }

  /** `undefined` when it is gone, no directory any more, or on another device. */
  *enter(parent: Pinned, name: Name): Io<Pinned | undefined> {
    const { handles, crossDevice, top } = this.#jail;
    const child = yield* handles.enter(parent, name.raw);
    if (typeof child === "string") return undefined;
    if (crossDevice || child.stat.device === top.stat.device) return child;
    release(child);
    this.#options.unreadable?.();
    return undefined;
  }
}

function leave(frames: Frame[], start: Pinned): void {
  const left = frames.pop();
  if (left !== undefined && left.directory !== start) release(left.directory);
}
