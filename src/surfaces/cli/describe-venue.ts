import { parseGrant } from "../../authz/grant.js";
import type { VenueConfig } from "../../config/types.js";
import type { Capability } from "../../core/capability.js";
import { escapeText } from "../../core/texts.js";
import { verbsIn } from "./rights.js";
import { table } from "./table.js";

/** A venue as `check` found it. */
export interface VenueFacts {
  readonly config: VenueConfig;
  /** Listens where only this machine can reach it. */
  readonly loopback: boolean;
  /** Absent: known only once there is a key. */
  readonly did: string | undefined;
  /** The seed file does not exist yet. */
  readonly keyIsMade: boolean;
  readonly publicAccess: boolean;
  readonly publicCaps: readonly Capability[];
  /** State directory with the local token, where there is one. */
  readonly localTokenIn: string | undefined;
  readonly tokens: readonly TokenFacts[];
  readonly roots: readonly RootFacts[];
  readonly warnings: readonly string[];
}

export interface TokenFacts {
  readonly name: string;
  readonly did: string;
  readonly caps: readonly Capability[];
}

export interface RootFacts {
  readonly name: string;
  readonly kind: string;
  readonly readOnly: boolean;
  /** What keeps paths inside it. */
  readonly engine: string;
  readonly description?: string;
}

/** What `check` prints of one venue: what would run, and who may do what. */
export function describeVenue(facts: VenueFacts): string {
  const { config, roots, warnings } = facts;
  const settings: (readonly [string, string])[] = [
    ["listens on", listener(facts)],
    ["identity", identity(facts)],
    ["MCP", config.mcp === false ? "off" : "on, at /mcp"],
    ["assets", config.storage.content === "memory" ? "in memory" : `in ${config.storage.path}`],
    ["audit", config.audit.file ?? "off"],
    ["log", `${config.log.level}, to ${config.log.file ?? "standard error"}`],
    ["health and metrics", config.metrics === false ? "off" : `for ${readers(config.metrics)}`],
  ];
  const rows = roots.map(({ name, kind, readOnly, engine, description }) => [
    name,
    kind,
    readOnly ? "read-only" : "read-write",
    engine,
    escapeText(description ?? ""),
  ]);
  return [
    `Venue "${escapeText(config.name)}"`,
    table(settings),
    "",
    "Roots",
    table(rows),
    "",
    "Who may do what",
    table([...rightsOf(facts)]),
    ...warnings.map((warning) => `\nWarning: ${warning}`),
    "",
  ].join("\n");
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

function* rightsOf(facts: VenueFacts): Generator<readonly string[]> {
  const { config, localTokenIn } = facts;
  const operator = config.operator ?? "the venue itself";
  const by = localTokenIn === undefined ? "" : `, or whoever has the local token in ${localTokenIn}`;
  yield ["operator", `${operator}${by}`, "everything in every root"];
  for (const { name, did, caps } of facts.tokens) yield [`token ${name}`, did, inRoots(facts, caps)];
  yield ["anonymous", "", facts.publicAccess ? inRoots(facts, facts.publicCaps) : "refused"];
}

function inRoots({ roots }: VenueFacts, caps: readonly Capability[]): string {
  const grants = caps.map(parseGrant).filter((grant) => grant !== undefined);
  const parts = roots.flatMap((root) => {
    const verbs = verbsIn(root, grants);
    return verbs.length === 0 ? [] : [`${root.name}: ${verbs.join(", ")}`];
  });
  return parts.length === 0 ? "nothing" : parts.join("; ");
}
