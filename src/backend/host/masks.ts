// Computes which entries of a mounted directory are hidden from commands, or read-only for them.

import { deniedByPolicy, protectedByPolicy, tooManyDenied } from "../../core/errors/texts.js";
import type { Io } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import type { Mask } from "../../core/ports/sandbox.js";
import { examine, forEachPiece, type Name, nameOf } from "../../jail/directory.js";
import { type Pinned, release } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { errnoOf } from "../../jail/sys.js";
import { Descent } from "../../jail/walk/descent.js";
import { isReservedName, RESERVED_NAME } from "../../path/grammar.js";
import { detectEntryFolding, isDeniedNow, isEntryDenied } from "./entry-patterns.js";
import {
  depthsAbove,
  type FoundMasks,
  type Frame,
  keyOf,
  type MaskOptions,
  pathOf,
  type Target,
  targetOf,
} from "./runs/mask-targets.js";

/** Maximum denied entries to hide from commands, and maximum protected ones to mount read-only one by one. */
export const MAX_ENTRIES = 1_000;
/**
 * Maximum directories pinned under their names. Beyond that, the directory that contains the denied entry is hidden as
 * a whole.
 */
const MAX_PINS = 128;
/** Maximum reserved names beside the staging directory, which occur only where that could not be used. */
const MAX_RESERVED = 256;
const MAX_MASKS = 5_000;
/**
 * Maximum bytes of a path below the mount that can be mounted over; the system allows 4,096 for the whole path. Anything
 * deeper is not searched.
 */
const MAX_PATH = 3_072;
/** Names that need nothing, between two looks at the clock. */
const BREATH_NAMES = 64;

type MaskAccess = Pick<Access, "place" | "scope" | "policy" | "protection">;

/**
 * Entries that commands in a directory must not see (denied by the root, or reserved) or must not change (protected by
 * the root, if the mount is writable). Links are left alone, since their targets are judged by their own names. An
 * entry that is too costly to mask is hidden together with its directory, so that files left behind by one command
 * cannot prevent the next from running, unless they are denied themselves.
 *
 * @throws DENIED_BY_POLICY if more than 1,000 entries are denied, or the directory cannot be searched
 */
export function* findMasks(jail: Jail, start: Pinned, access: MaskAccess, options: MaskOptions): Io<FoundMasks> {
  const search = new MaskSearch(jail, start, access, options);
  try {
    return yield* search.run();
  } finally {
    search.close();
  }
}

class MaskSearch {
  readonly #jail: Jail;
  readonly #access: MaskAccess;
  readonly #scan: MaskOptions["scan"];
  /** Directories from the start to the current one, indexed by depth. */
  readonly #frames: Frame[];
  /** Stands in the directory of the last frame. */
  readonly #descent: Descent;
  readonly #hidden: Mask[] = [];
  readonly #shields: Mask[] = [];
  readonly #pins = new Map<string, Mask>();
  #denied = 0;
  #protected = 0;
  #reserved = 0;

  constructor(jail: Jail, start: Pinned, access: MaskAccess, { isWritable, scan }: MaskOptions) {
    this.#jail = jail;
    this.#access = access;
    this.#scan = scan;
    this.#frames = [{ below: [], path: Buffer.alloc(0), names: [], next: 0, isReadOnly: !isWritable }];
    this.#descent = new Descent(jail.handles, start);
  }

  *run(): Io<FoundMasks> {
    const { scope } = this.#access;
    yield* this.#read();
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      if (this.#skipPlain(frame)) yield* scope.breathe();
      const name = frame.names[frame.next++];
      if (name === undefined) this.#frames.pop();
      else {
        yield* scope.breathe();
        yield* this.#look(frame, name);
      }
      yield* this.#leave();
    }
    return this.#found();
  }

  close(): void {
    this.#descent.close();
  }

