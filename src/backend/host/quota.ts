// Quota accounting of changes on the host.

import type { Identity } from "../../core/identity.js";
import { type Io, yieldToLoop } from "../../core/io.js";
import { examine, type Name, nameOf } from "../../jail/directory.js";
import type { Pinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import type { Stat } from "../../jail/stat.js";
import { quietly } from "../../jail/sys.js";
import { Descent } from "../../jail/walk/descent.js";
import { isReservedName } from "../../path/grammar.js";
import type { Amount, Held } from "../quota.js";
import type { Change } from "./target.js";

export const NONE: Amount = { bytes: 0, files: 0 };
const NOTHING_HELD: Held = { keep() {}, undo() {} };
const BREATH_STEPS = 256;

/** Quota freed by removing one name: none if the file has other names. */
export const freedBy = (stat: Stat | undefined): Amount =>
  stat?.isFile() === true && stat.nlink === 1 ? { bytes: stat.size, files: 1 } : NONE;

/**
 * Reserves quota for a change, if the root has one.
 * @throws QUOTA_EXCEEDED
 */
export const reserve = ({ rules, access }: Change, added: Amount): Held =>
  rules.usage?.reserve(added, access.place) ?? NOTHING_HELD;

/** Makes a change for which quota is reserved. */
export function* withReservation<T>(held: Held, work: Io<T>): Io<T> {
  try {
    const result = yield* work;
    held.keep();
    return result;
  } finally {
    // No effect on what has been kept.
    held.undo();
  }
}

interface Frame {
  readonly names: readonly Name[];
  next: number;
}

/** Names found of one file with several hard links. */
interface Linked {
  readonly size: number;
  left: number;
}

/**
 * The usage of a tree. A file with several names counts once.
 * @param onlyWhole skip files that also have names outside the tree, since those keep the content
 */
export function* countTree(jail: Jail, top: Pinned, onlyWhole: boolean): Io<Amount> {
  const counted = { bytes: 0, files: 0 };
  const linked = new Map<Identity, Linked>();
  const add = (size: number): void => {
    counted.bytes += size;
    counted.files++;
  };
  const meet = ({ identity, nlink, size }: Stat): void => {
    if (nlink === 1) {
      add(size);
      return;
    }
    const known = linked.get(identity) ?? { size, left: nlink };
    known.left--;
    if (onlyWhole ? known.left === 0 : !linked.has(identity)) add(size);
    linked.set(identity, known);
  };
  const descent = new Descent(jail.handles, top);
  const frames: Frame[] = [{ names: yield* namesIn(jail, top), next: 0 }];
  try {
    let steps = 0;
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      if (++steps % BREATH_STEPS === 0) yield yieldToLoop();
      const name = frame.names[frame.next++];
      if (name === undefined) {
        frames.length -= Math.max(1, yield* descent.leave());
        continue;
      }
      if (name.type === "symlink" || name.type === "other") continue;
      const stat = name.type === "directory" ? undefined : yield* examine(jail.sys, descent.directory, name);
      if (stat?.isFile() === true) meet(stat);
      if (stat !== undefined && !stat.isDirectory()) continue;
      const child = yield* quietly(jail.handles.enter(descent.directory, name.raw));
      if (child === undefined || typeof child === "string") continue;
      descent.push(child, name.raw);
      const isForeign = !jail.crossDevice && child.stat.device !== jail.top.stat.device;
      frames.push({ names: isForeign ? [] : yield* namesIn(jail, child), next: 0 });
    }
    return counted;
  } finally {
    descent.close();
  }
}

/** An unreadable directory counts as empty. */
function* namesIn(jail: Jail, directory: Pinned): Io<Name[]> {
  const entries = (yield* quietly(jail.sys.names(directory))) ?? [];
  return entries.map(nameOf).filter(({ name }) => !isReservedName(name, jail.foldsCase));
}
