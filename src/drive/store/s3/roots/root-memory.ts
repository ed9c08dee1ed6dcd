// Cache of roots by owner.

import type { LoadedRoot } from "./root-reader.js";
import type { Views } from "./views.js";

/** Maximum owners cached without active readers. */
const MAX_OWNERS = 2048;
const MAX_FILTER_BYTES = 128 << 20;

/** Caches roots that were read or put; the views locate their cells. */
export interface RootMemory {
  /** Ordered by writer id. */
  all(owner: string): LoadedRoot[] | undefined;
  one(owner: string, writer: string): LoadedRoot | undefined;
  /** Replaces all cached roots of the owner. */
  remember(owner: string, roots: readonly LoadedRoot[]): void;
  /** Adds or replaces the root of one writer. */
  put(owner: string, root: LoadedRoot): void;
  forget(owner: string, writer: string): void;
}

interface Known {
  readonly roots: Map<string, LoadedRoot>;
  readonly releases: Map<string, () => void>;
}

export const byWriter = (roots: Iterable<LoadedRoot>): LoadedRoot[] =>
  [...roots].sort((one, other) => (one.record.writer < other.record.writer ? -1 : 1));

export function createRootMemory(views: Views): RootMemory {
  /** Least recently used first. */
  const owners = new Map<string, Known>();
  const weights = new Map<string, number>();
  let weight = 0;

  const remember = (owner: string, roots: readonly LoadedRoot[]): void => {
    const known = owners.get(owner) ?? { roots: new Map(), releases: new Map() };
    const names = new Set(roots.map(({ record }) => record.writer));
    for (const name of [...known.roots.keys()]) if (!names.has(name)) drop(known, name);
    for (const root of roots) {
      const name = root.record.writer;
      if (known.roots.get(name) === root) {
        views.touch(root);
        continue;
      }
      const release = views.add(root);
      drop(known, name);
      known.roots.set(name, root);
      known.releases.set(name, release);
    }
    owners.delete(owner);
    owners.set(owner, known);
    weigh(owner, filterBytes(known));
    for (const [oldest, other] of owners) {
      if (oldest === owner || (owners.size <= MAX_OWNERS && weight <= MAX_FILTER_BYTES)) break;
      for (const name of [...other.roots.keys()]) drop(other, name);
      owners.delete(oldest);
      weigh(oldest, 0);
    }
  };
  const weigh = (owner: string, bytes: number): void => {
    weight += bytes - (weights.get(owner) ?? 0);
    if (bytes === 0) weights.delete(owner);
    else weights.set(owner, bytes);
  };
  return {
    all(owner) {
      const known = owners.get(owner);
      return known === undefined ? undefined : byWriter(known.roots.values());
    },
    one: (owner, writer) => owners.get(owner)?.roots.get(writer),
    remember,
    put(owner, root) {
      const others = [...(owners.get(owner)?.roots.values() ?? [])];
      remember(owner, [...others.filter(({ record }) => record.writer !== root.record.writer), root]);
    },
    forget(owner, writer) {
      const known = owners.get(owner);
      if (known !== undefined) drop(known, writer);
    },
  };
}

function drop({ roots, releases }: Known, name: string): void {
  releases.get(name)?.();
  releases.delete(name);
  roots.delete(name);
}

function filterBytes({ roots }: Known): number {
  let bytes = 1;
  for (const { packs, object } of roots.values()) {
    bytes += object.bytes.length;
    for (const { filter } of packs) bytes += filter.length;
  }
  return bytes;
}
