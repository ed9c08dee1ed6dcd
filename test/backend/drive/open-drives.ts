import { randomBytes } from "node:crypto";
import type { DriveSource } from "../../../src/backend/drive/drive.js";
import { type Clock, systemClock } from "../../../src/core/clock.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { createDriveEngine, type DriveEngineOptions } from "../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";

export interface TestDrives extends DriveSource {
  readonly store: CellStore;
  close(): Promise<void>;
}

export interface TestDrivesOptions {
  readonly clock?: Clock;
  readonly limits?: NonNullable<DriveEngineOptions["limits"]>;
  readonly store?: CellStore;
  readonly cacheBytes?: DriveEngineOptions["cacheBytes"];
}

/** Everybody's drives, in memory unless a store is given. */
export function openDrives({
  clock = systemClock,
  limits,
  store = createMemoryStore(),
  cacheBytes,
}: TestDrivesOptions = {}): TestDrives {
  const keys = createOwnerKeys({ records: store.keys, venueKey: randomBytes(32), clock });
  const engine = createDriveEngine({ store, keys, clock, log: silentLog, limits, cacheBytes });
  return {
    store,
    of: async (owner) => engine.owner(owner),
    async close() {
      await engine.close();
      await store.close();
    },
  };
}
