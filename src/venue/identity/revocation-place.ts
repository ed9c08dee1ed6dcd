// Where a venue has its revocation list.

import { createHash } from "node:crypto";
import { join } from "node:path";
import type { VenueConfig } from "../../config/types.js";
import { checkFormat } from "../start/state/format.js";
import { stateDirIfAny, stateDirOf } from "../start/state/place.js";
import { NoStateDir } from "../start/state/state-dir.js";

export const LIST_NAME = "revocations";
/** Sorts before the list: a backup takes it first, so that the list is never behind. */
const GUARD = "revocation-guard";

/** Location of a venue's revocation list. */
export interface RevocationPlace {
  /** Absolute path. */
  readonly path: string;
  /** Whether `auth.ucan.revocations` names the file, which must then exist; otherwise it is in the state directory. */
  readonly isConfigured: boolean;
  /** Path of its guard. Absent: there is no state directory. */
  readonly guard?: string | undefined;
  /** Former location, from when the venue was alone in its process; no longer read. */
  readonly ofOneVenue?: string;
}

/** @throws NoStateDir when neither a path nor a state directory is configured; ConfigError for one of a newer format */
export function revocationPlace(
  config: Pick<VenueConfig, "auth" | "stateDir" | "stateBase">,
  env: Readonly<Record<string, string | undefined>>,
): RevocationPlace {
  const { revocations: path } = config.auth.ucan;
  if (path !== undefined) {
    const state = stateDirIfAny(config, env);
    // Several venues may have one state directory, and lists of their own.
    const name = createHash("sha256").update(path).digest("hex").slice(0, 16);
    return { path, isConfigured: true, guard: state && join(state, `${GUARD}-${name}`) };
  }
  if (config.stateDir === false) {
    throw new NoStateDir("There is no revocation list: 'stateDir' is false. Set 'auth.ucan.revocations' to a file");
  }
  const directory = stateDirOf(config, env);
  checkFormat(directory);
  const { stateBase } = config;
  const shared = stateBase === undefined ? {} : { ofOneVenue: join(stateBase, LIST_NAME) };
  return { path: join(directory, LIST_NAME), isConfigured: false, guard: join(directory, GUARD), ...shared };
}