  /** Skips names that are neither hidden, protected nor to be searched, as most are. @returns whether it ended early */
  #skipPlain(frame: Frame): boolean {
    const { policy, protection } = this.#access;
    const { below, names } = frame;
    const end = frame.next + BREATH_NAMES;
    for (; frame.next < end; frame.next++) {
      const name = names[frame.next];
      if (name?.type === undefined || name.type === "directory") return false;
      if (isReservedName(name.name, this.#jail.foldsCase) || isDeniedNow(below, name, policy) !== false) return false;
      if (!frame.isReadOnly && isDeniedNow(below, name, protection) !== false) return false;
    }
    return true;
  }

  /** Returns to the directory of the last frame. One that others moved away meanwhile is hidden, as it was not searched. */
  *#leave(): Io<void> {
    while (this.#frames.length > 0 && this.#descent.depth !== this.#frames.length - 1) {
      if (this.#descent.depth >= this.#frames.length) yield* this.#descent.leave();
      else {
        const lost = this.#descent.depth + 1;
        this.#mask({ ...this.#directoryAt(lost, "directory"), anchors: depthsAbove(lost) });
      }
    }
  }

  /** Visible entries first: mounted later, they would uncover what was hidden below them. */
  #found(): FoundMasks {
    const { place } = this.#access;
    if (this.#denied > MAX_ENTRIES) throw tooManyDenied(place, this.#denied, MAX_ENTRIES);
    // A directory that is read-only as a whole needs only the masks of hidden entries.
    if (this.#protected > MAX_ENTRIES) return { masks: this.#hidden, tooManyProtected: this.#protected };
    // If one directory has two masks, the read-only one must come last.
    const visible = [...this.#pins.values(), ...this.#shields].sort((a, b) => a.path.length - b.path.length);
    return { masks: [...visible, ...this.#hidden] };
  }

  /**
   * Mounts an entry read-only if it is protected.
   * @returns whether it is read-only
   */
  #protect(frame: Frame, name: Name): boolean {
    const { protection } = this.#access;
    if (frame.isReadOnly || protection?.denies(frame.below, name.name) !== true) return frame.isReadOnly;
    // Above the limit, entries are only counted.
    if (++this.#protected > MAX_ENTRIES) return true;
    const target = targetOf(frame, name, "readonly");
    this.#mask({ ...target, anchors: protection.anchors?.(frame.below, name.name) ?? depthsAbove(target.depth) });
    return true;
  }

  /** Reads the current directory. An unreadable one may contain denied entries, so it is hidden. */
  *#read(): Io<void> {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    const names: Name[] = [];
    const { scope } = this.#access;
    try {
      yield* forEachPiece(this.#jail.sys, this.#descent.directory, function* (entries) {
        yield* scope.breathe();
        for (const entry of entries) names.push(nameOf(entry));
      });
      this.#frames.splice(-1, 1, { ...frame, names });
    } catch (error) {
      if (errnoOf(error) === undefined || errnoOf(error) === "ENOENT") throw error;
      this.#keepOut(this.#frames.length - 1);
    }
  }

  *#look(frame: Frame, name: Name): Io<void> {
    const { directory: parent } = this.#descent;
    const isTop = parent === this.#jail.top;
    const entry = { directory: parent, below: frame.below, name };
    const isDenied = yield* isEntryDenied(this.#jail, entry, this.#access.policy);
    const stat = name.type === undefined ? yield* examine(this.#jail.sys, parent, name) : undefined;
    const type = name.type ?? stat?.type;
    if (type === undefined || type === "symlink") return;
    const kind = type === "directory" ? "directory" : "file";
    if (isDenied) this.#deny(frame, name, kind);
    else if (this.#isReserved(name.name, isTop)) this.#mask(targetOf(frame, name, kind));
    else {
      yield* detectEntryFolding(this.#jail, entry, [this.#access.protection]);
      const isReadOnly = this.#protect(frame, name);
      const directory = type === "directory" ? yield* this.#enter(frame, name) : undefined;
      if (directory === undefined) return;
      this.#descent.push(directory, name.raw);
      const below = [...frame.below, name.name];
      this.#frames.push({ isReadOnly, below, path: pathOf(frame, name), names: [], next: 0 });
      yield* this.#read();
    }
  }

  /** Commands can create any number of such names; they contain nothing of this process. */
  #isReserved(name: string, isTop: boolean): boolean {
    const { foldsCase } = this.#jail;
    if (!isReservedName(name, foldsCase)) return false;
    return (isTop && name.toLowerCase() === RESERVED_NAME) || ++this.#reserved <= MAX_RESERVED;
  }

  *#enter(frame: Frame, name: Name): Io<Pinned | undefined> {
    if (this.#scan?.isPlain([...frame.below, name.name].join("/")) === true) return undefined;
    if (frame.path.length > MAX_PATH) {
      const { policy, protection } = this.#access;
      if (policy !== undefined) this.#mask(targetOf(frame, name, "directory"));
      else if (protection !== undefined && !frame.isReadOnly) this.#mask(targetOf(frame, name, "readonly"));
      return undefined;
    }
    const child = yield* this.#tryEnter(frame, name);
    if (child === undefined || typeof child === "string") return undefined;
    if (this.#jail.crossDevice || child.stat.device === this.#jail.top.stat.device) return child;
    release(child);
    this.#mask(targetOf(frame, name, "directory"));
    return undefined;
  }

  /** The owner of a directory can make its contents inaccessible; the directory is then hidden itself. */
  *#tryEnter(frame: Frame, name: Name) {
    try {
      return yield* this.#jail.handles.enter(this.#descent.directory, name.raw);
    } catch (error) {
      if (errnoOf(error) !== "EACCES") throw error;
      this.#keepOut(frame.below.length);
      return undefined;
    }
  }

  #deny(frame: Frame, name: Name, kind: "file" | "directory"): void {
    // Above the limit, entries are only counted.
    if (++this.#denied > MAX_ENTRIES) return;
    const target = targetOf(frame, name, kind);
    const anchors = this.#access.policy?.anchors?.(frame.below, name.name) ?? depthsAbove(target.depth);
    this.#mask({ ...target, anchors });
  }

  /**
   * Hides a directory that cannot be searched, since it may contain denied or protected entries.
   * @param depth of the directory
   */
  #keepOut(depth: number): void {
    const { policy, protection } = this.#access;
    const isReadOnly = this.#frames[depth]?.isReadOnly === true || protection === undefined;
    if (policy === undefined && isReadOnly) return;
    const kind = policy === undefined ? "readonly" : "directory";
    if (depth === 0) throw this.#tooManyError(kind);
    this.#mask({ ...this.#directoryAt(depth, kind), anchors: depthsAbove(depth) });
  }

  #directoryAt(depth: number, kind: Target["kind"]): Omit<Target, "anchors"> {
    return { depth, path: this.#frames[depth]?.path ?? Buffer.alloc(0), kind };
  }

  /** Masks an entry, or a directory that contains it, which then need not be searched further. */
  #mask(target: Target): void {
    const kind = target.kind === "readonly" ? "readonly" : "directory";
    const depth = this.#depthToHide(target);
    if (depth !== undefined) {
      if (depth === 0) throw this.#tooManyError(kind);
      this.#mask({ ...this.#directoryAt(depth, kind), anchors: target.anchors.filter((at) => at < depth) });
      return;
    }
    if (this.#hidden.length + this.#shields.length >= MAX_MASKS) throw this.#tooManyError(kind);
    for (const at of target.anchors) {
      const { path } = this.#directoryAt(at, "pin");
      this.#pins.set(keyOf(path), { path, kind: "pin" });
    }
    if (target.kind === "readonly") {
      this.#shields.push({ path: target.path, kind });
      for (const frame of this.#frames.slice(target.depth)) frame.isReadOnly = true;
      return;
    }
    this.#hidden.push({ path: target.path, kind: target.kind });
    this.#frames.length = Math.min(this.#frames.length, target.depth);
  }

  /** Depth of the directory to hide instead of an entry whose path is too long or needs too many pins. */
  #depthToHide({ path, depth, anchors }: Target): number | undefined {
    if (path.length > MAX_PATH) {
      return this.#frames.findLastIndex((frame, at) => at < depth && frame.path.length <= MAX_PATH);
    }
    const fresh = anchors.filter((at) => !this.#pins.has(keyOf(this.#directoryAt(at, "pin").path)));
    return this.#pins.size + fresh.length > MAX_PINS && fresh.length > 0 ? Math.min(...fresh) : undefined;
  }

  #tooManyError(kind: Target["kind"]): Error {
    const refuse = kind === "readonly" ? protectedByPolicy : deniedByPolicy;
    return refuse(this.#access.place, "run a command in");
  }
}
