// Reads root objects with their manifests.

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RootRecord } from "../../cell-store.js";
import { storeDamaged, storeUnavailable } from "../../store-error.js";
import { inParallel } from "../client/parallel.js";
import type { Fetched, S3Client } from "../client/s3-client.js";
import type { LocalCache } from "../packs/local-cache.js";
import { MAX_MANIFEST_BYTES, manifestId, type PackInfo, parseManifest } from "../packs/manifest.js";
import { MAX_ROOT_OBJECT_BYTES, parseRootObject, type RootObject } from "./root-object.js";
import type { View } from "./views.js";
import { WRITER_ID } from "./writer-id.js";

/** A root object that has been read, with the location of its cells. */
export interface LoadedRoot extends View {
  readonly record: RootRecord;
  readonly etag: string;
  readonly object: RootObject;
  /** Of a root put by this process: the entity tags of the owner's roots that it includes, by writer. */
  readonly includes?: ReadonlyMap<string, string> | undefined;
}

export const rootKey = (owner: string, writer: string): string => `roots/${owner}/${writer}`;
export const manifestKey = (id: string): string => `manifests/${id}`;

/** Maximum writers of one owner; bounds the number of processes that write within an hour. */
const MAX_WRITERS = 4096;
const READS_AT_ONCE = 8;

export interface ListedRoot {
  readonly name: string;
  readonly etag: string;
  /** In milliseconds since 1970. */
  readonly modifiedAt: number;
}

export interface RootReader {
  /** @returns `undefined` if it was removed or replaced in the meantime */
  read(owner: string, name: string): Promise<LoadedRoot | undefined>;
  /** Like `read`, but returns `same` if the entity tag of `known` has not changed. */
  changed(owner: string, known: LoadedRoot): Promise<LoadedRoot | "same" | undefined>;
  list(owner: string): Promise<ListedRoot[]>;
  /**
   * Reads the listed roots whose entity tags are not cached. Starts over if one was removed or replaced in the meantime.
   * @param list those that are wanted
   * @throws STORE_DAMAGED if one that stays as it is has no content or manifest, STORE_UNAVAILABLE if they do not stay for long enough
   */
  readAll(
    owner: string,
    list: () => Promise<readonly ListedRoot[]>,
    known: (name: string) => LoadedRoot | undefined,
  ): Promise<LoadedRoot[]>;
}

/** Whether an entity tag is the MD5 of the content. */
export const isDigest = ({ bytes, etag }: { readonly bytes: Uint8Array; readonly etag: string }): boolean =>
  etag.replaceAll('"', "") === createHash("md5").update(bytes).digest("hex");

/** Depends only on content, so that a root whose cells were merely relocated still counts as the expected one. */
function versionOf({ bytes, log }: RootObject): string {
  const hash = createHash("sha256").update(bytes);
  return (log === undefined ? hash : hash.update(log)).digest("hex");
}

export function loadedRoot(writer: string, etag: string, object: RootObject, packs: readonly PackInfo[]): LoadedRoot {
  const { bytes, log } = object;
  const record = { writer, version: versionOf(object), bytes, ...(log === undefined ? {} : { log }) };
  return { record, etag, object, packs, carried: object.carried };
}

export interface RootReaderParts {
  readonly client: S3Client;
  readonly cache: LocalCache;
  /** Whether entity tags are MD5 digests of the content. */
  readonly hasDigests: boolean;
}

/** Maximum times that roots are listed because others have removed or replaced some. */
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
  const opened = async (name: string, found: Fetched | undefined): Promise<LoadedRoot | undefined> => {
    if (found === undefined) return undefined;
    const object = parseRootObject(found.bytes);
    const packs = await packsOf(object.manifest);
    return packs === undefined ? undefined : loadedRoot(name, found.etag, object, packs);
  };
  const read = async (owner: string, name: string): Promise<LoadedRoot | undefined> =>
    opened(name, await whole(() => client.get(rootKey(owner, name), MAX_ROOT_OBJECT_BYTES)));

  return {
    read,
    async changed(owner, { record: { writer }, etag }) {
      const found = await whole(() => client.getChanged(rootKey(owner, writer), etag, MAX_ROOT_OBJECT_BYTES));
      return found === "same" ? found : opened(writer, found);
    },
    async list(owner) {
      const listed: ListedRoot[] = [];
      const folder = `roots/${owner}/`;
      for await (const { key, etag, modifiedAt } of client.objects(folder)) {
        const name = key.slice(folder.length);
        if (!WRITER_ID.test(name)) continue;
        listed.push({ name, etag, modifiedAt });
        if (listed.length > MAX_WRITERS) throw storeDamaged("an owner has too many roots");
      }
      return listed;
    },
    async readAll(owner, list, known) {
      let missed: readonly string[] = [];
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const listed = await list();
        const roots = await inParallel(listed, READS_AT_ONCE, async ({ name, etag }) => {
          const kept = known(name);
          return kept !== undefined && kept.etag === etag ? kept : read(owner, name);
        });
        const found = roots.filter((root) => root !== undefined);
        if (found.length === roots.length) return found;
        const missing = listed.filter((_, at) => roots[at] === undefined).map(({ name, etag }) => `${name} ${etag}`);
        if (missing.some((one) => missed.includes(one))) throw storeDamaged("a root or its manifest is missing");
        missed = missing;
      }
      throw storeUnavailable("the roots of an owner change faster than they can be read: try again");
    },
  };
}
