// Opens the drives of a venue, and maintains their store: integrity check at start, garbage collection.

import { type KeyObject, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { DriveSource } from "../../backend/drive/drive.js";
import { forgetsDrives } from "../../config/checks/drives.js";
import { ConfigError } from "../../config/errors.js";
import type { S3Config, VenueConfig } from "../../config/types.js";
import { type Clock, systemClock } from "../../core/clock.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { later } from "../../core/later.js";
import { type Log, silentLog } from "../../core/ports/log.js";
import { codeOf } from "../../core/unknown.js";
import type { DriveEngine, DriveEngineOptions } from "../../drive/engine/engine.js";
import type { OwnerKeys, OwnerKeysOptions } from "../../drive/keys/owner-keys.js";
import type { CellStore } from "../../drive/store/cell-store.js";
import type { Access } from "../identity/access.js";
import { NO_CREDENTIALS, s3Access } from "./s3-access.js";

/** Why drives that last cannot be opened. */
export const NO_DATABASE =
  "its library 'lmdb' cannot be loaded. Install it for this machine, or set 'drives.store' to \"memory\"";

/** The drives of a venue, opened on first use. */
export interface VenueDrives extends DriveSource {
  /** Opens the drives now, so that a mistake is reported at start; damage of the store only in the log. @throws ConfigError */
  open(): Promise<void>;
  /** Waits for changes in progress and closes the store. */
  close(): Promise<void>;
}

export interface VenueDrivesOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** The venue's key, which encrypts those of the owners. */
  readonly key: Access["key"];
  /** Whether the venue runs for long, so that the store needs maintenance. */
  readonly listens: boolean;
  readonly clock?: Clock;
}

interface Opened {
  readonly engine: DriveEngine;
  readonly store: CellStore;
  readonly keys: OwnerKeys;
  /** Stops maintenance; to be awaited before the store is closed. */
  stop?(): Promise<void>;
}

/** Age in milliseconds from which unreferenced cells are garbage-collected: longer than any upload or read takes. */
const GRACE_MS = 86_400_000;
const COLLECT_EVERY_MS = 21_600_000;

/** @param config checked: with a persistent store the key is persistent too. The drives are opened later */
export function createVenueDrives(config: VenueConfig, options: VenueDrivesOptions): VenueDrives {
  const { log } = options;
  if (options.listens) for (const load of [loadEngine, storeOf(config)]) later<unknown>(load);
  return openLazily(log, async () => {
    const engine = engineOptions(config, options);
    if (!forgetsDrives(config)) {
      const opened = await openEngine(await openLasting(config, options), engine, await keyOf(config, options));
      // A process that makes a single call does not live long enough for maintenance.
      return options.listens ? withUpkeep(opened, log) : opened;
    }
    if (config.drives.store === undefined) log.warn({}, "Drives are kept in memory and will not survive");
    return openEngine(await openMemory(), engine, randomBytes(32));
  });
}

/** All drives and keys of a store, for its operator. */
export interface DriveStore extends Pick<Opened, "engine" | "store" | "keys"> {
  close(): Promise<void>;
}

/** Opens the drives of a configuration without a venue; a running venue may have them open too. @throws ConfigError */
export async function openDriveStore(
  config: VenueConfig,
  options: Omit<VenueDrivesOptions, "listens">,
): Promise<DriveStore> {
  if (forgetsDrives(config)) {
    const text =
      "The drives of this configuration are kept in memory, so there are none. Set 'seedFile' for those that last";
    throw new ConfigError([text], 78);
  }
  const engine = engineOptions(config, options);
  try {
    const opened = await openEngine(await openLasting(config, options), engine, await keyOf(config, options));
    return { ...opened, close: () => closeAll(opened) };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([`'drives.store' cannot be opened: ${reasonOf(error)}`], 78);
  }
}

function engineOptions({ drives }: VenueConfig, { log, clock = systemClock }: Omit<VenueDrivesOptions, "listens">) {
  const { limits, staleMs, futureSkewMs, verifyReads, journalQuota: logQuota } = drives;
  return { limits, staleMs, futureSkewMs, verifyReads, logQuota, log, clock };
}

/** Drives in memory, for use without a venue. */
export function createMemoryDrives(): VenueDrives {
  const engine = { log: silentLog, clock: systemClock };
  return openLazily(silentLog, async () => openEngine(await openMemory(), engine, randomBytes(32)));
}

/** Opens drives on first use. A failure is reported to that caller and not cached, so the next use tries again. */
function openLazily(log: Log, open: () => Promise<Opened>): VenueDrives {
  let opening: Promise<Opened> | undefined;
  let isClosed = false;
  const opened = (): Promise<Opened> => {
    if (isClosed) return Promise.reject(unreachable());
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    async of(owner) {
      try {
        return (await opened()).engine.owner(owner);
      } catch (error) {
        log.error({ reason: reasonOf(error) }, "drives cannot be opened");
        throw codeOf(error) === "STORE_DAMAGED" ? error : unreachable();
      }
    },
    async open() {
      try {
        await opened();
      } catch (error) {
        if (codeOf(error) === "STORE_DAMAGED") {
          // The roots on the host are served all the same.
          log.error({ reason: reasonOf(error) }, "drives cannot be opened");
          return;
        }
        throw new ConfigError([`'drives.store' cannot be opened: ${reasonOf(error)}`], 78);
      }
    },
    async close() {
      isClosed = true;
      const open = await opening?.catch(() => undefined);
      if (open !== undefined) await closeAll(open);
    },
  };
}

