// Opens the files of a venue that commands on files open too: audit and log.

import type { AuditFile } from "../../audit/audit-file.js";
import type { AuditLog } from "../../audit/log.js";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import type { Log } from "../../core/ports/log.js";
import { codeOf } from "../../core/unknown.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import { AssetStorageError } from "../assets/store.js";
import { keyOf } from "../identity/access.js";
import { type LogStreams, type OpenLog, openLog } from "../telemetry/log.js";
import { openState } from "./state/place.js";

/** Reasons by errno, for files that cannot be opened. */
export const OPEN_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "its folder does not exist",
  EISDIR: "it is a directory",
  EEXIST: "it is not a directory",
  EACCES: "permission denied",
  EROFS: "the file system is read-only",
};

/** Parts that the audit file of a venue needs. */
export interface AuditParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** The venue's key, if it was loaded. */
  readonly key: SigningKey | undefined;
}

/** Opens the audit file, if configured. @throws ConfigError */
export async function openAudit(config: VenueConfig, { env, log, key }: AuditParts): Promise<AuditFile | undefined> {
  const { file, maxBytes, keep } = config.audit;
  if (file === undefined) return undefined;
  const { openAuditFile } = await import("../../audit/audit-file.js");
  const { auditSigner } = await import("./audit-signer.js");
  const keyLasts = config.seed !== undefined || config.seedFile !== undefined;
  const signer = auditSigner(keyLasts ? (key ?? (await existingKey(config, log))) : undefined);
  const stateDir = auditState(config, { env, log });
  const onError = (err: unknown) =>
    log.error({ err }, "the audit cannot be written: records wait for it, and are lost when too many do");
  return openPath("audit.file", file, () => openAuditFile(file, onError, { signer, stateDir, maxBytes, keep }));
}

/** Opens the audit for queries; `undefined` where it goes to no file that can be read. */
export async function openAuditLog(audit: AuditFile | undefined): Promise<AuditLog | undefined> {
  if (audit?.path === undefined) return undefined;
  const { AuditLog } = await import("../../audit/log.js");
  return new AuditLog({ path: audit.path, indexFolder: audit.stateFolder, written: () => audit.written() });
}

/** The key of a venue that has not loaded it, since only file operations will be called. */
async function existingKey(config: VenueConfig, log: Log): Promise<SigningKey | undefined> {
  const { existingIdentity } = await import("../identity/own-access.js");
  const identity = existingIdentity(config, log);
  return identity === undefined ? undefined : keyOf(identity);
}

/** Without a state directory the audit is written all the same: only a cut at the end of the file would not show. */
function auditState(config: VenueConfig, { env, log }: Pick<AuditParts, "env" | "log">): string | undefined {
  if (config.stateDir === false) return undefined;
  try {
    return openState(config, env, "audit.file");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log.warn({ reason: error.message }, "checkpoints of the audit are not kept outside its file");
    return undefined;
  }
}

/** Opens the log. @throws ConfigError */
export function openConfiguredLog({ log }: Pick<VenueConfig, "log">, stderr: LogStreams["stderr"]): OpenLog {
  try {
    return openLog(log, { stderr });
  } catch (error) {
    throw asConfigError(error, "log.file", log.file ?? "");
  }
}

/** Does work with the configured log, which is closed at the end. @throws ConfigError */
export async function withConfiguredLog<T>(
  config: Pick<VenueConfig, "log">,
  stderr: LogStreams["stderr"],
  work: (log: OpenLog) => Promise<T>,
): Promise<T> {
  const log = openConfiguredLog(config, stderr);
  try {
    return await work(log);
  } finally {
    log.close();
  }
}

export async function openPath<T>(key: string, path: string, open: () => Promise<T>): Promise<T> {
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
  const code = codeOf(error);
  return code === undefined ? error : cannotOpen(OPEN_FAILURES[code] ?? code);
}
