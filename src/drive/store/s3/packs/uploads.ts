// Uploads of packs and their tracking until a root lists them.

import { describeError } from "../../../../core/errors/describe-error.js";
import type { Log } from "../../../../core/ports/log.js";
import { findInFooter } from "../../embedded/pack-format.js";
import { branchHashes } from "../../mark.js";
import { createSlots } from "../client/parallel.js";
import type { S3Client } from "../client/s3-client.js";
import type { Views } from "../roots/views.js";
import type { BuiltPack } from "./builder.js";
import { mayHold, type PackInfo } from "./manifest.js";
import { type PackSource, packKeyOf } from "./source.js";

/** Packs of one batch, uploaded or in progress. */
export interface UploadGroup {
  /** Resolves when the upload has started, which waits for a free slot. */
  begin(pack: BuiltPack): Promise<void>;
  /** Waits for all started uploads. @throws the failure of any of them, on every call */
  settled(): Promise<void>;
  /** The uploaded pack of this group that has a cell. */
  packWith(hash: Uint8Array): PackInfo | undefined;
  touch(): void;
  /** Packs of other batches that the cells refer to, including all other packs of those batches. */
  neededBy(cells: Iterable<Uint8Array>): readonly PackInfo[];
  /** Called when a root lists the packs. */
  end(): void;
}

/** Uploads in progress, and uploaded packs that no root lists yet. */
export interface Uploads {
  group(): UploadGroup;
  /** Uploads one pack and waits for it. */
  one(pack: BuiltPack): Promise<PackInfo>;
  has(packId: string): boolean;
  /** Start of the oldest upload that no root lists, in ms; the current time if there is none. */
  oldestStart(): number;
  /** Resolves when all uploads have ended, successfully or not; never rejects. */
  idle(): Promise<void>;
}

/** A group unused for this long counts as abandoned. */
const DROPPED_AFTER_MS = 3_600_000;
const UPLOADS_AT_ONCE = 4;

interface Group {
  readonly startedAt: number;
  usedAt: number;
  readonly packs: Map<string, { info: PackInfo; footer: Buffer; release: () => void }>;
}

export interface UploadOptions {
  readonly client: S3Client;
  readonly source: PackSource;
  readonly views: Views;
  readonly now: () => number;
  readonly log: Log;
}

export function createUploads({ client, source, views, now, log }: UploadOptions): Uploads {
  const takeSlot = createSlots(UPLOADS_AT_ONCE);
  const groups = new Set<Group>();
  const running = new Set<Promise<void>>();

  const put = async ({ info, bytes, footer }: BuiltPack): Promise<void> => {
    await client.put(packKeyOf(info.id), bytes);
    source.keepFooter(info.id, footer);
  };
  const drop = (group: Group): void => {
    groups.delete(group);
    for (const { release } of group.packs.values()) release();
    group.packs.clear();
  };
  const dropStale = (): void => {
    for (const group of groups) if (group.usedAt + DROPPED_AFTER_MS < now()) drop(group);
  };
  const neededBy = (cells: Iterable<Uint8Array>, own: Group): PackInfo[] => {
    const others = [...groups].filter((group) => group !== own && group.packs.size > 0);
    if (others.length === 0) return [];
    const needed = new Set<Group>();
    for (const cell of cells) {
      for (const hash of refsOf(cell)) {
        for (const group of others) if (!needed.has(group) && packWith(hash, group) !== undefined) needed.add(group);
      }
    }
    return [...needed].flatMap(({ packs }) => Array.from(packs.values(), ({ info }) => info));
  };
  const groupOf = (): UploadGroup => {
    dropStale();
    const group: Group = { startedAt: now(), usedAt: now(), packs: new Map() };
    const failures: unknown[] = [];
    const own: Promise<void>[] = [];
    const upload = async (pack: BuiltPack): Promise<void> => {
      try {
        await put(pack);
        const release = views.add({ packs: [pack.info], carried: new Map() });
        group.packs.set(pack.info.id, { info: pack.info, footer: pack.footer, release });
      } catch (error) {
        failures.push(error);
        log.warn({ event: "drive.upload", error: describeError(error) }, "An upload to the drive store failed");
      }
    };
    return {
      touch() {
        group.usedAt = now();
        groups.add(group);
      },
      async begin(pack) {
        groups.add(group);
        const end = await takeSlot();
        const putting = upload(pack).finally(() => {
          end();
          running.delete(putting);
        });
        own.push(putting);
        running.add(putting);
        if (failures.length > 0) throw failures[0];
      },
      neededBy: (cells) => neededBy(cells, group),
      end: () => drop(group),
      async settled() {
        await Promise.all(own);
        if (failures.length > 0) throw failures[0];
      },
      packWith: (hash) => packWith(hash, group),
    };
  };
  return {
    group: groupOf,
    async one(pack) {
      const end = await takeSlot();
      try {
        await put(pack);
        return pack.info;
      } finally {
        end();
      }
    },
    has: (packId) => [...groups].some(({ packs }) => packs.has(packId)),
    oldestStart() {
      dropStale();
      return Math.min(now(), ...Array.from(groups, ({ startedAt }) => startedAt));
    },
    async idle() {
      await Promise.all(running);
    },
  };
}

function packWith(hash: Uint8Array, { packs }: Group): PackInfo | undefined {
  for (const { info, footer } of packs.values())
    if (mayHold(info.filter, hash) && findInFooter(footer, hash) !== undefined) return info;
  return undefined;
}

/** Empty if it is not a cell. */
function refsOf(cell: Uint8Array): Uint8Array[] {
  try {
    return branchHashes(cell);
  } catch {
    return [];
  }
}
