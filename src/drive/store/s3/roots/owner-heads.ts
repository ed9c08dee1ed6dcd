// Roots of owners in buckets with conditional puts.

import { storeDamaged } from "../../store-error.js";
import type { OwnerRoots } from "./owner-roots.js";
import { byWriter, type RootMemory } from "./root-memory.js";
import { mergedId } from "./root-object.js";
import type { LoadedRoot, RootReader } from "./root-reader.js";
import { HEAD_ID, isHead } from "./writer-id.js";

/** Roots of owners that have one shared head, possibly beside older roots of single writers. */
export interface OwnerHeads extends OwnerRoots {
  /** The current head. */
  head(owner: string): Promise<LoadedRoot | undefined>;
  /**
   * Times (ms since 1970) at which roots of single writers were found beside a head, or put without being in it yet.
   */
  late(owner: string): Promise<readonly number[]>;
}

export interface OwnerHeadsOptions {
  readonly reader: RootReader;
  readonly memory: RootMemory;
}

/** How often a head is read again because this process knows another one in the meantime. */
const MAX_TRIES = 4;

/** Roots with content that the head does not include. */
const effectiveRoots = (roots: readonly LoadedRoot[]): LoadedRoot[] => {
  const merged = roots.find(isHead)?.object.head?.merged;
  return roots.filter((root) => isHead(root) || merged?.has(mergedId(root.record)) !== true);
};

export function createOwnerHeads({ reader, memory }: OwnerHeadsOptions): OwnerHeads {
  const all = async (owner: string): Promise<LoadedRoot[]> => {
    for (let tries = 0; ; tries += 1) {
      const before = memory.one(owner, HEAD_ID);
      // Some may be merged and removed in the meantime.
      const found = await reader.readAll(
        owner,
        () => reader.list(owner),
        (name) => memory.one(owner, name),
      );
      // This process has put or read another head, which may be newer. An older one costs a conflict at most.
      if (memory.one(owner, HEAD_ID) !== before && tries < MAX_TRIES) continue;
      const roots = byWriter(found);
      memory.remember(owner, roots);
      return roots;
    }
  };
  const head = async (owner: string): Promise<LoadedRoot | undefined> => {
    for (let tries = 0; ; tries += 1) {
      const before = memory.one(owner, HEAD_ID);
      const found = before === undefined ? await reader.read(owner, HEAD_ID) : await reader.changed(owner, before);
      if (memory.one(owner, HEAD_ID) !== before && tries < MAX_TRIES) continue;
      if (found === "same") {
        if (before !== undefined) memory.put(owner, before);
        return before;
      }
      if (found !== undefined) memory.put(owner, found);
      // A lost head is never replaced by a new one.
      else if (before !== undefined) throw storeDamaged("the root of an owner or its manifest is gone");
      return found;
    }
  };
  return {
    all,
    head,
    async load(owner) {
      const known = memory.all(owner) ?? [];
      // Beside a head without other roots, no process that knows about heads puts a root.
      if (known.length !== 1 || !known.every(isHead)) return effectiveRoots(await all(owner));
      const found = await head(owner);
      return found === undefined ? effectiveRoots(await all(owner)) : [found];
    },
    known(owner) {
      const known = memory.all(owner);
      return known === undefined ? undefined : effectiveRoots(known);
    },
    put: memory.put,
    forget: memory.forget,
    async late(owner) {
      const left = new Map(effectiveRoots(await all(owner)).map((root) => [root.record.writer, root]));
      const first = left.get(HEAD_ID);
      if (first === undefined) return [];
      left.delete(HEAD_ID);
      const listed = left.size === 0 ? [] : await reader.list(owner);
      const waiting = listed.filter(({ name }) => left.has(name)).map(({ modifiedAt }) => modifiedAt);
      const lateAt = first.object.head?.lateAt ?? 0;
      return lateAt === 0 ? waiting : [lateAt, ...waiting];
    },
  };
}