async function closeAll({ engine, store, stop }: Opened): Promise<void> {
  try {
    await engine.close();
    await stop?.();
  } finally {
    await store.close();
  }
}

const unreachable = (): FileAdapterError => adapterError("STORE_UNAVAILABLE", "Drive store is not reachable");

/** The reason for a log or message: the whole text of this package's own errors, only the code of the system's. */
function reasonOf(error: unknown): string {
  if (error instanceof FileAdapterError || error instanceof ConfigError) return error.message;
  return codeOf(error) ?? "it is not usable";
}

const loadEngine = () =>
  Promise.all([import("../../drive/engine/engine.js"), import("../../drive/keys/owner-keys.js")]);
const loadMemory = () => import("../../drive/store/memory.js");
const loadEmbedded = () => import("../../drive/store/embedded/embedded.js");
const loadShared = () => import("../../drive/store/s3/object-store.js");

/** Loads the store of a configuration. */
const storeOf = (config: VenueConfig): (() => Promise<unknown>) => {
  if (forgetsDrives(config)) return loadMemory;
  return isShared(config.drives.store) ? loadShared : loadEmbedded;
};

async function openEngine(
  store: CellStore,
  options: Omit<DriveEngineOptions, "store" | "keys">,
  venueKey: OwnerKeysOptions["venueKey"],
): Promise<Opened> {
  const [{ createDriveEngine }, { createOwnerKeys }] = await loadEngine();
  const keys = createOwnerKeys({ records: store.keys, venueKey, clock: options.clock });
  return { engine: createDriveEngine({ ...options, store, keys }), store, keys };
}

/** Starts maintenance: checks every owner's root in the background, and collects unreferenced cells every six hours. */
function withUpkeep({ engine, store, keys }: Opened, log: Log): Opened {
  const failed = (error: unknown) => log.error({ reason: reasonOf(error) }, "drives could not be tended");
  const checking = engine.check().catch(failed);
  const collect = async () => {
    const { removed, removedBytes, missing } = await store.collect({ graceMs: GRACE_MS });
    if (removed > 0 || missing > 0) log.info({ removed, removedBytes, missing }, "drives collected");
  };
  const timer = setInterval(() => void collect().catch(failed), COLLECT_EVERY_MS);
  timer.unref();
  const stop = async () => {
    clearInterval(timer);
    await checking;
  };
  return { engine, store, keys, stop };
}

async function openMemory(): Promise<CellStore> {
  return (await loadMemory()).createMemoryStore();
}

async function openLasting(config: VenueConfig, { env, log }: Omit<VenueDrivesOptions, "listens">): Promise<CellStore> {
  const { store } = config.drives;
  if (isShared(store)) return openShared(store.s3, config, { env, log });
  const [{ openEmbeddedStore }, { openState }] = await Promise.all([
    withDatabase(loadEmbedded()),
    import("./state/place.js"),
  ]);
  const path = typeof store === "object" ? store.path : join(openState(config, env, "drives.store"), "drives");
  return openEmbeddedStore({ path, log });
}

const isShared = (store: VenueConfig["drives"]["store"]) => typeof store === "object" && "s3" in store;

/** @throws ConfigError if the code of a store cannot be loaded: it imports a native library */
function withDatabase<T>(loading: Promise<T>): Promise<T> {
  return loading.catch(() => {
    throw new ConfigError([NO_DATABASE], 78);
  });
}

async function openShared(
  s3: S3Config,
  config: VenueConfig,
  { env, log }: Pick<VenueDrivesOptions, "env" | "log">,
): Promise<CellStore> {
  const [{ openObjectStore }, { openState }] = await Promise.all([
    withDatabase(loadShared()),
    import("./state/place.js"),
  ]);
  const { credentials, ...place } = s3Access(s3, env);
  if (credentials === undefined) throw new ConfigError([NO_CREDENTIALS], 78);
  const cachePath = join(openState(config, env, "drives.store"), "drive-cache");
  return openObjectStore({ ...place, credentials, cachePath, log });
}

/** The venue's key. Where it has not been needed before, its seed file is created now, as a listening venue would. */
async function keyOf(
  { seed, seedFile, did }: VenueConfig,
  { key, log }: Omit<VenueDrivesOptions, "listens">,
): Promise<KeyObject> {
  if (key !== undefined) return key.privateKey;
  const { openIdentity } = await import("../identity/identity.js");
  return openIdentity({ seed, seedFile, did, log }).privateKey;
}
