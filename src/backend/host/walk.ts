// Recursive walks of a host directory.

import { type Io, isPending } from "../../core/io.js";
import type { Access, WalkContent, WalkEntry, WalkOptions, WalkStep } from "../../core/ports/backend.js";
import { isReachable, lookAt, type Name, readNames, readNamesNow, sortYielding } from "../../jail/directory.js";
import { type Pinned, release } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import type { Stat } from "../../jail/stat.js";
import { errnoOf, isExhaustion } from "../../jail/sys.js";
import { Descent } from "../../jail/walk/descent.js";
import { isDeniedNow, isEntryDenied } from "./entry-patterns.js";
import { FileTaker } from "./read-whole.js";

export interface HostWalkOptions extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  /** Fail if a directory cannot be read, instead of skipping it. */
  readonly strict?: boolean;
  /** Reserved names are no others. */
  readonly keepsReserved?: boolean;
  /** Called for each entry that could not be examined, or not be entered for it is no directory any more. */
  readonly missed?: (below: readonly string[], name: string) => void;
}

type Writable<T> = { -readonly [key in keyof T]: T[key] };

/** A directory on the current branch of a walk. */
interface Frame {
  /** The directory itself is denied. */
  readonly isDenied: boolean;
  readonly names: readonly Name[];
  next: number;
}

