// Opens the approvals of a venue.

import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import type { EventSink } from "../../core/ports/changes/events.js";
import type { Shared } from "../../core/ports/shared.js";
import type { Access } from "../identity/access.js";
import { Approvals, type ApprovalsOptions, driveOwnerOf } from "./approvals.js";
import { chainOf } from "./credentials.js";
import { createQuestionSeal } from "./question-seal.js";

export interface OpenApprovalsOptions {
  readonly access: Access;
  /** Absent where nobody can follow. */
  readonly events?: EventSink;
  /** Where the venue does not listen, only the users of clients can decide. */
  readonly listens: boolean;
  /** Absent: the venue is one process. */
  readonly shared?: Shared | undefined;
  /** Judges rights. Asked for after the venue is open. */
  files(): Pick<HostedFileAdapter, "rights" | "roots"> | undefined;
}

/** @returns `undefined`: no root asks anybody, and none can later */
export async function openApprovals(
  config: VenueConfig,
  { access, events, listens, shared, files }: OpenApprovalsOptions,
): Promise<Approvals | undefined> {
  const needsApprovals = listens || Object.values(config.file.roots).some(({ approve }) => approve !== undefined);
  if (!needsApprovals) return undefined;
  const options: ApprovalsOptions = {
    ...{ clock: systemClock, events, isForClients: !listens, seal: createQuestionSeal(access.key?.privateKey) },
    callerOf: ({ callerDID }) => (callerDID === undefined ? access.operator : access.canonicalDid(callerDID)),
    driveOwnerOf: (context) => driveOwnerOf(context, access),
    credentialsOf: (context) => chainOf(context, access),
    maySee: listens ? await sightOf(access, files) : () => false,
  };
  if (shared === undefined) return new Approvals(options);
  return (await import("../shared/pieces/approvals.js")).openSharedApprovals(shared, options);
}

/** As `approval:list` judges. Loaded only where somebody can follow events. */
async function sightOf(
  access: OpenApprovalsOptions["access"],
  files: OpenApprovalsOptions["files"],
): Promise<ApprovalsOptions["maySee"]> {
  const { maySee } = await import("../operations/approval/view.js");
  return (approval, context) => {
    const opened = files();
    return opened !== undefined && maySee(approval, { context, venue: { access, files: opened } });
  };
}
