import { ConfigError } from "../../src/config/errors.js";
import { parseConfig, parseConfigs, parseFileConfig } from "../../src/config/load.js";
import type { VenueParseOptions } from "../../src/config/parse-venue.js";

/** Every problem of a venue's config; none when it is right. */
export function venueProblems(value: unknown, options: Partial<VenueParseOptions> = {}): readonly string[] {
  return problemsOf(() => parseConfig(value, { baseDir: "/base", ...options }));
}

/** Every problem of what a config file holds; none when it is right. */
export function configProblems(value: unknown, options: Partial<VenueParseOptions> = {}): readonly string[] {
  return problemsOf(() => parseConfigs(value, { baseDir: "/base", ...options }));
}

/** Every problem of a file adapter's config; none when it is right. */
export function fileProblems(value: unknown, options: Partial<VenueParseOptions> = {}): readonly string[] {
  return problemsOf(() => parseFileConfig(value, { baseDir: "/base", ...options }));
}

/** What a {@link ConfigError} thrown by `run` says; none when nothing is thrown. */
export function problemsOf(run: () => unknown): readonly string[] {
  return configErrorOf(run)?.problems ?? [];
}

/** The {@link ConfigError} thrown by `run`. */
export function configErrorOf(run: () => unknown): ConfigError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** `{a: {b: value}}` for `a.b`. */
export function at(keyPath: string, value: unknown): unknown {
  return keyPath.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}
