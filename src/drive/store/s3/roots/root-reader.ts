// Reads root objects with their manifests.

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RootRecord } from "../../cell-store.js";
import { storeDamaged, storeUnavailable } from "../../checks.js";
import { isIncluded, rootsIn, singleRootsFound } from "../bucket-mode.js";
import type { Fetched, S3Client } from "../client/s3-client.js";
import type { LocalCache } from "../packs/local-cache.js";
import { MAX_MANIFEST_BYTES, manifestId, type PackInfo, parseManifest } from "../packs/manifest.js";
import { MAX_ROOT_OBJECT_BYTES, parseRootObject, type RootObject, rootKey, versionOf } from "./root-object.js";
import type { View } from "./views.js";

/** A root object that has been read, with the location of its cells. */
export interface LoadedRoot extends View {
  readonly record: RootRecord;
  readonly etag: string;
  readonly object: RootObject;
}

export const manifestKey = (id: string): string => `manifests/${id}`;

export interface RootReader {
  /**
   * The root of an owner, of whom nothing is known yet; `undefined` if there is none.
   * @throws STORE_DAMAGED, STORE_UNAVAILABLE also where an earlier version left roots that it does not include
   */
  first(owner: string): Promise<LoadedRoot | undefined>;
  /** @param known returned if it has not been replaced @throws STORE_DAMAGED also if it is gone */
  again(owner: string, known: LoadedRoot): Promise<LoadedRoot>;
}

/** Whether an entity tag is the MD5 of the content. */
export const isDigest = ({ bytes, etag }: { readonly bytes: Uint8Array; readonly etag: string }): boolean =>
  etag.replaceAll('"', "") === createHash("md5").update(bytes).digest("hex");

export function loadedRoot(etag: string, object: RootObject, packs: readonly PackInfo[]): LoadedRoot {
  const { bytes, log } = object;
  return { record: { version: versionOf(object), bytes, log }, etag, object, packs, carried: object.carried };
}

export interface RootReaderParts {
  readonly client: S3Client;
  readonly cache: LocalCache;
  /** Whether entity tags are MD5 digests of the content. */
  readonly hasDigests: boolean;
}

/** Maximum times that a root is read again because it was replaced before its manifest could be read. */
const MAX_TRIES = 32;
const MAX_READS = 5;
const READ_AGAIN_MS = 20;

export function createRootReader({ client, cache, hasDigests }: RootReaderParts): RootReader {
  const packsOf = async (id: string): Promise<PackInfo[] | undefined> => {
    const near = cache.named("manifest", id);
    if (near !== undefined && manifestId(near) === id) return parseManifest(near);
    const found = await client.get(manifestKey(id), MAX_MANIFEST_BYTES);
    if (found === undefined) return undefined;
    if (manifestId(found.bytes) !== id) throw storeDamaged("a manifest is not what was stored");
    cache.keepNamed("manifest", id, found.bytes);
    return parseManifest(found.bytes);
  };
  /** Some servers return the content of one root with the entity tag of its successor while that is being put. */
  const whole = async <T extends Fetched | "same" | undefined>(get: () => Promise<T>): Promise<T> => {
    for (let reads = 1; ; reads += 1) {
      const found = await get();
      const isWhole = found === undefined || found === "same" || !hasDigests || isDigest(found);
      if (isWhole) return found;
      if (reads >= MAX_READS) throw storeUnavailable("the object storage gives an object the entity tag of another");
      await delay(READ_AGAIN_MS * reads);
    }
  };
  const read = async (owner: string, known?: LoadedRoot): Promise<LoadedRoot> => {
    const key = rootKey(owner);
    const get = (): Promise<Fetched | "same" | undefined> =>
      known === undefined
        ? client.get(key, MAX_ROOT_OBJECT_BYTES)
        : client.getChanged(key, known.etag, MAX_ROOT_OBJECT_BYTES);
    let missed: string | undefined;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const found = await whole(get);
      if (found === "same" && known !== undefined) return known;
      // A root is replaced, but never removed.
      if (found === undefined || found === "same") throw storeDamaged("the root of an owner is gone");
      const object = parseRootObject(found.bytes);
      const packs = await packsOf(object.manifest);
      if (packs !== undefined) return loadedRoot(found.etag, object, packs);
      if (found.etag === missed) throw storeDamaged("the manifest of a root is missing");
      missed = found.etag;
    }
    throw storeUnavailable("the root of an owner changes faster than it can be read: try again");
  };
  return {
    async first(owner) {
      let isThere = false;
      const single: string[] = [];
      for await (const { name, isShared } of rootsIn(client, `roots/${owner}/`)) {
        if (isShared) isThere = true;
        else single.push(name);
      }
      const root = isThere ? await read(owner) : undefined;
      for (const name of single)
        if (!(await isIncluded(client, { owner, name, root: root?.object }))) throw singleRootsFound();
      return root;
    },
    again: read,
  };
}
