// Write locks (RFC 4918 §6): in memory, by tree and path, binding among WebDAV requests. Of several instances each has a view.

import { randomBytes, randomUUID } from "node:crypto";
import { isBelow } from "../../../../core/call/path.js";
import type { Awaitable } from "../../../../core/io.js";
import type { DeadProperties } from "../properties/dead.js";
import type { Asked, Spot } from "../spot.js";
import type { Markup } from "../xml/write.js";

/** A place, however its URL was written. */
export interface Named {
  /** `dav`: roots; `dlfs`: the caller's own drives by name; `top`: `/`, which has both. */
  readonly space: "dav" | "dlfs" | "top";
  /** Name of the root or drive. Absent: the collection of all of them. */
  readonly root?: string;
  /** Below the root; canonical. */
  readonly segments: readonly string[];
}

export interface LockRequest {
  readonly spot: Spot;
  /** Where the lock was taken; its URL depends on who asks. */
  readonly place: Named;
  readonly isCollection: boolean;
  /** Covers everything below. */
  readonly isDeep: boolean;
  readonly isExclusive: boolean;
  /** DID of the caller. */
  readonly caller: string;
  /** Content of `DAV:owner`, as the client gave it. */
  readonly owner: Markup;
  /** The text in it. */
  readonly ownerText: string;
  readonly seconds: number;
}

export interface Lock extends Readonly<LockRequest> {
  readonly token: string;
  /** Names it to the operator; whoever knows it cannot use the lock. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Milliseconds since the epoch. */
  expires: number;
  seconds: number;
  /** Hash of the locked file as its holder knows it; absent where it is not known. */
  hash: string | undefined;
}

export interface LocksOptions {
  readonly most: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A lock that was taken, or one that stands in its way; `undefined`: there are too many locks. */
export type Taken = { readonly lock: Lock } | { readonly conflict: Lock } | undefined;

export class Locks {
  static readonly MOST_PER_CALLER = 1000;
  readonly #byToken = new Map<string, Lock>();
  /** By tree and path. */
  readonly #bySpot = new Map<string, Set<Lock>>();
  readonly #most: number;
  readonly #now: () => number;

  constructor({ most, now }: LocksOptions) {
    this.#most = most;
    this.#now = now;
  }

  /** Looks at what others did. @param asked absent: at all locks @returns the properties asked for, where instances share them */
  look(_asked?: Asked): Awaitable<DeadProperties | undefined> {
    return undefined;
  }

  /** To be awaited before the answer to a request. */
  settle(): Awaitable<void> {}

  /** Locks that cover a place: those on it, and deep ones above it. */
  covering({ tree, segments }: Spot): readonly Lock[] {
    if (this.#byToken.size === 0) return [];
    const found: Lock[] = [];
    for (let count = 0; count <= segments.length; count++) {
      const isHere = count === segments.length;
      for (const lock of this.on({ tree, segments: segments.slice(0, count) })) {
        if (isHere || lock.isDeep) found.push(lock);
      }
    }
    return found;
  }

  /** Locks taken on a place itself. */
  on(spot: Spot): Lock[] {
    return [...(this.#bySpot.get(keyOf(spot)) ?? [])].filter((lock) => this.#isAlive(lock));
  }

  /** Locks taken somewhere below a place. */
  below({ tree, segments }: Spot): Lock[] {
    return this.all().filter(({ spot }) => spot.tree === tree && isBelow(spot.segments, segments));
  }

  /** All in force, the oldest first. */
  all(): Lock[] {
    return [...this.#byToken.values()].filter((lock) => this.#isAlive(lock));
  }

  /** Ends a lock, whoever holds it. @returns `false`: there is none with this id */
  drop(id: string): boolean {
    const found = this.all().find((lock) => lock.id === id);
    if (found !== undefined) this.remove(found);
    return found !== undefined;
  }

  find(token: string): Lock | undefined {
    const lock = this.#byToken.get(token);
    return lock !== undefined && this.#isAlive(lock) ? lock : undefined;
  }

  /** Locks that stand in the way of another. */
  conflicting({ spot, isDeep, isExclusive }: Pick<LockRequest, "spot" | "isDeep" | "isExclusive">): Lock[] {
    const near = [...this.covering(spot), ...(isDeep ? this.below(spot) : [])];
    return near.filter((lock) => isExclusive || lock.isExclusive);
  }

  take(request: LockRequest): Awaitable<Taken> {
    const [conflict] = this.conflicting(request);
    if (conflict !== undefined) return { conflict };
    const { caller, seconds } = request;
    const all = this.all();
    const own = all.filter((lock) => lock.caller === caller);
    if (all.length >= this.#most || own.length >= Locks.MOST_PER_CALLER) return undefined;
    const now = this.#now();
    const lock: Lock = {
      ...request,
      token: `opaquelocktoken:${randomUUID()}`,
      id: randomBytes(8).toString("hex"),
      since: now,
      expires: now + seconds * 1000,
      hash: undefined,
    };
    this.put(lock);
    return { lock };
  }

  /** Takes a lock as it is now. */
  protected put(lock: Lock): void {
    const known = this.#byToken.get(lock.token);
    if (known !== undefined) {
      Object.assign(known, lock);
      return;
    }
    this.#byToken.set(lock.token, lock);
    const key = keyOf(lock.spot);
    const here = this.#bySpot.get(key);
    if (here === undefined) this.#bySpot.set(key, new Set([lock]));
    else here.add(lock);
  }

  /** @param hash of the locked file as the holder knows it now */
  setHash(lock: Lock, hash: string | undefined): void {
    lock.hash = hash;
  }

  refresh(lock: Lock, seconds: number): void {
    lock.seconds = seconds;
    lock.expires = this.#now() + seconds * 1000;
  }

  /** Seconds until a lock ends. */
  secondsLeft({ expires }: Lock): number {
    return Math.max(0, Math.ceil((expires - this.#now()) / 1000));
  }

  /** Ends a lock. */
  remove(lock: Lock): void {
    this.forget(lock);
  }

  protected forget(lock: Lock): void {
    if (!this.#byToken.delete(lock.token)) return;
    const key = keyOf(lock.spot);
    const here = this.#bySpot.get(key);
    here?.delete(lock);
    if (here?.size === 0) this.#bySpot.delete(key);
  }

  #isAlive(lock: Lock): boolean {
    if (lock.expires > this.#now()) return true;
    this.forget(lock);
    return false;
  }
}

const keyOf = ({ tree, segments }: Spot): string => `${tree}\0${segments.join("/")}`;
