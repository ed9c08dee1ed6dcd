// Uploads of packs and their tracking until a root lists them.

import { describeError } from "../../../../core/errors/describe-error.js";
import type { Log } from "../../../../core/ports/log.js";
import { findInFooter } from "../../embedded/pack-format.js";
import { createLiveBatches } from "../../live-batches.js";
import { branchHashes } from "../../mark.js";
import { createSlots } from "../client/parallel.js";
import type { S3Client } from "../client/s3-client.js";
import type { Views } from "../roots/views.js";
import type { BuiltPack } from "./builder.js";
import { mayHold, type PackInfo } from "./manifest.js";
import { type PackSource, packKeyOf } from "./source.js";

const UPLOADS_AT_ONCE = 4;

/** Uploaded packs of one batch, by id. */
type Group = Map<string, { readonly info: PackInfo; readonly footer: Buffer; readonly release: () => void }>;

export interface UploadOptions {
  readonly client: S3Client;
  readonly source: PackSource;
  readonly views: Views;
  readonly now: () => number;
  readonly log: Log;
}

export type Uploads = ReturnType<typeof createUploads>;
export type UploadGroup = ReturnType<Uploads["group"]>;

/** Uploads in progress, and uploaded packs that no root lists yet. */
export function createUploads({ client, source, views, now, log }: UploadOptions) {
  const takeSlot = createSlots(UPLOADS_AT_ONCE);
  const batches = createLiveBatches(now);
  const groups = new Set<Group>();
  const running = new Set<Promise<void>>();

  const put = async ({ info, bytes, footer }: BuiltPack): Promise<void> => {
    await client.put(packKeyOf(info.id), bytes);
    source.keepFooter(info.id, footer);
  };
  const neededBy = (cells: Iterable<Uint8Array>, own: Group): PackInfo[] => {
    const others = [...groups].filter((group) => group !== own && group.size > 0);
    if (others.length === 0) return [];
    const needed = new Set<Group>();
    for (const cell of cells) {
      for (const hash of refsOf(cell)) {
        for (const group of others) if (!needed.has(group) && packWith(hash, group) !== undefined) needed.add(group);
      }
    }
    return [...needed].flatMap((group) => Array.from(group.values(), ({ info }) => info));
  };
  /** Packs of one batch, uploaded or in progress. */
  const group = () => {
    const own: Group = new Map();
    const live = batches.begin(() => {
      groups.delete(own);
      for (const { release } of own.values()) release();
      own.clear();
    });
    const touch = (): void => {
      live.touch();
      groups.add(own);
    };
    const failures: unknown[] = [];
    const started: Promise<void>[] = [];
    const upload = async (pack: BuiltPack): Promise<void> => {
      try {
        await put(pack);
        const release = views.add({ packs: [pack.info], carried: new Map() });
        own.set(pack.info.id, { info: pack.info, footer: pack.footer, release });
      } catch (error) {
        failures.push(error);
        log.warn({ event: "drive.upload", error: describeError(error) }, "An upload to the drive store failed");
      }
    };
    return {
      touch,
      /** Resolves when the upload has started, which waits for a free slot. */
      async begin(pack: BuiltPack): Promise<void> {
        touch();
        const end = await takeSlot();
        const putting = upload(pack).finally(() => {
          end();
          running.delete(putting);
        });
        started.push(putting);
        running.add(putting);
        if (failures.length > 0) throw failures[0];
      },
      /** Packs of other batches that the cells refer to, including all other packs of those batches. */
      neededBy: (cells: Iterable<Uint8Array>): readonly PackInfo[] => neededBy(cells, own),
      /** Called when a root lists the packs. */
      end: live.end,
      /** Waits for all started uploads. @throws the failure of any of them, on every call */
      async settled(): Promise<void> {
        await Promise.all(started);
        if (failures.length > 0) throw failures[0];
      },
      /** The uploaded pack of this group that has a cell. */
      packWith: (hash: Uint8Array): PackInfo | undefined => packWith(hash, own),
    };
  };
  return {
    group,
    /** Uploads one pack and waits for it. */
    async one(pack: BuiltPack): Promise<PackInfo> {
      const end = await takeSlot();
      try {
        await put(pack);
        return pack.info;
      } finally {
        end();
      }
    },
    has: (packId: string): boolean => [...groups].some((group) => group.has(packId)),
    /** Start of the oldest upload that no root lists, in ms; the current time if there is none. */
    oldestStart: batches.oldestStart,
    /** Resolves when all uploads have ended, successfully or not; never rejects. */
    async idle(): Promise<void> {
      await Promise.all(running);
    },
  };
}

function packWith(hash: Uint8Array, group: Group): PackInfo | undefined {
  for (const { info, footer } of group.values())
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
