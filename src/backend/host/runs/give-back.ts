// Gives entries back the names under which commands saw them, in place of denied ones.

import { randomBytes } from "node:crypto";
import { identityInVersion } from "../../../core/identity.js";
import type { Io } from "../../../core/io.js";
import type { Access } from "../../../core/ports/access.js";
import { below, entryPath, identity, type Pinned, release } from "../../../jail/handles.js";
import { renameNoReplace } from "../../../jail/staging/rename.js";
import type { Stat } from "../../../jail/stat.js";
import { quietly } from "../../../jail/sys.js";
import { isEntryDenied } from "../entry-patterns.js";
import { placeKey, type RunDirectory, type Scan } from "./scan.js";

/** Where a command saw an entry: names below the root; `nameless`: at or below a name that no path can have. */
export type SeenAt = readonly string[] | "nameless";

/** An entry, by its directory, which keeps its identity when it is renamed. */
export interface PlacedEntry {
  readonly stat: Stat;
  readonly directory: Pinned;
  readonly name: string;
}

/** The content of a mount before a command. */
export class Look {
  readonly #scan: Scan;
  readonly #real: readonly string[];
  #places: Map<string, string> | undefined;

  /** @param scan with denied and unreachable entries @param real names of the mount below the root */
  constructor(scan: Scan, real: readonly string[]) {
    [this.#scan, this.#real] = [scan, real];
  }

  /** Milliseconds since the epoch. */
  get began(): number {
    return this.#scan.began;
  }

  /** @returns `denied`: it had this name before; `undefined`: it was not seen, or it is not certain that it was */
  find({ stat, directory, name }: PlacedEntry): SeenAt | "denied" | undefined {
    const { denied, unreachable, isComplete, began } = this.#scan;
    if (denied.has(placeKey(identity(directory), name))) return "denied";
    // Another file may have got the inode number since.
    if (stat.bornMs === undefined || stat.bornMs >= began) return undefined;
    // This name may be one of those that were not looked at.
    if (!isComplete && !stat.isDirectory() && stat.nlink > 1) return undefined;
    if (unreachable.has(stat.identity)) return "nameless";
    this.#places ??= this.#collectPlaces();
    const path = this.#places.get(stat.identity);
    return path === undefined ? undefined : [...this.#real, ...path.split("/")];
  }

  #collectPlaces(): Map<string, string> {
    const places = new Map<string, string>();
    for (const [path, { version }] of this.#scan.entries) {
      const one = identityInVersion(version);
      if (!places.has(one)) places.set(one, path);
    }
    return places;
  }
}

/** A directory in which entries get names back that are not denied, never over something else. */
export interface ReturnGround extends RunDirectory {
  readonly access: Pick<Access, "policy">;
}

/** An entry with a denied name. */
export interface DeniedEntry {
  readonly directory: Pinned;
  readonly raw: string | Buffer;
  readonly object: Pinned;
  /** Names, below the mount, of the nearest directory above it that is not denied. */
  readonly above: readonly string[];
}

/**
 * Tries the name that an entry had, then others beside it and above where it is now.
 * @returns its new place, as names below the mount; `undefined`: it stays
 */
export function* giveBack(ground: ReturnGround, entry: DeniedEntry, seen: SeenAt): Io<readonly string[] | undefined> {
  const places = [...(seen === "nameless" ? [] : [seen.slice(ground.real.length, -1)]), entry.above, []];
  const names = namesFor(seen === "nameless" ? undefined : seen.at(-1));
  for (const place of places) {
    const directory = yield* reach(ground, place);
    if (directory === undefined) continue;
    try {
      for (const name of names) {
        if (yield* rename(ground, entry, { directory, below: place, name })) return [...place, name];
      }
    } finally {
      if (directory !== ground.directory) release(directory);
    }
  }
  return undefined;
}

/** Enters a directory of the mount by names that are not denied. @returns the mount itself for no names */
export function* reach({ jail, directory, access }: ReturnGround, names: readonly string[]): Io<Pinned | undefined> {
  let at = directory;
  for (const [index, name] of names.entries()) {
    const found = { directory: at, below: names.slice(0, index), name: plainName(name) };
    const isDenied = yield* isEntryDenied(jail, found, access.policy);
    const next = isDenied ? undefined : yield* quietly(jail.handles.enter(at, name));
    if (at !== directory) release(at);
    if (next === undefined || typeof next === "string") return undefined;
    at = next;
    if (at.stat.device === jail.top.stat.device) continue;
    release(at);
    return undefined;
  }
  return at;
}

function* rename(
  { jail, access }: ReturnGround,
  { directory: from, raw, object }: DeniedEntry,
  to: NewPlace,
): Io<boolean> {
  if (yield* isEntryDenied(jail, { ...to, name: plainName(to.name) }, access.policy)) return false;
  const ready = { path: entryPath(from, raw), isDirectory: object.stat.isDirectory() };
  const target = below(to.directory, to.name);
  if ((yield* quietly(renameNoReplace(jail.sys, ready, target))) !== true) return false;
  const now = yield* quietly(jail.sys.lstat(target));
  if (now === undefined || now.identity === identity(object)) return true;
  // A program of the host has put another entry under the denied name, which callers may not see.
  if (typeof raw === "string") yield* quietly(renameNoReplace(jail.sys, { ...ready, path: target }, below(from, raw)));
  return false;
}

interface NewPlace {
  readonly directory: Pinned;
  readonly below: readonly string[];
  readonly name: string;
}

const plainName = (name: string) => ({ name, raw: name, type: undefined });

/** The name that an entry had, then others, of which the last fits in any directory. */
function namesFor(old = "unnamed"): readonly string[] {
  const mark = randomBytes(8).toString("hex");
  return [old, `${old}-${mark}`, `unnamed-${mark}`];
}
