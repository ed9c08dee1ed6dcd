import type { RelPath } from "../../core/call/path.js";
import type { Io } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import { renew } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { quietly } from "../../jail/sys.js";
import type { Walk } from "../../jail/walk/walk.js";
import { arrive } from "./arrive.js";
import type { Reached } from "./target.js";

/** How a call gets to where it works: a change also needs the directories on the way. */
export interface Way {
  readonly followLast: boolean;
  readonly onlyTarget: boolean;
}

/** A walk that has arrived somewhere; the real path has been authorised. */
export interface Arrival {
  /** Where it walked: whatever else the call does, it does there. */
  readonly jail: Jail;
  /** Whoever asked for it closes it. */
  readonly walk: Walk;
  readonly found: Reached;
}

/**
 * The jail of a root over time. A directory that is renamed stays the root. One that was deleted is replaced by what
 * stands at its real path, once {@link Jail.again} accepts that; until then calls find nothing.
 */
export class HostRoot {
  #jail: Jail;
  readonly #onReplaced: (jail: Jail) => void;
  /** Jails of deleted directories, on which calls may still be under way. */
  readonly #old = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  /** @param onReplaced told the new jail before any call works in it */
  constructor(jail: Jail, onReplaced: (jail: Jail) => void) {
    this.#jail = jail;
    this.#onReplaced = onReplaced;
  }

  get jail(): Jail {
    return this.#jail;
  }

  /**
   * Walks to the path and authorises where it really leads.
   * @param jail of a call that has arrived somewhere already: both have to be in the same directory
   */
  *enter(path: RelPath, access: Access, way: Way, jail?: Jail): Io<Arrival> {
    for (;;) {
      const entered = jail ?? this.#jail;
      const { place, scope, links, rules } = access;
      const walk = entered.walk(path, { place, scope, links, rules, ...way });
      let isArrived = false;
      try {
        const found = yield* arrive(walk, path, access);
        // A deleted directory holds nothing, so only these two can show that it is one.
        if (found.state === "missing" && walk.names.length === 0) yield* renew(entered.sys, entered.top);
        const isDeleted = entered.top.stat.nlink === 0 && jail === undefined;
        isArrived = !isDeleted || (yield* this.#replace(entered)) === entered;
        if (isArrived) return { jail: entered, walk, found };
      } finally {
        if (!isArrived) walk.close();
      }
    }
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#jail.close(), ...this.#old]).then(() => {});
    return this.#closing;
  }

  /** @returns the jail of what is the root now: `deleted` itself where nothing can be taken for it */
  *#replace(deleted: Jail): Io<Jail> {
    // Asked in the thread pool where the file system may answer late; what follows is done once, after a restart too.
    if ((yield* quietly(deleted.sys.lstat(deleted.realPath))) === undefined) return deleted;
    if (this.#jail !== deleted || this.#closing !== undefined) return this.#jail;
    const jail = deleted.again();
    if (jail === undefined) return deleted;
    this.#jail = jail;
    this.#onReplaced(jail);
    const ended = deleted.close().finally(() => this.#old.delete(ended));
    this.#old.add(ended);
    return jail;
  }
}
