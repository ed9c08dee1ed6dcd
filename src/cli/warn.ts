import type { OpenVenue } from "../venue/start/open-venue.js";
import type { CommandContext } from "./context.js";

/** What an operator should know, once per start; it may hold host paths, so it is not for the log. */
export function warn({ config, adapter }: OpenVenue, { stderr }: CommandContext): void {
  for (const warning of [...config.warnings, ...adapter.warnings]) stderr.write(`Warning: ${warning}\n`);
}
