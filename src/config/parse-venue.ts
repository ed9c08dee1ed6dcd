// Parses and completes the configuration of one venue.

import { isObject } from "../core/unknown.js";
import type { CheckedVenue, DraftVenue } from "./checked-venue.js";
import { checkValue, type Place, placeBelow, quotedPath } from "./checks/check-schema.js";
import { warnOfDrives } from "./checks/drives.js";
import { fitMcp } from "./checks/fit-mcp.js";
import { warnOfIdleRights } from "./checks/idle-rights.js";
import type { JsonSchema } from "./checks/json-schema.js";
import { canonicalPrefix, checkProfiles } from "./checks/profiles.js";
import { takeReferenceKeys } from "./checks/reference-keys.js";
import { checkRelations, type IsGrant } from "./checks/relations.js";
import {
  completeFile,
  DEFAULT_ROOT,
  deepFreeze,
  type FileParseOptions,
  joinRoots,
  parseExtraRoots,
} from "./parse-file.js";
import type { AuthConfig, ProfileConfig, StorageConfig, VenueConfig } from "./types.js";
import { normaliseBaseUrl, normaliseOrigin } from "./web-url.js";

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
  return {
    place: venue,
    draft,
    complete() {
      const { file, ...others } = parseChecked({ ...draft, mcp });
      const roots = joinRoots(file.roots, extraRoots);
      const config = { ...normalise(others), file: completeFile(filePlace, { ...file, roots }), warnings };
      return deepFreeze({
        ...config,
        warnings: [
          ...warnings,
          ...warnOfIdleRights(venue, config),
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

/** Casts a draft without problems, which is complete. */
function parseChecked(draft: DraftVenue): CheckedVenue {
  return draft as CheckedVenue;
}

/** Normalises values with several spellings, such as URLs and hex digits. */
function normalise({ seed, baseUrl, auth, corsOrigins, storage, profiles, ...others }: Omit<CheckedVenue, "file">) {
  const url = baseUrl === undefined ? undefined : normaliseBaseUrl(baseUrl);
  return {
    ...others,
    ...(seed === undefined ? {} : { seed: seed.toLowerCase() }),
    ...(url === undefined ? {} : { baseUrl: url }),
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

function normaliseStorage({ path }: CheckedVenue["storage"]): StorageConfig {
  return path === undefined ? { content: "memory" } : { content: "file", path };
}
