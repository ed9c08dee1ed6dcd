// Prints the warnings of a configuration.

import type { OpenVenue } from "../venue/start/open-venue.js";
import type { CommandContext } from "./context.js";

/** Prints warnings to standard error once per start; not to the log, since they may contain host paths. */
export function warn({ config, adapter }: OpenVenue, { stderr }: CommandContext): void {
  for (const warning of [...config.warnings, ...adapter.warnings]) stderr.write(`Warning: ${warning}\n`);
}
