// Selects the profile of `mcp --profile`.

import { ConfigError } from "../config/errors.js";
import type { ProfileConfig, VenueConfig } from "../config/types.js";
import { escapeText } from "../core/errors/texts.js";
import { nearestName } from "../schema/nearest.js";
import { EXIT } from "./context.js";

/** Profiles that need no configuration if there is exactly one root. */
const BARE: Readonly<Record<string, ProfileConfig["profile"]>> = { jettson: "jettson", everruns: "everruns" };

/** The configuration with the named profile: configured, or built in and on its only root. @throws ConfigError */
export function withProfile(config: VenueConfig, name: string): VenueConfig {
  const found = findProfile(config, name);
  if (found !== undefined) return found;
  const known = Object.keys(config.profiles);
  const near = nearestName(name, [...known, ...Object.keys(BARE)]);
  const advice = near === undefined ? "" : ` - did you mean '${near}'?`;
  const listed = `Built in: ${Object.keys(BARE).join(", ")}. Configured: ${known.join(", ") || "none"}`;
  const reason = Object.hasOwn(BARE, name)
    ? ": it has to be configured, since there are several roots"
    : `${advice || "."} ${listed}`;
  throw new ConfigError([`Profile '${escapeText(name)}' does not exist${reason}`], EXIT.config);
}

/** {@link withProfile}, but `undefined` if there is no such profile. */
export function findProfile(config: VenueConfig, name: string): VenueConfig | undefined {
  if (Object.hasOwn(config.profiles, name)) return config;
  const profile = Object.hasOwn(BARE, name) ? BARE[name] : undefined;
  const [root, ...others] = Object.keys(config.file.roots);
  if (profile === undefined || root === undefined || others.length > 0) return undefined;
  return { ...config, profiles: { ...config.profiles, [name]: { profile, root } } };
}