const PERMISSION_BITS = 0o7777;
/** Entries visited before the clock is asked whether other calls should have a turn. */
const STEPS_BETWEEN = 16;

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
  /** Options that each entry asks for: objects made by spreads need not share a shape, and are slow to ask then. */
  readonly #sizes: boolean;
  readonly #versions: boolean;
  readonly #taker: FileTaker;
  readonly #descent: Descent;
  /** One per directory from the start to the deepest. */
  readonly #frames: Frame[] = [];
  readonly #ruleHeads: readonly string[];
  /** Names from the start to the deepest directory. */
  readonly #below: string[] = [];

  constructor(jail: Jail, start: Pinned, options: HostWalkOptions) {
    const { access, exhausted } = options;
    this.#jail = jail;
    this.#options = options;
    this.#sizes = options.sizes;
    this.#versions = options.versions === true;
    this.#ruleHeads = (options.rules?.names ?? []).map((name) => name.split("/", 1)[0] ?? "");
    this.#taker = new FileTaker(jail, { scope: access.scope, exhausted });
    this.#descent = new Descent(jail.handles, start);
  }

  /** No generator for an entry that needs no waiting: that would take longer than the rest. */
  *run(): Io<void> {
    const { access, content, visit: visitOne, visitDenied, missed } = this.#options;
    yield* this.#begin(false, yield* this.#names());
    let steps = 0;
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      // Reading a file takes as long as many entries.
      if (content !== undefined || ++steps % STEPS_BETWEEN === 0) yield* access.scope.breathe();
      const name = frame.names[frame.next++];
      if (name === undefined) {
        if (!this.#leaveNow()) yield* this.#leave();
        continue;
      }
      const isDenied =
        frame.isDenied || (isDeniedNow(this.#below, name, access.policy) ?? (yield* this.#isDenied(name)));
      const visit = isDenied ? visitDenied : visitOne;
      const entry = visit && (this.#entryNow(name) ?? (this.#needsStat(name) ? yield* this.#examine(name) : undefined));
      if (visit === undefined) continue;
      // Vanished, or of an unknown type: left out.
      if (entry === undefined) {
        missed?.(this.#below, name.name);
        continue;
      }
      const visited = visit(entry);
      const step = isPending(visited) ? ((yield visited) as WalkStep) : visited;
      if (step === "stop") return;
      if (step === "enter" && entry.type === "directory") {
        if (!this.#enterNow(name, isDenied)) yield* this.#enterAt(name, isDenied);
        // To read its names takes as long as many entries.
        steps = STEPS_BETWEEN - 1;
      } else if (step === "read" && content !== undefined && entry.type === "file") {
        const taken = yield* this.#taker.take(this.#descent.directory, name, content.maxBytes);
        if (taken === undefined) continue;
        const passed = content.take(entry, taken);
        if ((isPending(passed) ? ((yield passed) as "on" | "stop") : passed) === "stop") return;
      }
    }
  }

  close(): void {
    this.#descent.close();
  }

  #isDenied(name: Name): Io<boolean> {
    const entry = { directory: this.#descent.directory, below: this.#below, name };
    return isEntryDenied(this.#jail, entry, this.#options.access.policy);
  }

  /** {@link #enterAt} where nothing has to be waited for. @returns `false`: that one has to do it */
  #enterNow(name: Name, isDenied: boolean): boolean {
    const { sys, handles, foldsCase } = this.#jail;
    const { content, keepsReserved } = this.#options;
    const asParts = !this.#sizes && !this.#versions && content === undefined;
    const child = handles.enterToRead?.(this.#descent.directory, name.raw);
    if (child === undefined) return false;
    let names: readonly Name[] | undefined;
    try {
      names = this.#isOnDevice(child) ? readNamesNow(sys, child, { foldsCase, keepsReserved, asParts }) : undefined;
    } catch (error) {
      if (errnoOf(error) !== undefined) return false;
      throw error;
    } finally {
      if (names === undefined) release(child);
    }
    if (names === undefined) return false;
    if (!isDenied && this.#hasRules(names)) {
      release(child);
      return false;
    }
    this.#descent.push(child, name.raw);
    this.#below.push(name.name);
    this.#frames.push({ isDenied, names, next: 0 });
    if (!isDenied) this.#options.rules?.found(this.#descent.depth, []);
    return true;
  }

  *#enterAt(name: Name, isDenied: boolean): Io<void> {
    const child = yield* this.#unlessUnreadable(this.#enter(name));
    if (child === undefined) return;
    this.#descent.push(child, name.raw);
    this.#below.push(name.name);
    yield* this.#begin(isDenied, (yield* this.#unlessUnreadable(this.#names())) ?? []);
  }

  *#begin(isDenied: boolean, names: readonly Name[]): Io<void> {
    this.#frames.push({ isDenied, names, next: 0 });
    yield* this.#readRules(names, isDenied);
  }

  #leaveNow(): boolean {
    if (this.#frames.length > 1 && !this.#descent.leaveNow()) return false;
    this.#frames.pop();
    this.#below.length = Math.max(0, this.#below.length - 1);
    return true;
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

  *#names(): Io<Name[]> {
    const { sys, foldsCase } = this.#jail;
    const { access, keepsReserved } = this.#options;
    const rules = { foldsCase, keepsReserved, scope: access.scope };
    return yield* sortYielding(yield* readNames(sys, this.#descent.directory, rules), access.scope);
  }

  /** `undefined` for a directory that cannot be read. */
  *#unlessUnreadable<T>(work: Io<T>): Io<T | undefined> {
    try {
      return yield* work;
    } catch (error) {
      if (errnoOf(error) === undefined || this.#options.strict === true) throw error;
      this.#options.unreadable?.();
      if (isExhaustion(error)) this.#options.exhausted?.();
      return undefined;
    }
  }

  #hasRules(names: readonly Name[]): boolean {
    const heads = this.#ruleHeads;
    const isHead = (raw: Name["raw"]) => typeof raw === "string" && raw.startsWith(".") && heads.includes(raw);
    return heads.length > 0 && names.some(({ raw }) => isHead(raw));
  }

  /** Reads the rule files (such as ignore files) of a directory before its entries are visited. */
  *#readRules(names: readonly Name[], isDenied: boolean): Io<void> {
    const { rules, access } = this.#options;
    if (rules === undefined || isDenied) return;
    const contents: (WalkContent | undefined)[] = [];
    const place = { directory: this.#descent.directory, below: this.#below, policy: access.policy };
    for (const wanted of rules.names) {
      const [head = "", ...rest] = wanted.split("/");
      const found = names.find(({ raw }) => raw === head);
      const content = found && (yield* this.#taker.takeRules({ ...place, rest }, found, rules.maxBytes));
      contents.push(Buffer.isBuffer(content) ? Buffer.from(content) : content);
    }
    rules.found(this.#descent.depth, contents);
  }

  /** `undefined`: it must be examined first, or has no known type. */
  #entryNow(name: Name): WalkEntry | undefined {
    if (!this.#needsStat(name)) return this.#describe(name, undefined);
    const stat = this.#jail.sys.native?.calls?.stat(this.#descent.directory.fd, name.raw);
    return stat && this.#describe(name, stat);
  }

  *#examine(name: Name): Io<WalkEntry | undefined> {
    const stat = yield* lookAt(this.#jail.sys, this.#descent.directory, name);
    if (stat === undefined) this.#options.vanished?.();
    return stat === undefined || stat === "unreadable" ? undefined : this.#describe(name, stat);
  }

  #needsStat({ type }: Name): boolean {
    return type === undefined || this.#versions || (this.#sizes && type === "file");
  }

  /** @param stat absent if the type is all that is needed */
  #describe(name: Name, stat: Stat | undefined): WalkEntry {
    const depth = this.#descent.depth + 1;
    const type = stat?.type ?? name.type ?? "other";
    const isMeasured = this.#sizes && type === "file" && stat !== undefined;
    const size = this.#sizes ? 0 : undefined;
    const entry: Writable<WalkEntry> = { name: name.name, isUsual: name.isUsual, type, depth, size };
    if (isMeasured) {
      entry.size = stat.size;
      entry.modified = stat.modifiedMs;
      if (stat.nlink > 1) entry.identity = stat.identity;
    }
    if (!isReachable(name, this.#descent.directory === this.#jail.top)) entry.unreachable = true;
    if (this.#versions && stat !== undefined) {
      entry.version = stat.version;
      entry.changed = stat.changedMs;
      entry.modified = stat.modifiedMs;
      entry.mode = stat.mode & PERMISSION_BITS;
    }
    return entry;
  }

  #isOnDevice({ stat }: Pinned): boolean {
    const { crossDevice, top } = this.#jail;
    return crossDevice || stat.device === top.stat.device;
  }

  /** `undefined` if it is gone, not a directory, or on another device. */
  *#enter(name: Name): Io<Pinned | undefined> {
    const { handles } = this.#jail;
    const { directory } = this.#descent;
    const child = handles.enterToRead?.(directory, name.raw) ?? (yield* handles.enter(directory, name.raw));
    if (typeof child === "string") {
      this.#options.missed?.(this.#below, name.name);
      if (child === "missing") this.#options.vanished?.();
      return undefined;
    }
    if (this.#isOnDevice(child)) return child;
    release(child);
    this.#options.unreadable?.();
    return undefined;
  }
}
