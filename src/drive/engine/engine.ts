import type { Clock } from "../../core/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { OwnerKeys } from "../keys/owner-keys.js";
import type { CellStore } from "../store/cell-store.js";
import { createCellPool } from "./cells.js";
import { DEFAULT_DRIVE_LIMITS, type DriveLimits } from "./drives.js";
import { storeUnavailable } from "./fault.js";
import { createOwnerDrives, type OwnerDrives } from "./owner-drives.js";
import { type EngineParts, OwnerQueue } from "./owner-queue.js";
import { createUsage } from "./quota.js";
import { signedDrives } from "./state.js";
import { tidyRoots } from "./tidy.js";

export type {
  DriveChange,
  DriveContent,
  DriveEntry,
  DriveLimits,
  DriveRead,
  DriveSnapshot,
  DriveStat,
  DriveWrite,
  StagedContent,
} from "./drives.js";
export type { ExportOptions, ExportPiece } from "./exchange/export.js";
export type { ImportOptions, ImportReport } from "./exchange/import.js";
export type { VerifyReport } from "./exchange/verify.js";
export type { OwnerDrives } from "./owner-drives.js";

export interface DriveEngineOptions {
  /** Closed by whoever opened it, after the engine. */
  readonly store: CellStore;
  /** The id under which the store keeps our roots; left out where it has one root for all. */
  readonly writer?: string | undefined;
  readonly keys: OwnerKeys;
  readonly clock: Clock;
  readonly limits?: Partial<DriveLimits> | undefined;
  /** How long reads may take what they know for the newest, in milliseconds. */
  readonly staleMs?: number | undefined;
  /** Check the hash of every cell once more than the store does. */
  readonly verifyReads?: boolean | undefined;
  /** Bytes of cells of trees kept in memory. */
  readonly cacheBytes?: number | undefined;
  readonly log: Log;
}

export interface DriveEngine {
  /** The drives of a user. @param did as authenticated; nothing else names an owner */
  owner(did: string): OwnerDrives;
  /** Looks at the root of every owner, as on start-up, until it is closed. A damaged one is logged and left as it is. */
  check(): Promise<{ readonly owners: number; readonly damaged: number }>;
  /** Makes one of the roots that several writers have left of an owner, where one of them has everything. */
  tidy(): Promise<void>;
  /** Lets changes end that have begun, and refuses others. */
  close(): Promise<void>;
}

const DEFAULT_CACHE_BYTES = 32 * 2 ** 20;
/** Owners whose newest root is remembered. */
const MAX_IDLE_OWNERS = 1000;

export function createDriveEngine(options: DriveEngineOptions): DriveEngine {
  const { store, writer, keys, clock, staleMs = 0, verifyReads = false, log } = options;
  const pool = createCellPool({ store, verifyReads, cacheBytes: options.cacheBytes ?? DEFAULT_CACHE_BYTES });
  const limits = { ...DEFAULT_DRIVE_LIMITS, ...options.limits };
  const usage = createUsage(pool);
  const parts: EngineParts = { store, writer, pool, usage, keys, clock, limits, staleMs, log };
  const queues = new Map<string, OwnerQueue>();
  let isOpen = true;

  const queueOf = (did: string): OwnerQueue => {
    if (!isOpen) throw storeUnavailable();
    const queue = queues.get(did) ?? new OwnerQueue(did, parts);
    queues.delete(did);
    queues.set(did, queue);
    // One that is busy stays, as there must be no second one for its owner.
    for (const [other, idle] of queues) {
      if (queues.size <= MAX_IDLE_OWNERS) break;
      if (other !== did && idle.isIdle) queues.delete(other);
    }
    return queue;
  };

  return {
    owner: (did) => createOwnerDrives(did, () => queueOf(did), parts),
    check: () => checkRoots(parts, () => isOpen),
    tidy: () => tidyRoots(parts, () => isOpen),
    async close() {
      isOpen = false;
      await Promise.all(Array.from(queues.values(), (queue) => queue.drain()));
    },
  };
}

/** @param goesOn a store that is being closed answers nothing any more, which is no damage */
async function checkRoots(
  { store, log }: EngineParts,
  goesOn: () => boolean,
): Promise<{ owners: number; damaged: number }> {
  let [owners, damaged] = [0, 0];
  for await (const owner of store.owners()) {
    if (!goesOn()) break;
    owners += 1;
    try {
      for (const { bytes } of await store.roots(owner)) signedDrives(bytes, owner);
    } catch {
      damaged += 1;
      log.error({ owner }, "The root of an owner's drives is damaged");
    }
  }
  return { owners, damaged };
}
