// Parses and completes the configuration of one venue.

import { isObject } from "../core/unknown.js";
import type { JsonSchema } from "./checks/check-schema.js";
import { checkValue, type Place, placeBelow, quotedPath } from "./checks/check-schema.js";
import { warnOfDrives, warnOfPlainText } from "./checks/drives.js";
import { warnOfIdleRights } from "./checks/idle-rights.js";
import { canonicalPrefix, checkProfiles } from "./checks/profiles.js";
import { checkRelations, type IsGrant } from "./checks/relations.js";
import { checkShared } from "./checks/shared.js";
import {
  completeFile,
  DEFAULT_ROOT,
  deepFreeze,
  type FileParseOptions,
  joinRoots,
  parseExtraRoots,
} from "./parse-file.js";
import type { AuthConfig, CheckedVenue, DraftVenue, ProfileConfig, StorageConfig, VenueConfig } from "./types.js";
import { normaliseBaseUrl, normaliseHost, normaliseOrigin } from "./web-url.js";

/** Options for parsing a venue's config. */
export interface VenueParseOptions extends FileParseOptions {
  /** Absent: capabilities are not checked. */
  readonly isGrant?: IsGrant | undefined;
  /** Where to listen, in place of what the config says; only for a single venue. */
  readonly listener?: ListenerOverride | undefined;
}

/** Host name and port of the command line. */
export interface ListenerOverride {
  readonly hostname?: string | undefined;
  readonly port?: number | undefined;
}

/** A checked venue. */
export interface ReadVenue {
  readonly place: Place;
  /** Its valid parts. */
  readonly draft: DraftVenue;
  /** Its final form; call only if there are no problems. */
  complete(): VenueConfig;
}

const VENUE: JsonSchema = { $ref: "#/$defs/venue" };

/** Checks a venue, adding problems to the check of `venue`. */
export function readVenue(venue: Place, value: unknown, options: VenueParseOptions): ReadVenue {
  const { rest, warnings, problems } = takeReferenceKeys(venue, overrideListener(value, options.listener));
  venue.check.problems.push(...problems);
  const checked = checkValue(venue, VENUE, rest);
  const draft = parseDraft(checked);
  checkRelations(venue, draft, options.isGrant);
  const mcp = fitMcp(venue, draft, rest);
  const filePlace = placeBelow(venue, "file");
  const extraRoots = parseExtraRoots(filePlace, draft.file?.roots, options);
  checkProfiles(venue, draft, rootNames(draft, extraRoots));
  checkShared(venue, draft, extraRoots);
  return {
    place: venue,
    draft,
    complete() {
      // A draft without problems is complete.
      const { file, ...others } = { ...draft, mcp } as CheckedVenue;
      const roots = joinRoots(file.roots, extraRoots);
      const config = { ...normalise(others), file: completeFile(filePlace, { ...file, roots }), warnings };
      return deepFreeze({
        ...config,
        warnings: [
          ...warnings,
          ...warnOfIdleRights(venue, config),
          ...warnOfPlainText(venue, config),
          ...warnOfDrives(venue, config),
          ...warnOfIdentity(venue, config),
        ],
      });
    },
  };
}

function overrideListener(value: unknown, { hostname, port }: ListenerOverride = {}): unknown {
  if (!isObject(value) || (hostname === undefined && port === undefined)) return value;
  const { listen: _, ...others } = value;
  return { ...others, ...(hostname === undefined ? {} : { hostname }), ...(port === undefined ? {} : { port }) };
}

/** Warns that without a state directory the venue's identity is not persistent. */
function* warnOfIdentity(venue: Place, { stateDir, seed, seedFile }: VenueConfig): Generator<string> {
  if (stateDir !== false || seed !== undefined || seedFile !== undefined) return;
  const [key, file] = ["seed", "seedFile"].map((name) => quotedPath(placeBelow(venue, name)));
  yield `The identity of this venue ends with its process: set ${key} or ${file} to keep one`;
}

/** An invalid venue (not an object) becomes an empty draft. `$schema` is for editors. */
function parseDraft(checked: unknown): DraftVenue {
  const { $schema: _, ...draft } = (checked ?? {}) as DraftVenue & { readonly $schema?: string };
  return draft;
}

/** `undefined` if not all names are known. */
function rootNames({ file }: DraftVenue, extraRoots: object): readonly string[] | undefined {
  if (file?.roots === undefined) return undefined;
  const names = [...Object.keys(file.roots), ...Object.keys(extraRoots)];
  return names.length === 0 ? [DEFAULT_ROOT] : names;
}

