// The capabilities of anonymous callers.

import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import type { Capability } from "../../core/call/capability.js";

/** Whether callers without credentials are served. */
export const servesPublic = (config: VenueConfig): boolean => config.auth.public.enabled ?? isLoopbackListener(config);

/**
 * Capabilities of callers without credentials; none when they are not served. Default: on a loopback listener
 * everything in temp roots and reading elsewhere; on any other listener, reading.
 */
export function publicCapsOf(config: VenueConfig): readonly Capability[] {
  if (!servesPublic(config)) return [];
  if (config.auth.public.caps !== undefined) return config.auth.public.caps;
  const all: Capability = { with: "file://", can: "crud/read" };
  if (!isLoopbackListener(config)) return [all];
  const temp = Object.entries(config.file.roots).filter(([, root]) => root.kind === "temp");
  return [all, ...temp.map(([name]) => ({ with: `file://${name}/`, can: "crud" }))];
}
