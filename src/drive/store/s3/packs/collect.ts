// Garbage collection of the object store, in two phases: unneeded objects are recorded, and deleted after a grace
// period.

import type { CollectOptions, CollectReport, RootRecord } from "../../cell-store.js";
import { openScratch, removeLeftovers } from "../../embedded/collect.js";
import { footerEntries } from "../../embedded/pack-format.js";
import { type LoadForMark, logsOf, type Marks, markTrees, textOfHash } from "../../mark.js";
import { isIncluded, PROBES, rootsIn } from "../bucket-mode.js";
import type { ListedObject } from "../client/list-page.js";
import type { S3Client } from "../client/s3-client.js";
import { rootKey } from "../roots/root-object.js";
import type { LoadedRoot } from "../roots/root-reader.js";
import { type Candidates, readCandidates } from "./candidates.js";
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
    const pinned = parts.pinned();
    count(
      needed,
      await markTrees(
        pinned.map(({ bytes }) => bytes),
        scratch.marks,
        parts.load,
      ),
    );
    await markTrees(logsOf(pinned), scratch.marks, parts.load);
    const counted: Counted = { removed: 0, removedBytes: 0, packs: 0 };
    const { live, missing } = needed;
    if (missing > 0) return { live, missing, ...counted };
    const pass: Pass = { parts, needed, objects, marks: scratch.marks, counted };
    if (dryRun) await countGarbage(pass);
    else {
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
  count(needed, await markTrees([root.record.bytes], marks, parts.load));
  // A log that has lost a part loses no drive.
  await markTrees(logsOf([root.record]), marks, parts.load);
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
async function remove({ key, modifiedAt, size }: ListedObject, pass: Pass): Promise<boolean> {
  const { client } = pass.parts;
  const [, id] = PACK_KEY.exec(key) ?? [];
  // The same content may have been put again in the meantime.
  for await (const again of client.objects(key)) if (again.modifiedAt !== modifiedAt) return false;
  if (id !== undefined) {
    const garbage = await garbageOf(id, size, pass);
    pass.counted.packs += 1;
    pass.counted.removed += garbage.length;
    pass.counted.removedBytes += garbage.reduce((bytes, { length }) => bytes + length, 0);
    pass.parts.cache.forget(
      "cell",
      garbage.map(({ hash }) => hash),
    );
    pass.parts.cache.forget("footer", [Buffer.from(id, "hex")]);
  }
  await client.remove(key);
  return true;
}

async function garbageOf(
  id: string,
  size: number,
  { parts, marks }: Pass,
): Promise<{ hash: Buffer; length: number }[]> {
  const footer = await parts.source.footerOf(id, size);
  return footer === undefined ? [] : [...footerEntries(footer)].filter(({ hash }) => !marks.has(textOfHash(hash)));
}

async function countGarbage(pass: Pass): Promise<void> {
  for (const { key, size } of pass.objects.values()) {
    pass.parts.checkGoesOn();
    const [, id] = PACK_KEY.exec(key) ?? [];
    const garbage = id === undefined ? [] : await garbageOf(id, size, pass);
    pass.counted.removed += garbage.length;
    pass.counted.removedBytes += garbage.reduce((bytes, { length }) => bytes + length, 0);
  }
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
