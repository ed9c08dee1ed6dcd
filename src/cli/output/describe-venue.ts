// Formats the report of `check`.

import { EVERYTHING, type Grant } from "../../authz/grant.js";
import type { DidGrant, UcanConfig, VenueConfig } from "../../config/types.js";
import type { Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { RootFacts } from "../../core/ports/operation.js";
import { printDuration } from "../arguments/duration.js";
import type { BannerRoot } from "./banner.js";
import { grantsOf, verbsIn } from "./rights.js";
import { table } from "./table.js";

/** Facts about a venue, gathered by `check`. */
export interface VenueFacts {
  readonly config: VenueConfig;
  /** Reachable only from this machine. */
  readonly loopback: boolean;
  /** Absent: unknown until the venue has a key. */
  readonly did: string | undefined;
  /** The seed file does not exist yet. */
  readonly keyIsMade: boolean;
  readonly publicAccess: boolean;
  readonly publicCaps: readonly Capability[];
  /** State directory with the local token, if any. */
  readonly localTokenIn: string | undefined;
  readonly tokens: readonly TokenFacts[];
  /** Canonical DID of the operator. Absent: unknown until the venue has a key. */
  readonly operatorDid: string | undefined;
  /** Grants in the configuration, with canonical DIDs. */
  readonly grants: readonly DidGrant[];
  readonly revocations: RevocationFacts;
  readonly roots: readonly ShownRoot[];
  /** One row for each profile with a shell: its name, and the sandbox of its commands. */
  readonly commands: readonly (readonly string[])[];
  /** The state directory, whether or not it is needed. Absent: there is none. */
  readonly state: string | undefined;
  /** Location of drives, in words. */
  readonly drives: string;
  /** Where assets are kept. */
  readonly assets: string;
  readonly warnings: readonly string[];
}

export interface TokenFacts {
  readonly name: string;
  readonly did: string;
  readonly caps: readonly Capability[];
}

/** The revocation list in use. Without `path` there can be none; without `entries` the file does not exist yet. */
export interface RevocationFacts {
  readonly path?: string;
  readonly entries?: number | undefined;
  has(did: string): boolean;
  /** Whether a static token is revoked, by its DID or by its name below the venue. */
  hasToken(name: string, did: string): boolean;
}

export interface ShownRoot extends BannerRoot, Pick<RootFacts, "patterns"> {
  /** Mechanism that confines paths to the root. */
  readonly engine: string;
  /** Description of the journal; absent: none. */
  readonly journal?: string;
}

/** Text of `check` for one venue: its settings, and the authority of each caller. */
export function describeVenue(facts: VenueFacts): string {
  const { config, roots, warnings } = facts;
  const settings: (readonly [string, string])[] = [
    ["listens on", listener(facts)],
    ["identity", identity(facts)],
    ["UCANs", ucans(config.auth.ucan)],
    ["revocations", revocationList(facts.revocations)],
    ["MCP", config.mcp === false ? "off" : "on, at /mcp"],
    ["assets", facts.assets],
    ["state", facts.state ?? "none"],
    ...(facts.localTokenIn === undefined ? [] : ([["local token", `kept in ${facts.localTokenIn}`]] as const)),
    ["drives", facts.drives],
    ["audit", config.audit.file ?? "off"],
    ["log", `${config.log.level}, to ${config.log.file ?? "standard error"}`],
    ["health and metrics", config.metrics === false ? "off" : `for ${readers(config.metrics)}`],
  ];
  const rows = roots.map(({ name, kind, readOnly, engine, description, owner, journal, patterns }) => [
    name,
    kind,
    readOnly ? "read-only" : "read-write",
    engine,
    ...(roots.some((root) => root.journal !== undefined) ? [journal ?? ""] : []),
    ...(roots.some((root) => root.patterns !== undefined) ? [guardsText(patterns)] : []),
    ...(roots.some(isOwned) ? [owner === undefined ? "" : `owner ${owner}`] : []),
    escapeText(description ?? ""),
  ]);
  return [
    `Venue "${escapeText(config.name)}"`,
    table(settings),
    "",
    "Roots",
    table(rows),
    "",
    ...profileLines(config),
    ...(facts.commands.length === 0 ? [] : ["Commands, as they run from here", table(facts.commands), ""]),
    "Who may do what",
    table([...rightsOf(facts)]),
    ...warnings.map((warning) => `\nWarning: ${warning}`),
    "",
  ].join("\n");
}

/** The deny and protect patterns of a root. */
function guardsText({ deny, protect }: NonNullable<ShownRoot["patterns"]> = { deny: [], protect: [] }): string {
  const parts = [
    ...(deny.length === 0 ? [] : [`hides ${deny.join(", ")}`]),
    ...(protect.length === 0 ? [] : [`protects ${protect.join(", ")}`]),
  ];
  return escapeText(parts.join("; "));
}

function profileLines({ profiles }: VenueConfig): string[] {
  const rows = Object.entries(profiles).map(([name, { profile, root, prefix, shell }]) => [
    name,
    profile,
    `on ${root}${prefix === undefined ? "" : `/${escapeText(prefix)}`}`,
    shell === undefined ? "no shell" : `shell ${shell.unsafe ? "WITHOUT A GUARD" : shell.driver}`,
  ]);
  return rows.length === 0 ? [] : ["Profiles", table(rows), ""];
}

const readers = (metrics: "operator" | "public"): string => (metrics === "public" ? "everybody" : "the operator");

function listener({ config, loopback }: VenueFacts): string {
  const where = config.listen?.socket ?? `http://${config.hostname}:${config.port}`;
  const reach = loopback ? "reachable from this machine only" : "reachable from outside";
  return `${where} (${reach})${config.baseUrl === undefined ? "" : `, known as ${config.baseUrl}`}`;
}

function identity({ config, did, keyIsMade }: VenueFacts): string {
  if (did !== undefined) return did;
  if (keyIsMade) return `a new key, to be kept in ${config.seedFile ?? ""}`;
  return "a fresh key at each start; set 'seedFile' to keep one";
}

function ucans({ maxLifetime, allowNoExpiry, acceptUnversionedCovia }: UcanConfig): string {
  const endless = allowNoExpiry ? ", or without end" : "";
  return `accepted for ${printDuration(maxLifetime)} at most${endless}${acceptUnversionedCovia ? "; those of old Java venues too" : ""}`;
}

function revocationList({ path, entries }: RevocationFacts): string {
  if (path === undefined) return "none, since there is no state directory; set 'auth.ucan.revocations' to keep one";
  if (entries === undefined) return `none yet; kept in ${path}`;
  return `${counted(entries, "entry", "entries")} in ${path}`;
}

const isOwned = ({ owner }: ShownRoot): boolean => owner !== undefined;

function* rightsOf(facts: VenueFacts): Generator<readonly string[]> {
  const { config, localTokenIn, roots, revocations } = facts;
  const operator = config.operator ?? "the venue itself";
  const by = localTokenIn === undefined ? "" : ", or the local token";
  yield ["operator", `${operator}${by}`, "everything in every root"];
  yield* holders(facts);
  for (const { name, did, caps } of facts.tokens) {
    const rights = () => inRoots(roots, [...grantsOf(caps), ...grantsTo(did, facts)]);
    yield [`token ${name}`, did, revocations.hasToken(name, did) ? REVOKED : rights()];
  }
  for (const { issuer, map } of config.auth.issuers) {
    for (const { when, caps } of map) {
      const claims = Object.entries(when).map(([claim, text]) => ` ${claim}=${text}`);
      yield [
        "issuer",
        escapeText(`${issuer}${claims.join("")}`),
        `${inRoots(roots, grantsOf(caps))}, as far as scopes go`,
      ];
    }
  }
  yield ["anonymous", "", facts.publicAccess ? anonymous(facts) : "refused"];
}

/** Rows for owners and holders of grants, other than the operator. */
function* holders(facts: VenueFacts): Generator<readonly string[]> {
  const { roots, grants, operatorDid, revocations } = facts;
  const owners = new Set(roots.map(({ owner }) => owner).filter((owner) => owner !== undefined));
  for (const did of new Set([...owners, ...grants.map((grant) => grant.did)])) {
    if (did === operatorDid) continue;
    const owned = roots.filter(({ owner }) => owner === did).map(({ name }) => ({ ...EVERYTHING, segments: [name] }));
    const rights = revocations.has(did) ? REVOKED : inRoots(roots, [...owned, ...grantsTo(did, facts)]);
    yield [owners.has(did) ? "owner" : "granted", did, rights];
  }
}

const grantsTo = (did: string, { grants }: VenueFacts): readonly Grant[] =>
  grantsOf(grants.filter((grant) => grant.did === did));

/** Rights of callers without credentials, which all other callers have too. */
function anonymous({ roots, publicCaps }: VenueFacts): string {
  const rights = inRoots(
    roots.filter((root) => !isOwned(root)),
    grantsOf(publicCaps),
  );
  return rights === NOTHING || !roots.some(isOwned) ? rights : `${rights}; nothing in roots with an owner`;
}

const NOTHING = "nothing";
const REVOKED = "nothing, it is revoked";

function inRoots(roots: readonly ShownRoot[], grants: readonly Grant[]): string {
  const parts = roots.flatMap((root) => {
    const verbs = verbsIn(root, grants);
    return verbs.length === 0 ? [] : [`${root.name}: ${verbs.join(", ")}`];
  });
  return parts.length === 0 ? NOTHING : parts.join("; ");
}
