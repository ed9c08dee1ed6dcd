// The file adapter of a configuration without a venue around it, for a process that calls nothing but operations on files.

import { assembleAdapter, type HostedFileAdapter } from "../../adapter/adapter.js";
import type { VenueConfig } from "../../config/types.js";
import type { Adapter, SurfaceContext } from "../../core/ports/adapter.js";
import type { EventSink } from "../../core/ports/changes/events.js";
import { openApprovals } from "../approvals/open.js";
import { openProfiles } from "../catalogue/profiles.js";
import { type Access, capabilityRulesOf, closedAccess } from "../identity/access.js";
import { ownContext } from "../identity/own-caller.js";
import { type Closable, closeBackwards } from "./close-backwards.js";
import { asConfigError } from "./config-fault.js";
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

/** Nobody can follow the events of a process that serves nothing. */
const NO_EVENTS: EventSink = { wants: () => false, publish: () => {} };

/** Opens the file adapter, or nothing. Keys and tokens are looked at only for a caller other than the operator. @throws ConfigError */
export async function openFiles(config: VenueConfig, options: OpenFilesOptions): Promise<OpenFiles> {
  const { env, log, caller, profile } = options;
  const opened: Closable[] = [];
  const keep = <T extends Closable>(part: T): T => {
    opened.push(part);
    return part;
  };
  const logInternal = (err: unknown, requestId: string): void => log.error({ err, requestId }, "internal error");
  try {
    const access = caller === undefined ? closedAccess : await openOwnAccess(config, options);
    const { key } = access;
    const audit = await openAudit(config, { env, log, key });
    if (audit !== undefined) keep(audit);
    let files: HostedFileAdapter | undefined;
    const asked = { access, events: NO_EVENTS, listens: false, files: () => files };
    const approvals = await openApprovals(config, asked);
    files = keep(
      await assembleAdapter(config.file, {
        drives: keep(createVenueDrives(config, { env, log, key, listens: false })),
        ...(approvals === undefined ? {} : { approvals }),
        discloseHostPaths: true,
        capabilities: capabilityRulesOf(config, access),
        maxContentSize: config.maxContentSize,
        rejudge: access.rejudge,
        onInternalError: logInternal,
        ...rootsStateOf(config, { env, log }),
        // The tools of a profile write to it too, so it is closed last.
        ...(audit === undefined ? {} : { audit: { write: (record) => audit.write(record), close: async () => {} } }),
      }),
    );
    const tools =
      profile === undefined
        ? []
        : await openProfiles({ files, profiles: config.profiles, options: { profile }, log, logInternal });
    const context = ownContext(caller, access);
    return { config, adapter: files, tools: tools.map(keep), context, close: () => closeBackwards(opened) };
  } catch (error) {
    await closeBackwards(opened);
    throw asConfigError(error);
  }
}

async function openOwnAccess(config: VenueConfig, options: OpenFilesOptions): Promise<Access> {
  return (await import("../identity/own-access.js")).openOwnAccess(config, options);
}