/** Normalises values with several spellings, such as URLs and hex digits. */
function normalise({
  seed,
  baseUrl,
  hosts,
  auth,
  corsOrigins,
  storage,
  profiles,
  ...others
}: Omit<CheckedVenue, "file">) {
  const url = baseUrl === undefined ? undefined : normaliseBaseUrl(baseUrl);
  return {
    ...others,
    ...(seed === undefined ? {} : { seed: seed.toLowerCase() }),
    ...(url === undefined ? {} : { baseUrl: url }),
    hosts: hosts.map(normaliseHost).filter((name) => name !== undefined),
    auth: { ...auth, tokens: auth.tokens.map(normaliseToken) },
    corsOrigins:
      corsOrigins === "*" ? corsOrigins : corsOrigins.map(normaliseOrigin).filter((origin) => origin !== undefined),
    storage: normaliseStorage(storage),
    profiles: Object.fromEntries(Object.entries(profiles).map(([name, one]) => [name, normaliseProfile(one)])),
  };
}

function normaliseToken(token: AuthConfig["tokens"][number]): AuthConfig["tokens"][number] {
  const { sha256 } = token.token;
  return sha256 === undefined ? token : { ...token, token: { sha256: sha256.toLowerCase() } };
}

function normaliseProfile({ prefix, ...profile }: ProfileConfig): ProfileConfig {
  const canonical = prefix === undefined ? undefined : canonicalPrefix(prefix);
  return canonical === undefined ? profile : { ...profile, prefix: canonical };
}

function normaliseStorage({ path, s3 }: CheckedVenue["storage"]): StorageConfig {
  if (s3 !== undefined) return { content: "s3", s3 };
  return path === undefined ? { content: "memory" } : { content: "file", path };
}

// Fits the MCP read sizes into the limits of the roots.

/**
 * Fits the MCP read sizes into the limits they depend on: an explicit value that is too large is a problem; a default
 * is lowered to the limit.
 *
 * @param written the venue as written, without defaults
 */
function fitMcp(venue: Place, { mcp, file }: DraftVenue, written: unknown): DraftVenue["mcp"] {
  if (mcp === undefined || mcp === false) return mcp;
  const place = placeBelow(venue, "mcp");
  const own = writtenMcp(written);
  const within = (key: "maxReadBytes" | "defaultReadBytes", limit: number | undefined, limitPlace: Place) => {
    const value = mcp[key];
    if (value === undefined || limit === undefined || value <= limit) return value;
    if (own[key] === undefined) return limit;
    const most = `at most ${quotedPath(limitPlace)} (${limit}), not ${value}`;
    place.check.problems.push(`${quotedPath(placeBelow(place, key))} must be ${most}`);
    return undefined;
  };
  const limitPlace = placeBelow(venue, "file", "limits", "maxReadBytes");
  const maxReadBytes = within("maxReadBytes", file?.limits?.maxReadBytes, limitPlace);
  const defaultReadBytes = within("defaultReadBytes", maxReadBytes, placeBelow(place, "maxReadBytes"));
  return { ...mcp, maxReadBytes, defaultReadBytes };
}

function writtenMcp(venue: unknown): Readonly<Record<string, unknown>> {
  const { mcp } = isObject(venue) ? venue : {};
  return isObject(mcp) ? mcp : {};
}

// Accepts keys of the reference implementation: those without effect here are warnings, the others are problems.

/** Keys of the reference implementation that have no effect here. */
const IGNORED_KEYS: readonly string[] = ["store", "acceptQueueSize", "fixMcpStrings", "secrets", "a2a"];
/** Keys that enable a service; ignoring one that is switched on would be misleading, so that is a problem. */
const SERVICE_KEYS: readonly string[] = ["a2a"];

/** A venue without its reference keys, and the warnings and problems about them. */
interface WithoutReferenceKeys {
  readonly rest: unknown;
  readonly warnings: readonly string[];
  readonly problems: readonly string[];
}

/** Removes keys of the reference implementation, so that configs written for it can be used here. */
function takeReferenceKeys(place: Place, venue: unknown): WithoutReferenceKeys {
  if (!isObject(venue)) return { rest: venue, warnings: [], problems: [] };
  const found = IGNORED_KEYS.filter((key) => Object.hasOwn(venue, key));
  const refused = found.filter((key) => SERVICE_KEYS.includes(key) && isEnabled(venue[key]));
  return {
    rest: Object.fromEntries(Object.entries(venue).filter(([key]) => !found.includes(key))),
    warnings: found
      .filter((key) => !refused.includes(key))
      .map((key) => `Config key ${quotedPath(placeBelow(place, key))} has no function in this venue and is ignored`),
    problems: refused.map((key) => `${quotedPath(placeBelow(place, key))} is not supported by this venue`),
  };
}

function isEnabled(value: unknown): boolean {
  if (!isObject(value)) return value === true;
  const { enabled } = value;
  return enabled !== false;
}
