// Prevents two venues of one process from sharing a state directory.

import { ConfigError } from "../../../config/errors.js";
import type { VenueConfig } from "../../../config/types.js";
import { escapeText } from "../../../core/errors/texts.js";
import { isSameFolder, realPath } from "../../../process/host-path.js";
import type { Closable } from "../all-or-nothing.js";
import { hasLocalToken } from "./place.js";
import { knownStateDir } from "./secrets.js";

/** State directories claimed by venues of this process, as real paths. */
const claimed = new Set<string>();

const NOTHING: Closable = { close: async () => {} };

/**
 * Claims a state directory for one venue of this process: two venues would share the operator's token and the
 * revocation list. No claim is needed when `auth.localToken` is off and `auth.ucan.revocations` is set, since neither
 * is there then.
 *
 * @returns releases the claim when closed
 * @throws ConfigError 78 when another venue has claimed it
 */
export function claimState(config: VenueConfig, env: Readonly<Record<string, string | undefined>>): Closable {
  if (!hasLocalToken(config) && config.auth.ucan.revocations !== undefined) return NOTHING;
  const directory = knownStateDir(config, env);
  if (directory === undefined) return NOTHING;
  const path = realPath(directory);
  if ([...claimed].some((other) => isSameFolder(other, path))) {
    const fault = "another venue of this process has it, and would share its local token and revocation list";
    const advice = "Give this one a 'stateDir' of its own, or close the other first";
    throw new ConfigError([`'stateDir' cannot be used: ${fault}: ${escapeText(directory)}. ${advice}`], 78);
  }
  claimed.add(path);
  return {
    close: async () => {
      claimed.delete(path);
    },
  };
}
