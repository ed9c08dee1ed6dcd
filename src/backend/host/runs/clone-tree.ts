// Clones a tree, as a scan has seen it, into an empty directory: by sharing blocks (reflink), else by copying.

import type { CallScope } from "../../../core/call/scope.js";
import type { Io } from "../../../core/io.js";
import { below, CREATE, type Pinned, READ, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { closeNow, quietly, succeeds } from "../../../jail/sys.js";
import { setTimeOfOpen } from "../../../jail/times.js";
import { Descent } from "../../../jail/walk/descent.js";
import { copyBytes } from "../open.js";
import { isIn, nameOf, parentOf, type Scan, type SeenEntry } from "./scan.js";

const BREATH_STEPS = 64;
const ALL_BITS = 0o7777;
/** Mode bits of copies: no set-user-id bits, since our copy of another user's file would run as us. */
const SAFE_BITS = 0o777;
const OWN_ALL = 0o700;

export interface CloneParts {
  readonly jail: Jail;
  readonly scope: CallScope;
  readonly scan: Scan;
  readonly source: Pinned;
  /** The directory to fill. */
  readonly top: Pinned;
  /** Whether files may be copied where their blocks cannot be shared. */
  readonly mayCopy: boolean;
}

/** @returns paths that are not in the clone; `too large`: files would have to be copied @throws ABORTED, TIMEOUT */
export function* cloneTree(parts: CloneParts): Io<ReadonlySet<string> | "too large"> {
  const clone = new Clone(parts);
  try {
    return (yield* clone.run()) ? clone.missing : "too large";
  } finally {
    clone.close();
  }
}

/** Clones the entries of a scan in its order: each directory stands before what is in it. */
class Clone {
  /** Paths that changed meanwhile, or are neither files, links nor directories. */
  readonly missing = new Set<string>();
  readonly #parts: CloneParts;
  readonly #source: Descent;
  readonly #target: Descent;
  /** Paths of the directories from the top to the current one. */
  readonly #branch = [""];
  #sharesBlocks: boolean;

  constructor(parts: CloneParts) {
    const { handles, top } = parts.jail;
    [this.#parts, this.#sharesBlocks] = [parts, top.fd >= 0];
    this.#source = new Descent(handles, parts.source);
    this.#target = new Descent(handles, parts.top);
  }

  *run(): Io<boolean> {
    const { scan, scope } = this.#parts;
    let steps = 0;
    for (const [path, seen] of scan.entries) {
      if (++steps % BREATH_STEPS === 0) yield* scope.breathe();
      if (!(yield* this.#arrive(parentOf(path)))) this.missing.add(path);
      else if (!(yield* this.#cloneOne(path, seen))) return false;
    }
    return true;
  }

  close(): void {
    this.#source.close();
    this.#target.close();
  }

  /** Goes up to a directory. @returns `false`: it is not in the clone */
  *#arrive(parent: string): Io<boolean> {
    while (this.#branch.length > 1 && !isIn(parent, this.#branch.at(-1) ?? "")) {
      const left = Math.max(yield* this.#source.leave(), yield* this.#target.leave());
      // A directory was moved away: what is below it cannot be reached in its order any more.
      if (left > 1) this.#branch.length = 0;
      else this.#branch.pop();
    }
    return this.#branch.at(-1) === parent;
  }

  /** @returns `false`: it would have to be copied */
  *#cloneOne(path: string, seen: SeenEntry): Io<boolean> {
    const result = yield* quietly(this.#attempt(path, seen));
    if (result === "too large") return false;
    if (result !== "cloned") this.missing.add(path);
    return true;
  }

  *#attempt(path: string, seen: SeenEntry): Io<"cloned" | "changed" | "too large"> {
    const { jail } = this.#parts;
    const name = nameOf(path);
    const target = below(this.#target.directory, name);
    if (seen.kind === "directory") return yield* this.#enter(path);
    const object = yield* jail.handles.pin(this.#source.directory, name);
    if (object === undefined) return "changed";
    try {
      if (object.stat.version !== seen.version) return "changed";
      if (seen.kind === "link") return yield* this.#cloneLink(name, target);
      return seen.kind === "file" ? yield* this.#cloneFile(object, target) : "changed";
    } finally {
      release(object);
    }
  }

  *#enter(path: string): Io<"cloned" | "changed"> {
    const { jail, scan } = this.#parts;
    const name = nameOf(path);
    const from = yield* jail.handles.enter(this.#source.directory, name);
    if (typeof from === "string") return "changed";
    let to: Pinned | string = "missing";
    try {
      yield* jail.sys.mkdir(below(this.#target.directory, name), OWN_ALL);
      to = yield* jail.handles.enter(this.#target.directory, name);
    } finally {
      if (typeof to === "string") release(from);
    }
    if (typeof to === "string") return "changed";
    yield* quietly(jail.sys.chown(to.path, from.stat.uid, from.stat.gid));
    this.#source.push(from, name);
    this.#target.push(to, name);
    this.#branch.push(path);
    return scan.isWhole(path) ? "cloned" : "changed";
  }

  *#cloneLink(name: string, target: string): Io<"cloned" | "changed"> {
    const { sys } = this.#parts.jail;
    yield* sys.symlink(yield* sys.readlink(below(this.#source.directory, name)), target);
    return "cloned";
  }

  *#cloneFile(object: Pinned, target: string): Io<"cloned" | "changed" | "too large"> {
    const { jail } = this.#parts;
    const { sys } = jail;
    const from = yield* jail.handles.reopen(object, READ);
    try {
      const to = yield* sys.open(target, CREATE, 0o600);
      try {
        if (object.stat.size > 0 && !(yield* this.#fill(from, to))) return "too large";
        const isOwner = yield* succeeds(sys.fchown(to, object.stat.uid, object.stat.gid));
        yield* sys.fchmod(to, object.stat.mode & (isOwner ? ALL_BITS : SAFE_BITS));
        yield* setTimeOfOpen(sys, to, object.stat.modifiedMs);
      } finally {
        closeNow(to);
      }
      if (object.stat.version === (yield* sys.fstat(from)).version) return "cloned";
      yield* quietly(sys.unlink(target));
      return "changed";
    } finally {
      closeNow(from);
    }
  }

  *#fill(from: number, to: number): Io<boolean> {
    const { jail, scope } = this.#parts;
    const { sys } = jail;
    this.#sharesBlocks &&= yield* succeeds(sys.clone(from, to));
    if (this.#sharesBlocks) return true;
    if (!this.#parts.mayCopy) return false;
    yield* sys.ftruncate(to, 0);
    yield* copyBytes(sys, { from, to }, () => scope.breathe());
    return true;
  }
}
