// Roots of owners in buckets without conditional puts.

import { byWriter, type RootMemory } from "./root-memory.js";
import type { LoadedRoot, RootReader } from "./root-reader.js";
import type { WriterId } from "./writer-id.js";

export interface OwnerRoots {
  /** The roots that make up the state of an owner, ordered by writer id. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
  load(owner: string): Promise<LoadedRoot[]>;
  /** Like `load`, plus roots that another one includes permanently. */
  all(owner: string): Promise<LoadedRoot[]>;
  /** The result of `load` as far as it is cached. */
  known(owner: string): LoadedRoot[] | undefined;
  /** Records a root that this process has put. */
  put(owner: string, root: LoadedRoot): void;
  forget(owner: string, writer: string): void;
}

export interface OwnerRootsOptions {
  readonly reader: RootReader;
  readonly memory: RootMemory;
  readonly writer: WriterId;
}

/** Roots of which each process has its own; together they are the state of their owner. */
export function createOwnerRoots({ reader, memory, writer }: OwnerRootsOptions): OwnerRoots {
  const load = async (owner: string): Promise<LoadedRoot[]> => {
    const isKnown = (name: string): boolean => memory.one(owner, name) !== undefined;
    const wanted = async () =>
      (await reader.list(owner)).filter(({ name }) => name !== writer.current() || !isKnown(name));
    // The content of a root that is gone is included in another one by now.
    const found = await reader.readAll(owner, wanted, (name) => memory.one(owner, name));
    // Only this process writes its own root, so the cached version is newer than what was read.
    const own = memory.one(owner, writer.current());
    const all = byWriter(
      own === undefined ? found : [...found.filter(({ record }) => record.writer !== own.record.writer), own],
    );
    memory.remember(owner, all);
    return all;
  };
  return { load, all: load, known: memory.all, put: memory.put, forget: memory.forget };
}
