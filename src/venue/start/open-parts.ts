// Opens the parts of a venue that have files of their own: audit, assets, log, tickets.

import type { AuditFile } from "../../audit/rotating-file.js";
import { ConfigError } from "../../config/errors.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import type { Log } from "../../core/ports/log.js";
import { createAssets, type VenueAssets } from "../assets/assets.js";
import { AssetStorageError, type AssetStore } from "../assets/store.js";
import type { Access } from "../identity/access.js";
import type { VenueTickets } from "../identity/tickets.js";
import { type LogStreams, type OpenLog, openLog } from "../telemetry/log.js";

/** Reasons by errno, for files that cannot be opened. */
export const OPEN_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "its folder does not exist",
  EISDIR: "it is a directory",
  EEXIST: "it is not a directory",
  EACCES: "permission denied",
  EROFS: "the file system is read-only",
};

/** Opens the audit file, if configured. @throws ConfigError */
export async function openAudit({ audit }: VenueConfig, log: Log): Promise<AuditFile | undefined> {
  const { file, maxBytes, keep } = audit;
  if (file === undefined) return undefined;
  const { openAuditFile } = await import("../../audit/rotating-file.js");
  const onError = (err: unknown) => log.error({ err }, "audit records are lost");
  return openPath("audit.file", file, () => openAuditFile(file, onError, { maxBytes, keep }));
}

/** Opens the assets. @throws ConfigError */
export async function openAssets(
  config: VenueConfig,
  { did, log }: { readonly did: string; readonly log: Log },
): Promise<VenueAssets> {
  return createAssets({
    did,
    log,
    store: await openStore(config, log),
    write: config.assets.write ?? (isLoopbackListener(config) ? "public" : "operator"),
    maxTotalBytes: config.assets.maxTotalBytes,
    maxContentSize: config.maxContentSize,
    clock: systemClock,
  });
}

async function openStore({ storage }: VenueConfig, log: Log): Promise<AssetStore> {
  if (storage.content === "memory") return (await import("../assets/memory.js")).createAssetMemory();
  const { path } = storage;
  const { openAssetFiles } = await import("../assets/files.js");
  return openPath("storage.path", path, () => openAssetFiles({ path, log }));
}

/** Opens the log. @throws ConfigError */
export function openConfiguredLog({ log }: Pick<VenueConfig, "log">, stderr: LogStreams["stderr"]): OpenLog {
  try {
    return openLog(log, { stderr });
  } catch (error) {
    throw asConfigError(error, "log.file", log.file ?? "");
  }
}

async function openPath<T>(key: string, path: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw asConfigError(error, key, path);
  }
}

/** The message shows the path: it is for the operator, who configured it. */
function asConfigError(error: unknown, key: string, path: string): unknown {
  const cannotOpen = (reason: string) => new ConfigError([`'${key}' cannot be opened: ${reason}: ${path}`], 78);
  if (error instanceof AssetStorageError) return cannotOpen(error.message);
  const { code }: { code?: unknown } = typeof error === "object" && error !== null ? error : {};
  return typeof code === "string" ? cannotOpen(OPEN_FAILURES[code] ?? code) : error;
}

/** Opens the tickets of a venue that listens. @param url base URL; `undefined` while it does not listen yet */
export async function openTickets(
  { key, rejudge }: Access,
  { listens }: { readonly listens: boolean },
  url: () => string | undefined,
): Promise<VenueTickets | undefined> {
  if (!listens || key === undefined) return undefined;
  const { createTickets } = await import("../identity/tickets.js");
  return createTickets({ key, clock: systemClock, url, rejudge });
}
