// Roots of owners, as this process knows them.

import type { LoadedRoot, RootReader } from "./root-reader.js";
import type { Views } from "./views.js";

/** Each owner has one root, which all processes swap. */
export interface OwnerRoots {
  /** The current root; `undefined` if there is none. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
  load(owner: string): Promise<LoadedRoot | undefined>;
  /** The result of `load` as far as it is cached. */
  known(owner: string): LoadedRoot | undefined;
  /** Records a root that this process has put. */
  put(owner: string, root: LoadedRoot): void;
}

/** How often a root is read again because this process knows another one in the meantime. */
const MAX_TRIES = 4;
/** Maximum owners cached without active readers. */
const MAX_OWNERS = 2048;
const MAX_FILTER_BYTES = 128 << 20;

interface Known {
  readonly root: LoadedRoot;
  /** Ends what the views know of its cells. */
  readonly release: () => void;
  readonly bytes: number;
}

export function createOwnerRoots(reader: RootReader, views: Views): OwnerRoots {
  /** Least recently used first. */
  const owners = new Map<string, Known>();
  let bytes = 0;

  const forget = (owner: string): void => {
    const known = owners.get(owner);
    if (known === undefined) return;
    owners.delete(owner);
    known.release();
    bytes -= known.bytes;
  };
  const put = (owner: string, root: LoadedRoot): void => {
    const same = owners.get(owner);
    if (same?.root === root) {
      views.touch(root);
      owners.delete(owner);
      owners.set(owner, same);
      return;
    }
    // Added before the one it replaces is released: they share most of their packs.
    const release = views.add(root);
    forget(owner);
    owners.set(owner, { root, release, bytes: bytesOf(root) });
    bytes += bytesOf(root);
    for (const oldest of owners.keys()) {
      if (oldest === owner || (owners.size <= MAX_OWNERS && bytes <= MAX_FILTER_BYTES)) break;
      forget(oldest);
    }
  };
  const known = (owner: string): LoadedRoot | undefined => owners.get(owner)?.root;
  return {
    known,
    put,
    async load(owner) {
      for (let tries = 0; ; tries += 1) {
        const before = known(owner);
        const root = before === undefined ? await reader.first(owner) : await reader.again(owner, before);
        // This process has put or read another one, which may be newer. An older one costs a conflict at most.
        if (known(owner) !== before && tries < MAX_TRIES) continue;
        if (root !== undefined) put(owner, root);
        return root;
      }
    },
  };
}

function bytesOf({ packs, object }: LoadedRoot): number {
  let bytes = object.bytes.length;
  for (const { filter } of packs) bytes += filter.length;
  return bytes;
}
