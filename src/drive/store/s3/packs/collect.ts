// Garbage collection of the object store, in two phases: unneeded objects are recorded, and deleted after a grace
// period.

import { randomBytes } from "node:crypto";
import type { CollectOptions, CollectReport, RootRecord } from "../../cell-store.js";
import { openScratch, removeLeftovers } from "../../embedded/collect.js";
import { footerEntries } from "../../embedded/pack-format.js";
import { type LoadForMark, type Marks, markRoots, textOfHash } from "../../mark.js";
import { isIncluded, PROBES, rootsIn } from "../bucket-mode.js";
import type { ListedObject } from "../client/list-page.js";
import type { S3Client } from "../client/s3-client.js";
import type { LoadedRoot } from "../roots/owner-roots.js";
import { rootKey } from "../roots/root-object.js";
import { type CompactParts, compactOwner } from "./compact.js";
import type { LocalCache } from "./local-cache.js";
import { packKeyOf } from "./source.js";

export interface ObjectCollectParts extends CompactParts {
  readonly client: S3Client;
  readonly cache: LocalCache;
  /** Folder for marks, on a local disk. */
  readonly folder: string;
  readonly load: LoadForMark;
  owners(): AsyncIterable<string>;
  /** Roots pinned by this process's readers. */
  pinned(): readonly RootRecord[];
  /** Whether a reader or an upload of this process needs a pack. */
  isUsed(packId: string): boolean;
  readonly now: () => number;
}

/** Packs and cells that the roots of all owners need. */
interface Needed {
  /** Number of owners whose roots list a pack, by pack id. */
  readonly packs: Map<string, number>;
  readonly manifests: Map<string, number>;
  /** Versions of the marked roots, with their owners. */
  readonly roots: Set<string>;
  live: number;
  missing: number;
}

interface Counted {
  removed: number;
  removedBytes: number;
  packs: number;
}

/** How long a start may take until its probes count as left behind. */
const START_MS = 3_600_000;
/** Servers report times in whole seconds. */
const CLOCK_STEP_MS = 1000;
const PACK_KEY = /^packs\/([0-9a-f]{64})\.pack$/;
const MANIFEST_KEY = /^manifests\/([0-9a-f]{64})$/;

/**
 * Finds objects that no root needs and records them. Objects recorded at least a grace period ago and still not needed
 * are deleted. While a cell is missing, no object is deleted.
 */
export async function collectObjects(parts: ObjectCollectParts, options: CollectOptions): Promise<CollectReport> {
  const { client, uploads, now, folder } = parts;
  const { graceMs, dryRun = false } = options;
  await removeLeftovers(folder);
  const scratch = openScratch(folder);
  try {
    const before = Math.min(now() - graceMs, uploads.oldestStart());
    // Listed before the roots are read, so that nothing put for a newer root appears in the listing.
    const objects = await listOld(client, before);
    const needed: Needed = { packs: new Map(), manifests: new Map(), roots: new Set(), live: 0, missing: 0 };
    for await (const owner of parts.owners()) await markOwner(owner, { parts, marks: scratch.marks, needed });
    count(needed, await markRoots(parts.pinned(), scratch.marks, parts.load));
    const counted: Counted = { removed: 0, removedBytes: 0, packs: 0 };
    const { live, missing } = needed;
    if (missing > 0) return { live, missing, ...counted };
    const pass: Pass = { parts, needed, objects, marks: scratch.marks, counted };
    if (dryRun) {
      for (const object of objects.values()) {
        parts.checkGoesOn();
        await countGarbage(object, pass);
      }
    } else {
      await removeIncluded(parts);
      const candidates = await readCandidates(client, now);
      const gone = await sweep(pass, candidates, now() - graceMs);
      await compactAll(pass, candidates, gone);
      await removeProbes(client, before - START_MS);
    }
    return { live, missing, ...counted };
  } finally {
    await scratch.close();
  }
}

interface Pass {
  readonly parts: ObjectCollectParts;
  readonly needed: Needed;
  /** Packs and manifests older than the grace period, by key. */
  readonly objects: ReadonlyMap<string, ListedObject>;
  readonly marks: Marks;
  readonly counted: Counted;
}

async function listOld(client: S3Client, before: number): Promise<Map<string, ListedObject>> {
  const found = new Map<string, ListedObject>();
  for (const folder of ["packs/", "manifests/"]) {
    for await (const object of client.objects(folder)) {
      if (object.modifiedAt + CLOCK_STEP_MS <= before) found.set(object.key, object);
    }
  }
  return found;
}

const count = (needed: Needed, { live, missing }: { live: number; missing: number }): void => {
  needed.live += live;
  needed.missing += missing;
};

async function markOwner(
  owner: string,
  { parts, marks, needed }: { parts: ObjectCollectParts; marks: Marks; needed: Needed },
): Promise<void> {
  parts.checkGoesOn();
  const root = await parts.roots.load(owner);
  if (root === undefined) return;
  needed.roots.add(`${owner} ${root.record.version}`);
  countListed(root, needed, 1);
  count(needed, await markRoots([root.record], marks, parts.load));
}

function countListed({ object, packs }: LoadedRoot, needed: Needed, times: 1 | -1): void {
  const add = (all: Map<string, number>, key: string): void => void all.set(key, (all.get(key) ?? 0) + times);
  add(needed.manifests, object.manifest);
  for (const { id } of packs) add(needed.packs, id);
}

const isNeeded = (key: string, { needed, parts }: Pass): boolean => {
  const [, pack] = PACK_KEY.exec(key) ?? [];
  if (pack !== undefined) return (needed.packs.get(pack) ?? 0) > 0 || parts.isUsed(pack);
  const [, manifest] = MANIFEST_KEY.exec(key) ?? [];
  return manifest === undefined || (needed.manifests.get(manifest) ?? 0) > 0;
};

