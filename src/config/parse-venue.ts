import { resolve } from "node:path";
import type { Capability } from "../core/capability.js";
import { below, checkValue, type Place, quoted, type SchemaCheck } from "./check-schema.js";
import { deepFreeze } from "./deep-freeze.js";
import { ConfigError } from "./errors.js";
import { isObject, type JsonSchema } from "./json-schema.js";
import { type CheckedFile, completeFile, type FileParseOptions, joinRoots, parseExtraRoots } from "./parse-file.js";
import { takeReferenceKeys } from "./reference-keys.js";
import type { McpConfig, VenueConfig } from "./types.js";

/** What reading a venue's config depends on. */
export interface VenueParseOptions extends FileParseOptions {
  /** Whether a capability grants anything, as the authorisation will parse it. Absent: not checked. */
  readonly isGrant?: ((capability: unknown) => boolean) | undefined;
}

/** A venue after the schema; complete only when there was no problem. */
interface CheckedVenue extends Omit<VenueConfig, "file" | "warnings"> {
  readonly file: CheckedFile;
}

/** The same while there may be problems: any part can be missing. */
interface DraftVenue {
  readonly auth?: { readonly public?: { readonly caps?: readonly (Partial<Capability> | undefined)[] } };
  readonly mcp?: false | { readonly [Key in keyof McpConfig]?: number | undefined };
  readonly file?: Partial<Pick<CheckedFile, "roots">> & { readonly limits?: Partial<CheckedFile["limits"]> };
}

/** Checks and completes a venue's config. @throws ConfigError */
export function parseVenue(document: JsonSchema, value: unknown, options: VenueParseOptions): VenueConfig {
  const { rest, warnings, problems } = takeReferenceKeys(value);
  const check: SchemaCheck = { document, hiddenKeys: 0, problems: [...problems] };
  const venue: Place = { check, path: [] };
  const filePlace = below(venue, "file");

  const checked = checkValue(venue, document, rest);
  const draft = (checked ?? {}) as DraftVenue;
  checkCaps(below(below(below(venue, "auth"), "public"), "caps"), draft, options);
  const mcp = fitMcp(below(venue, "mcp"), draft, rest);
  const extraRoots = parseExtraRoots(filePlace, draft.file?.roots, options);
  if (check.problems.length > 0) throw new ConfigError(check.problems, 78);

  const { audit, file, ...others } = checked as CheckedVenue;
  return deepFreeze({
    ...others,
    mcp: mcp as VenueConfig["mcp"],
    audit: audit.file === undefined ? {} : { file: resolve(options.baseDir, audit.file) },
    file: completeFile(filePlace, { ...file, roots: joinRoots(file.roots, extraRoots) }, options),
    warnings,
  });
}

function checkCaps(place: Place, draft: DraftVenue, { isGrant }: VenueParseOptions): void {
  if (isGrant === undefined) return;
  for (const [index, capability] of (draft.auth?.public?.caps ?? []).entries()) {
    // Where a member is missing or no string, that has been said already.
    const isComplete = capability?.with !== undefined && capability.can !== undefined;
    if (!isComplete || isGrant(capability)) continue;
    const expected = `expected 'with' to be a resource such as "file://docs/" and 'can' an ability such as "crud/read"`;
    place.check.problems.push(`${quoted(below(place, index))} grants nothing: ${expected}`);
  }
}

/**
 * Holds the read sizes of MCP within the limits they depend on: one that was set too large is a problem, a default
 * gives way to a limit that was set lower.
 */
function fitMcp(place: Place, { mcp, file }: DraftVenue, venue: unknown): DraftVenue["mcp"] {
  if (mcp === undefined || mcp === false) return mcp;
  const written = writtenMcp(venue);
  const within = (key: "maxReadBytes" | "defaultReadBytes", limit: number | undefined, limitKey: string) => {
    const value = mcp[key];
    if (value === undefined || limit === undefined || value <= limit) return value;
    if (written[key] === undefined) return limit;
    place.check.problems.push(`${quoted(below(place, key))} must be at most '${limitKey}' (${limit}), not ${value}`);
    return undefined;
  };
  const maxReadBytes = within("maxReadBytes", file?.limits?.maxReadBytes, "file.limits.maxReadBytes");
  const defaultReadBytes = within("defaultReadBytes", maxReadBytes, "mcp.maxReadBytes");
  return { ...mcp, maxReadBytes, defaultReadBytes };
}

/** The `mcp` part as its author wrote it, so without defaults. */
function writtenMcp(venue: unknown): Readonly<Record<string, unknown>> {
  const { mcp } = isObject(venue) ? venue : {};
  return isObject(mcp) ? mcp : {};
}
