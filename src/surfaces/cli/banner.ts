import type { Capability } from "../../core/capability.js";

/** What `serve` tells the person who started it. */
export interface BannerFacts {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly did: string;
  readonly roots: readonly {
    readonly name: string;
    readonly kind: string;
    readonly readOnly: boolean;
    readonly description?: string;
  }[];
  /** What callers without credentials may do. */
  readonly publicCaps: readonly Capability[];
  /** Whether such callers are served at all. */
  readonly publicAccess: boolean;
  readonly mcp: boolean;
}

/** The text that `serve` prints once it listens. */
export function banner(facts: BannerFacts): string {
  const parts = [
    `venue-files ${facts.version} listens on ${facts.url}`,
    `DID ${facts.did}`,
    `\nRoots\n${table(facts.roots.map((root) => [root.name, root.kind, root.readOnly ? "read-only" : "read-write", anonymous(root.name, facts), root.description ?? ""]))}`,
    `\nTry it\n  ${curlLine(facts)}`,
  ];
  if (facts.mcp) parts.push(`\nMCP client configuration\n${clientConfiguration(facts)}`);
  return `${parts.join("\n")}\n\nStop with Ctrl-C.\n`;
}

const VERBS = ["read", "write", "delete"] as const;

/** What an anonymous caller may do somewhere in a root. */
function anonymousVerbs(root: string, facts: BannerFacts): string[] {
  const there = facts.publicCaps.filter(
    ({ with: resource }) => resource === "file://" || `${resource}/`.startsWith(`file://${root}/`),
  );
  return VERBS.filter((verb) => there.some(({ can }) => ["*", "crud", "crud/*", `crud/${verb}`].includes(can)));
}

function anonymous(root: string, facts: BannerFacts): string {
  if (!facts.publicAccess) return "anonymous callers: refused";
  const readOnly = facts.roots.find(({ name }) => name === root)?.readOnly === true;
  const verbs = anonymousVerbs(root, facts).filter((verb) => verb === "read" || !readOnly);
  return `anonymous callers: ${verbs.length === 0 ? "nothing" : verbs.join(", ")}`;
}

/** One call that works as it stands: a write where anybody may, else a look at what is there. */
function curlLine(facts: BannerFacts): string {
  const writable = facts.roots.find(
    (root) =>
      !root.readOnly &&
      facts.publicCaps.some(
        ({ with: resource, can }) =>
          isWhole(resource, root.name) && ["*", "crud", "crud/*", "crud/write"].includes(can),
      ),
  );
  const readable = facts.roots.find((root) => anonymousVerbs(root.name, facts).includes("read"));
  if (writable !== undefined)
    return curl(facts, {
      operation: "v/ops/file/write",
      input: { root: writable.name, path: "hello.txt", content: "Hello" },
    });
  if (readable !== undefined) return curl(facts, { operation: "v/ops/file/tree", input: { root: readable.name } });
  return `curl -s ${facts.url}/api/v1/status`;
}

const isWhole = (resource: string, root: string): boolean =>
  ["file://", `file://${root}`, `file://${root}/`].includes(resource);

const curl = (facts: BannerFacts, body: object): string =>
  `curl -s ${facts.url}/api/v1/invoke -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;

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
    .map(
      (row) =>
        `  ${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}`,
    )
    .join("\n");
}
