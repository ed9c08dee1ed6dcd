// The file adapter of a configuration: for a venue, and without one for a process that calls nothing but operations on files.

import { type AdapterParts, assembleAdapter, type HostedFileAdapter } from "../../adapter/adapter.js";
import type { AuditSink } from "../../audit/record.js";
import type { VenueConfig } from "../../config/types.js";
import type { Adapter, SurfaceContext } from "../../core/ports/adapter.js";
import type { Log } from "../../core/ports/log.js";
import { openApprovals } from "../approvals/open.js";
import { openProfiles } from "../catalogue/profiles.js";
import { type Access, capabilityRulesOf, closedAccess, ownContext } from "../identity/access.js";
import { allOrNothing } from "./all-or-nothing.js";
import { createVenueDrives } from "./drives.js";
import type { OpenVenueOptions } from "./open-options.js";
import { openAudit } from "./open-parts.js";
import { rootsStateOf } from "./state/roots.js";

export interface OpenFilesOptions extends Pick<OpenVenueOptions, "env" | "log" | "caller"> {
  /** A profile whose tools are called too. */
  readonly profile?: string | undefined;
}

export interface OpenFiles {
  readonly config: VenueConfig;
  readonly adapter: HostedFileAdapter;
  /** The adapter of the profile. */
  readonly tools: readonly Adapter[];
  /** The context of all calls of the process. */
  readonly context: SurfaceContext;
  close(): Promise<void>;
}

/** Opens the file adapter, or nothing. Keys and tokens are looked at only for a caller other than the operator. @throws ConfigError */
export const openFiles = (config: VenueConfig, options: OpenFilesOptions): Promise<OpenFiles> =>
  allOrNothing(async (opened) => {
    const { env, log, caller, profile } = options;
    const logInternal = internalLog(log);
    const access = await ownAccess(config, { ...options, isFiles: true });
    const { key } = access;
    const audit = await openAudit(config, { env, log, key });
    if (audit !== undefined) opened.keep(audit);
    let files: HostedFileAdapter | undefined;
    const approvals = await openApprovals(config, { access, listens: false, files: () => files });
    const drives = opened.keep(createVenueDrives(config, { env, log, key, listens: false }));
    const parts = { env, log, logInternal, access, drives, approvals, audit, discloseHostPaths: true };
    files = opened.keep(await openFileAdapter(config, parts));
    const wanted = profile === undefined ? {} : config.profiles;
    const tools = await openProfiles({ files, profiles: wanted, options: { profile }, log, logInternal });
    const context = ownContext(caller, access);
    return { config, adapter: files, tools: tools.map(opened.keep), context, close: () => opened.close() };
  });

export interface FileAdapterParts
  extends Pick<
    AdapterParts,
    | "drives"
    | "tickets"
    | "tagOf"
    | "davUrl"
    | "approvals"
    | "discloseHostPaths"
    | "eventLog"
    | "repeats"
    | "changeSinks"
  > {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly logInternal: (error: unknown, requestId: string) => void;
  readonly access: Access;
  /** Stays open when the adapter closes: others write to it too. */
  readonly audit: AuditSink | undefined;
}

/** @throws RootsError */
export function openFileAdapter(config: VenueConfig, parts: FileAdapterParts): Promise<HostedFileAdapter> {
  const { env, log, logInternal, access, audit, ...rest } = parts;
  return assembleAdapter(config.file, {
    ...rest,
    capabilities: capabilityRulesOf(config, access),
    maxContentSize: config.maxContentSize,
    rejudge: access.rejudge,
    onInternalError: logInternal,
    ...rootsStateOf(config, { env, log }),
    audit: audit && { write: (record) => audit.write(record), close: async () => {} },
  });
}

/** The access of a process that does not serve. Code for keys and tokens is loaded only for other callers or operations on tokens. */
export async function ownAccess(
  config: VenueConfig,
  options: Pick<OpenVenueOptions, "env" | "log" | "caller"> & { readonly isFiles: boolean },
): Promise<Access> {
  if (options.isFiles && options.caller === undefined) return closedAccess;
  return (await import("../identity/own-access.js")).openOwnAccess(config, options);
}

export const internalLog =
  (log: Log) =>
  (err: unknown, requestId: string): void =>
    log.error({ err, requestId }, "internal error");
