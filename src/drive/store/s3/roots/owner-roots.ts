// Roots of owners: reads root objects with their manifests, and remembers them.

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RootRecord } from "../../cell-store.js";
import { storeDamaged, storeUnavailable } from "../../checks.js";
import { isIncluded, rootsIn, singleRootsFound } from "../bucket-mode.js";
import type { Fetched, S3Client } from "../client/s3-client.js";
import type { LocalCache } from "../packs/local-cache.js";
import { MAX_MANIFEST_BYTES, manifestId, type PackInfo, parseManifest } from "../packs/manifest.js";
import { MAX_ROOT_OBJECT_BYTES, parseRootObject, type RootObject, rootKey, versionOf } from "./root-object.js";
import type { View, Views } from "./views.js";

/** A root object that has been read, with the location of its cells. */
export interface LoadedRoot extends View {
  readonly record: RootRecord;
  readonly etag: string;
  readonly object: RootObject;
}

export interface OwnerRootsParts {
  readonly client: S3Client;
  readonly cache: LocalCache;
  readonly views: Views;
  /** Whether entity tags are MD5 digests of the content. */
  readonly hasDigests: boolean;
}

/** How often a root is read again because this process knows another one in the meantime. */
const MAX_LOADS = 4;
/** Maximum times that a root is read again because it was replaced before its manifest could be read. */
const MAX_TRIES = 32;
const MAX_READS = 5;
const READ_AGAIN_MS = 20;
/** Maximum owners cached without active readers. */
const MAX_OWNERS = 2048;
const MAX_FILTER_BYTES = 128 << 20;

interface Known {
  readonly root: LoadedRoot;
  /** Ends what the views know of its cells. */
  readonly release: () => void;
  readonly bytes: number;
}

export type OwnerRoots = ReturnType<typeof createOwnerRoots>;

/** Each owner has one root, which all processes swap. */
export function createOwnerRoots(parts: OwnerRootsParts) {
  const { client, views } = parts;
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
  /** Records a root that this process has read or put. */
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
  /** The result of `load` as far as it is cached. */
  const known = (owner: string): LoadedRoot | undefined => owners.get(owner)?.root;
  /** The root of an owner, of whom nothing is known yet. */
  const first = async (owner: string): Promise<LoadedRoot | undefined> => {
    let isThere = false;
    const single: string[] = [];
    for await (const { name, isShared } of rootsIn(client, `roots/${owner}/`)) {
      if (isShared) isThere = true;
      else single.push(name);
    }
    const root = isThere ? await readRoot(owner, undefined, parts) : undefined;
    for (const name of single)
      if (!(await isIncluded(client, { owner, name, root: root?.object }))) throw singleRootsFound();
    return root;
  };
  return {
    known,
    put,
    /**
     * The current root; `undefined` if there is none.
     * @throws STORE_DAMAGED, STORE_UNAVAILABLE also where an earlier version left roots that it does not include
     */
    async load(owner: string): Promise<LoadedRoot | undefined> {
      for (let loads = 0; ; loads += 1) {
        const before = known(owner);
        const root = before === undefined ? await first(owner) : await readRoot(owner, before, parts);
        // This process has put or read another one, which may be newer. An older one costs a conflict at most.
        if (known(owner) !== before && loads < MAX_LOADS) continue;
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

/** @param known returned if it has not been replaced @throws STORE_DAMAGED also if it is gone */
async function readRoot(
  owner: string,
  known: LoadedRoot | undefined,
  { client, cache, hasDigests }: OwnerRootsParts,
): Promise<LoadedRoot> {
  const get = () => client.getChanged(rootKey(owner), known?.etag, MAX_ROOT_OBJECT_BYTES);
  let missed: string | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = hasDigests ? await whole(get) : await get();
    if (found === "same" && known !== undefined) return known;
    // A root is replaced, but never removed.
    if (found === undefined || found === "same") throw storeDamaged("the root of an owner is gone");
    const object = parseRootObject(found.bytes);
    const packs = await packsOf(object.manifest, client, cache);
    if (packs !== undefined) return loadedRoot(found.etag, object, packs);
    if (found.etag === missed) throw storeDamaged("the manifest of a root is missing");
    missed = found.etag;
  }
  throw storeUnavailable("the root of an owner changes faster than it can be read: try again");
}

export function loadedRoot(etag: string, object: RootObject, packs: readonly PackInfo[]): LoadedRoot {
  const { bytes, log } = object;
  return { record: { version: versionOf(object), bytes, log }, etag, object, packs, carried: object.carried };
}

export const manifestKey = (id: string): string => `manifests/${id}`;

async function packsOf(id: string, client: S3Client, cache: LocalCache): Promise<PackInfo[] | undefined> {
  const near = cache.named("manifest", id);
  if (near !== undefined && manifestId(near) === id) return parseManifest(near);
  const found = await client.get(manifestKey(id), MAX_MANIFEST_BYTES);
  if (found === undefined) return undefined;
  if (manifestId(found.bytes) !== id) throw storeDamaged("a manifest is not what was stored");
  cache.keepNamed("manifest", id, found.bytes);
  return parseManifest(found.bytes);
}

/** Some servers return the content of one root with the entity tag of its successor while that is being put. */
async function whole(get: () => Promise<Fetched | "same" | undefined>): Promise<Fetched | "same" | undefined> {
  for (let reads = 1; ; reads += 1) {
    const found = await get();
    if (found === undefined || found === "same" || isDigest(found)) return found;
    if (reads >= MAX_READS) throw storeUnavailable("the object storage gives an object the entity tag of another");
    await delay(READ_AGAIN_MS * reads);
  }
}

/** Whether an entity tag is the MD5 of the content. */
export const isDigest = ({ bytes, etag }: Fetched): boolean =>
  etag.replaceAll('"', "") === createHash("md5").update(bytes).digest("hex");
