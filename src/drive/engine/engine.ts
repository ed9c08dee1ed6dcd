// The engine of drives: owners, their queues, start-up checks.

import type { Clock } from "../../core/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { OwnerKeys } from "../keys/owner-keys.js";
import type { CellStore } from "../store/cell-store.js";
import { createCellPool } from "./cells.js";
import { DEFAULT_DRIVE_LIMITS, DEFAULT_LOG_QUOTA, type DriveLimits, type LogQuota } from "./drives.js";
import { storeUnavailable } from "./fault.js";
import { createOwnerDrives, type OwnerDrives } from "./owner-drives.js";
import { type EngineParts, OwnerQueue } from "./owner-queue.js";
import { createUsage } from "./quota.js";
import { signedDrives } from "./state.js";

export type {
  DriveChange,
  DriveEntry,
  DriveLimits,
  DriveMoment,
  DriveReader,
  DriveSnapshot,
  DriveStat,
  StagedContent,
} from "./drives.js";
export type { ExportOptions, ExportPiece } from "./exchange/export.js";
export type { ImportOptions } from "./exchange/import.js";
export type { VerifyReport } from "./exchange/verify.js";
export { contentVersion, type LogEntry, type LogNote, type LogTicket } from "./log/entry.js";
export type { DriveLog } from "./log/owner-log.js";
export type { OwnerDrives } from "./owner-drives.js";

export interface DriveEngineOptions {
  /** Closed by its opener, after the engine. */
  readonly store: CellStore;
  readonly keys: OwnerKeys;
  readonly clock: Clock;
  readonly limits?: Partial<DriveLimits> | undefined;
  /** Age in ms up to which reads may use a known state without asking the store. */
  readonly staleMs?: number | undefined;
  /** How far ahead of the clock times of an import may lie, in ms; 30 s unless set. */
  readonly futureSkewMs?: number | undefined;
  /** Limits of the log of an owner's drives. */
  readonly logQuota?: LogQuota | undefined;
  /** Verify the hash of every cell, in addition to the store's own check. */
  readonly verifyReads?: boolean | undefined;
  /** Bytes of tree cells cached in memory. */
  readonly cacheBytes?: number | undefined;
  readonly log: Log;
}

export interface DriveEngine {
  /**
   * The drives of an owner.
   * @param did authenticated; nothing else identifies an owner
   */
  owner(did: string): OwnerDrives;
  /** Checks the root of every owner, as at start-up, until closed. Damaged roots are logged and left unchanged. */
  check(): Promise<{ readonly owners: number; readonly damaged: number }>;
  /** Waits for running changes and refuses new ones. */
  close(): Promise<void>;
}

const DEFAULT_CACHE_BYTES = 32 * 2 ** 20;
const DEFAULT_SKEW_MS = 30_000;
/** Maximum idle owners whose newest root is remembered. */
const MAX_IDLE_OWNERS = 1000;

export function createDriveEngine(options: DriveEngineOptions): DriveEngine {
  const { store, keys, clock, staleMs = 0, futureSkewMs = DEFAULT_SKEW_MS, verifyReads = false, log } = options;
  const pool = createCellPool({ store, verifyReads, cacheBytes: options.cacheBytes ?? DEFAULT_CACHE_BYTES });
  const limits = { ...DEFAULT_DRIVE_LIMITS, ...options.limits };
  const usage = createUsage(pool);
  const { logQuota = DEFAULT_LOG_QUOTA } = options;
  const parts: EngineParts = { store, pool, usage, keys, clock, limits, staleMs, futureSkewMs, logQuota, log };
  const queues = new Map<string, OwnerQueue>();
  let isOpen = true;

  const queueOf = (did: string): OwnerQueue => {
    if (!isOpen) throw storeUnavailable();
    const queue = queues.get(did) ?? new OwnerQueue(did, parts);
    queues.delete(did);
    queues.set(did, queue);
    // A busy queue is kept: there must never be two queues for one owner.
    for (const [other, idle] of queues) {
      if (queues.size <= MAX_IDLE_OWNERS) break;
      if (other !== did && idle.isIdle) queues.delete(other);
    }
    return queue;
  };

  return {
    owner: (did) => createOwnerDrives(did, () => queueOf(did), parts),
    check: () => checkRoots(parts, () => isOpen),
    async close() {
      isOpen = false;
      await Promise.all(Array.from(queues.values(), (queue) => queue.drain()));
    },
  };
}

/** @param isOpen false once the store is being closed; failures then are not damage */
async function checkRoots(
  { store, log }: EngineParts,
  isOpen: () => boolean,
): Promise<{ owners: number; damaged: number }> {
  let [owners, damaged] = [0, 0];
  for await (const owner of store.owners()) {
    if (!isOpen()) break;
    owners += 1;
    try {
      const root = await store.root(owner);
      if (root !== undefined) signedDrives(root.bytes, owner);
    } catch {
      damaged += 1;
      log.error({ owner }, "The root of an owner's drives is damaged");
    }
  }
  return { owners, damaged };
}
