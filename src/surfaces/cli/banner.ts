import { covers, type Grant, parseGrant, wordsOf } from "../../authz/grant.js";
import type { Ability, Capability } from "../../core/capability.js";
import { escapeText } from "../../core/texts.js";

/** A root as the banner shows it. */
export interface BannerRoot {
  readonly name: string;
  readonly kind: string;
  readonly readOnly: boolean;
  readonly description?: string;
}

/** What `serve` tells the person who started it. */
export interface BannerFacts {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly did: string;
  readonly roots: readonly BannerRoot[];
  /** What callers without credentials may do. */
  readonly publicCaps: readonly Capability[];
  /** Whether such callers are served at all. */
  readonly publicAccess: boolean;
  readonly mcp: boolean;
}

/** The text that `serve` prints once it listens. */
export function banner(facts: BannerFacts): string {
  const grants = facts.publicCaps.map(parseGrant).filter((grant) => grant !== undefined);
  const rows = facts.roots.map((root) => [
    root.name,
    root.kind,
    root.readOnly ? "read-only" : "read-write",
    `anonymous callers: ${facts.publicAccess ? anonymous(root, grants) : "refused"}`,
    escapeText(root.description ?? ""),
  ]);
  const parts = [
    `venue-files ${facts.version} listens on ${facts.url}`,
    `DID ${facts.did}`,
    `\nRoots\n${table(rows)}`,
    `\nTry it\n  ${curlLine(facts, grants)}`,
  ];
  if (!facts.publicAccess)
    parts.push("\nNobody is served beyond this: anonymous access is off, and this version takes no tokens.");
  else if (facts.mcp) parts.push(`\nMCP client configuration\n${clientConfiguration(facts)}`);
  return `${parts.join("\n")}\n\nStop with Ctrl-C.\n`;
}

const VERBS: Readonly<Record<string, Ability>> = { read: "crud/read", write: "crud/write", delete: "crud/delete" };

/** Whether a grant gives an ability in a whole root. */
const coversRoot = (grant: Grant, root: string, ability: Ability): boolean =>
  covers(grant, { segments: [root], words: wordsOf(ability) });

/** Whether a grant gives an ability somewhere in a root. */
const reachesInto = (grant: Grant, root: string, ability: Ability): boolean =>
  coversRoot({ ...grant, segments: grant.segments.slice(0, 1) }, root, ability);

/** The verbs an anonymous caller has in a root. */
function anonymous(root: BannerRoot, grants: readonly Grant[]): string {
  const verbs: string[] = [];
  for (const [verb, ability] of Object.entries(VERBS)) {
    if (root.readOnly && ability !== "crud/read") continue;
    if (grants.some((grant) => coversRoot(grant, root.name, ability))) verbs.push(verb);
    else if (grants.some((grant) => reachesInto(grant, root.name, ability))) verbs.push(`${verb} in parts`);
  }
  return verbs.length === 0 ? "nothing" : verbs.join(", ");
}

/** One call that works as it stands and harms nothing: a write only where nobody keeps anything, else a look. */
function curlLine(facts: BannerFacts, grants: readonly Grant[]): string {
  const has = (root: BannerRoot, ability: Ability) => grants.some((grant) => coversRoot(grant, root.name, ability));
  const writable = facts.roots.find((root) => root.kind === "temp" && !root.readOnly && has(root, "crud/write"));
  if (writable !== undefined) {
    const input = { root: writable.name, path: "hello.txt", content: "Hello" };
    return invokeLine(facts, { operation: "v/ops/file/write", input });
  }
  const readable = facts.roots.find((root) => has(root, "crud/read"));
  if (readable !== undefined)
    return invokeLine(facts, { operation: "v/ops/file/tree", input: { root: readable.name } });
  const readsSomewhere = facts.roots.some(({ name }) => grants.some((grant) => reachesInto(grant, name, "crud/read")));
  if (readsSomewhere) return invokeLine(facts, { operation: "v/ops/file/roots" });
  return `curl -s ${quote(`${facts.url}/api/v1/status`)}`;
}

const invokeLine = (facts: BannerFacts, body: object): string =>
  `curl -s ${quote(`${facts.url}/api/v1/invoke`)} -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}`;

/** One word for a shell, whatever it holds; an address such as `[::1]` would be a pattern to some. */
const quote = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function clientConfiguration(facts: BannerFacts): string {
  const configuration = { mcpServers: { [facts.name]: { type: "http", url: `${facts.url}/mcp` } } };
  return JSON.stringify(configuration, undefined, 2).replace(/^/gm, "  ");
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .join("\n");
}
