// The context of the drive commands.

import type { VenueConfig } from "../../config/types.js";
import type { OwnerDrives } from "../../drive/engine/owner-drives.js";
import type { DriveStore } from "../../venue/start/drives.js";
import type { CommandContext } from "../context.js";

/** Owner of the drives, by DID or by key. */
export type DriveUser = { readonly did: string } | { readonly key: string };

/** Context of a drive command. */
export interface DriveWork {
  readonly context: CommandContext;
  readonly config: VenueConfig;
  readonly drives: DriveStore;
  /** @throws UsageError, ConfigError if that user cannot have drives */
  didOf(user: DriveUser): string;
  of(user: DriveUser): OwnerDrives;
}
