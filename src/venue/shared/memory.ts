// Revocations and tokens of a venue that is one process: files of its state directory, as all processes with it see them.

import type { VenueConfig } from "../../config/types.js";
import type { Log } from "../../core/ports/log.js";
import type { TokenStore } from "../identity/access-entry.js";
import { openAccessStore } from "../identity/access-store.js";
import { type RevocationPlace, revocationPlace } from "../identity/revocation-place.js";
import { openRevocations, type RevocationList } from "../identity/revocations.js";
import { openState, stateDirIfAny } from "../start/state/place.js";
import { NoStateDir } from "../start/state/state-dir.js";

interface OpenOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Opens the revocation list. @param reserves as of {@link openRevocations} @throws ConfigError */
export function openList(
  config: VenueConfig,
  { env, log, reserves = false }: OpenOptions & { readonly reserves?: boolean | undefined },
): RevocationList {
  let place: RevocationPlace;
  try {
    place = revocationPlace(config, env);
  } catch (error) {
    if (!(error instanceof NoStateDir)) throw error;
    // Without a state directory there is no list; only adding to it fails.
    return { size: 0, entries: new Set(), has: () => false, add: () => Promise.reject(error) };
  }
  return openRevocations(place, { log, reserves, openState: () => openState(config, env, "auth.ucan.revocations") });
}

/** Opens the access tokens; reads and creates no file yet. @returns `undefined` without a state directory */
export function openTokens(
  config: Pick<VenueConfig, "stateDir" | "stateBase">,
  { env, log }: OpenOptions,
): TokenStore | undefined {
  const directory = stateDirIfAny(config, env);
  const open = () => void openState(config, env, "auth:issue");
  return directory === undefined ? undefined : openAccessStore(directory, { open, log });
}
