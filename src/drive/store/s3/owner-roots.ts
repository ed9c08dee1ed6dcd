import { createHash } from "node:crypto";
import type { RootRecord } from "../cell-store.js";
import { storeDamaged } from "../store-error.js";
import type { LocalCache } from "./local-cache.js";
import { MAX_MANIFEST_BYTES, manifestId, type PackInfo, parseManifest } from "./manifest.js";
import { inParallel } from "./parallel.js";
import { MAX_ROOT_OBJECT_BYTES, parseRootObject, type RootObject } from "./root-object.js";
import type { Fetched, S3Client } from "./s3-client.js";
import type { View, Views } from "./views.js";
import { WRITER_ID, type WriterId } from "./writer-id.js";

/** A root object that has been read, and where its cells are. */
export interface LoadedRoot extends View {
  readonly record: RootRecord;
  readonly etag: string;
  readonly object: RootObject;
  /** Of one that this process has put: the entity tags of the owner's roots whose cells it has, by their writers. */
  readonly includes?: ReadonlyMap<string, string> | undefined;
}

export const rootKey = (owner: string, writer: string): string => `roots/${owner}/${writer}`;
export const manifestKey = (id: string): string => `manifests/${id}`;

/** Of one owner; as many processes have written within an hour, at most. */
const MAX_WRITERS = 4096;
const READS_AT_ONCE = 8;
const MAX_TRIES = 4;
/** What is remembered of owners that nobody reads. */
const MAX_OWNERS = 2048;
const MAX_FILTER_BYTES = 128 << 20;

interface Known {
  readonly roots: Map<string, LoadedRoot>;
  readonly releases: Map<string, () => void>;
}

export interface OwnerRoots {
  /** All roots of an owner, by the id of their writer. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
  load(owner: string): Promise<LoadedRoot[]>;
  /** Those that are remembered. */
  known(owner: string): LoadedRoot[] | undefined;
  /** Tells of a root that this process has put. */
  put(owner: string, root: LoadedRoot): void;
  forget(owner: string, writer: string): void;
}

export interface OwnerRootsOptions {
  readonly client: S3Client;
  readonly cache: LocalCache;
  readonly views: Views;
  readonly writer: WriterId;
}

/** The same for the same bytes, so that a root which only moved its cells is still the one that was expected. */
const versionOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function loadedRoot(writer: string, etag: string, object: RootObject, packs: readonly PackInfo[]): LoadedRoot {
  const record = { writer, version: versionOf(object.bytes), bytes: object.bytes };
  return { record, etag, object, packs, carried: object.carried };
}

export const byWriter = (roots: Iterable<LoadedRoot>): LoadedRoot[] =>
  [...roots].sort((one, other) => (one.record.writer < other.record.writer ? -1 : 1));

export function createOwnerRoots({ client, cache, views, writer }: OwnerRootsOptions): OwnerRoots {
  /** The one that was used last is at the end. */
  const owners = new Map<string, Known>();
  const weights = new Map<string, number>();
  let weight = 0;

  const packsOf = async (id: string): Promise<PackInfo[] | undefined> => {
    const near = cache.named("manifest", id);
    if (near !== undefined && manifestId(near) === id) return parseManifest(near);
    const found = await client.get(manifestKey(id), MAX_MANIFEST_BYTES);
    if (found === undefined) return undefined;
    if (manifestId(found.bytes) !== id) throw storeDamaged("a manifest is not what was stored");
    cache.keepNamed("manifest", id, found.bytes);
    return parseManifest(found.bytes);
  };
  /** @returns `undefined` when it was removed or replaced meanwhile */
  const read = async (owner: string, name: string): Promise<LoadedRoot | undefined> => {
    const found: Fetched | undefined = await client.get(rootKey(owner, name), MAX_ROOT_OBJECT_BYTES);
    if (found === undefined) return undefined;
    const object = parseRootObject(found.bytes);
    const packs = await packsOf(object.manifest);
    return packs === undefined ? undefined : loadedRoot(name, found.etag, object, packs);
  };
  const list = async (owner: string): Promise<{ name: string; etag: string }[]> => {
    const listed: { name: string; etag: string }[] = [];
    const folder = `roots/${owner}/`;
    for await (const { key, etag } of client.objects(folder)) {
      const name = key.slice(folder.length);
      if (!WRITER_ID.test(name)) continue;
      listed.push({ name, etag });
      if (listed.length > MAX_WRITERS) throw storeDamaged("an owner has too many roots");
    }
    return listed;
  };
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
  const load = async (owner: string): Promise<LoadedRoot[]> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const listed = await list(owner);
      const before = owners.get(owner);
      const wanted = listed.filter(({ name }) => name !== writer.current() || before?.roots.has(name) !== true);
      const roots = await inParallel(wanted, READS_AT_ONCE, async ({ name, etag }) => {
        const kept = before?.roots.get(name);
        return kept !== undefined && kept.etag === etag ? kept : read(owner, name);
      });
      const found = roots.filter((root) => root !== undefined);
      // Its content is in another one by now.
      if (found.length < roots.length) continue;
      // Nobody else writes our own: what we know of it is newer than what was read.
      const own = owners.get(owner)?.roots.get(writer.current());
      const all = byWriter(
        own === undefined ? found : [...found.filter(({ record }) => record.writer !== own.record.writer), own],
      );
      remember(owner, all);
      return all;
    }
    throw storeDamaged("a root or its manifest is missing");
  };
  return {
    load,
    known(owner) {
      const known = owners.get(owner);
      return known === undefined ? undefined : byWriter(known.roots.values());
    },
    put(owner, root) {
      const others = [...(owners.get(owner)?.roots.values() ?? [])];
      remember(owner, [...others.filter(({ record }) => record.writer !== root.record.writer), root]);
    },
    forget(owner, name) {
      const known = owners.get(owner);
      if (known !== undefined) drop(known, name);
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