/** Deletes what has been recorded for long enough and was not needed since. @returns its keys */
async function sweep(pass: Pass, candidates: Candidates, onRecordBefore: number): Promise<Set<string>> {
  const gone = new Set<string>();
  for (const object of pass.objects.values()) {
    pass.parts.checkGoesOn();
    const since = candidates.since.get(object.key);
    if (since === undefined || since > onRecordBefore || isNeeded(object.key, pass)) continue;
    if (await remove(object, pass)) gone.add(object.key);
  }
  return gone;
}

/** @returns whether the object was deleted */
async function remove(object: ListedObject, pass: Pass): Promise<boolean> {
  const { key, modifiedAt } = object;
  const { client, cache } = pass.parts;
  // The same content may have been put again in the meantime.
  for await (const again of client.objects(key)) if (again.modifiedAt !== modifiedAt) return false;
  const [, id] = PACK_KEY.exec(key) ?? [];
  if (id !== undefined) {
    pass.counted.packs += 1;
    cache.forget("cell", await countGarbage(object, pass));
    cache.forget("footer", [Buffer.from(id, "hex")]);
  }
  await client.remove(key);
  return true;
}

/** @returns hashes of the cells in a pack that no root needs */
async function countGarbage({ key, size }: ListedObject, { parts, marks, counted }: Pass): Promise<Buffer[]> {
  const [, id] = PACK_KEY.exec(key) ?? [];
  const footer = id === undefined ? undefined : await parts.source.footerOf(id, size);
  const garbage: Buffer[] = [];
  for (const { hash, length } of footer === undefined ? [] : footerEntries(footer)) {
    if (marks.has(textOfHash(hash))) continue;
    garbage.push(hash);
    counted.removed += 1;
    counted.removedBytes += length;
  }
  return garbage;
}

/** Records what is not needed, or no longer needed after packs were copied. @param gone deleted keys */
async function compactAll(pass: Pass, candidates: Candidates, gone: ReadonlySet<string>): Promise<void> {
  const { parts, marks, objects, needed } = pass;
  // An object that is needed again or was put again starts a new grace period.
  const stay = new Set([...candidates.since.keys()].filter((key) => objects.has(key) && !isNeeded(key, pass)));
  for await (const owner of parts.owners()) {
    parts.checkGoesOn();
    const before = parts.roots.known(owner);
    await compactOwner(owner, parts, {
      isLive: (text) => marks.has(text),
      mayReplace: ({ id }) => objects.has(packKeyOf(id)),
      isMarked: ({ record }) => needed.roots.has(`${owner} ${record.version}`),
    });
    const after = parts.roots.known(owner);
    if (before === after) continue;
    if (before !== undefined) countListed(before, needed, -1);
    if (after !== undefined) countListed(after, needed, 1);
  }
  const added = [...objects.keys()].filter((key) => !stay.has(key) && !gone.has(key) && !isNeeded(key, pass));
  await candidates.update((key) => stay.has(key) && !gone.has(key), added);
}

/** Roots of single venues that an earlier version included in the owner's root: their packs are not needed any more. */
async function removeIncluded({ client, roots }: ObjectCollectParts): Promise<void> {
  for await (const { owner, name, isShared } of rootsIn(client, "roots/")) {
    if (isShared) continue;
    const root = (await roots.load(owner))?.object;
    if (await isIncluded(client, { owner, name, root })) await client.remove(rootKey(owner, name));
  }
}

async function removeProbes(client: S3Client, before: number): Promise<void> {
  for await (const { key, modifiedAt } of client.objects(PROBES)) if (modifiedAt < before) await client.remove(key);
}

// Record of objects that are candidates for deletion.

/** Objects that nothing needed at a collection, recorded as `gc/<ms>-<random>`. */
interface Candidates {
  /** When each object was first found unneeded, in milliseconds since 1970. */
  readonly since: ReadonlyMap<string, number>;
  /** Keeps only the recorded objects for which `stays` is true, and adds others. */
  update(stays: (key: string) => boolean, added: readonly string[]): Promise<void>;
}

const LIST_NAME = /^gc\/(\d{13})-[0-9a-f]{16}$/;
const MAX_KEYS = 10_000;
const MAX_OBJECT_BYTES = MAX_KEYS * 96;
const MAX_LISTS = 1000;

async function readCandidates(client: S3Client, now: () => number): Promise<Candidates> {
  const lists = new Map<string, readonly string[]>();
  const since = new Map<string, number>();
  for await (const { key: name } of client.objects("gc/")) {
    const at = LIST_NAME.exec(name)?.[1];
    if (at === undefined || lists.size >= MAX_LISTS) continue;
    const found = await client.get(name, MAX_OBJECT_BYTES);
    const keys = (found?.bytes.toString("latin1") ?? "")
      .split("\n")
      .filter((key) => PACK_KEY.test(key) || MANIFEST_KEY.test(key));
    lists.set(name, keys);
    for (const key of keys) since.set(key, Math.min(since.get(key) ?? Number.POSITIVE_INFINITY, Number(at)));
  }
  const put = (name: string, keys: readonly string[]): Promise<void> =>
    client.put(name, Buffer.from(keys.map((key) => `${key}\n`).join("")));
  return {
    since,
    async update(stays, added) {
      for (let at = 0; at < added.length; at += MAX_KEYS) {
        const name = `gc/${String(now()).padStart(13, "0")}-${randomBytes(8).toString("hex")}`;
        await put(name, added.slice(at, at + MAX_KEYS));
      }
      for (const [name, keys] of lists) {
        const left = keys.filter(stays);
        if (left.length === 0) await client.remove(name);
        else if (left.length < keys.length) await put(name, left);
      }
    },
  };
}
