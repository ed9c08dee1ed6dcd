import { storeDamaged } from "../../store-error.js";
import { byWriter, type RootMemory } from "./root-memory.js";
import type { LoadedRoot, RootReader } from "./root-reader.js";
import type { WriterId } from "./writer-id.js";

export interface OwnerRoots {
  /** Those that make up the state of an owner, by the id of their writer. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
  load(owner: string): Promise<LoadedRoot[]>;
  /** As `load`, and those whose content is in another one for good. */
  all(owner: string): Promise<LoadedRoot[]>;
  /** What `load` would tell, of those that are remembered. */
  known(owner: string): LoadedRoot[] | undefined;
  /** Tells of a root that this process has put. */
  put(owner: string, root: LoadedRoot): void;
  forget(owner: string, writer: string): void;
}

export interface OwnerRootsOptions {
  readonly reader: RootReader;
  readonly memory: RootMemory;
  readonly writer: WriterId;
}

export const MAX_TRIES = 4;

/** Roots of which each process has one, all of them together being the state of their owner. */
export function createOwnerRoots({ reader, memory, writer }: OwnerRootsOptions): OwnerRoots {
  const load = async (owner: string): Promise<LoadedRoot[]> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const listed = await reader.list(owner);
      const known = new Map(memory.all(owner)?.map((root) => [root.record.writer, root]));
      const wanted = listed.filter(({ name }) => name !== writer.current() || !known.has(name));
      const found = await reader.readAll(owner, wanted, (name) => known.get(name));
      // The content of one is in another one by now.
      if (found === undefined) continue;
      // Nobody else writes our own: what we know of it is newer than what was read.
      const own = memory.one(owner, writer.current());
      const all = byWriter(
        own === undefined ? found : [...found.filter(({ record }) => record.writer !== own.record.writer), own],
      );
      memory.remember(owner, all);
      return all;
    }
    throw storeDamaged("a root or its manifest is missing");
  };
  return { load, all: load, known: memory.all, put: memory.put, forget: memory.forget };
}
