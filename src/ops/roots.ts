import type { QuotaFacts } from "../core/file-config.js";
import { type Operation, READS, type RootFacts } from "../core/ports/operation.js";
import type { RootsInput, RootsOutput } from "../schema/types.js";

/** `roots`: the roots in which the caller holds a grant. */
export const roots: Operation<RootsInput, RootsOutput> = {
  name: "roots",
  on: "roots",
  ...READS,
  run: async (_input, { visible, discloseHostPaths }) => ({
    roots: await Promise.all(
      visible.map(async (root) => ({
        name: root.name,
        path: placeOf(root, discloseHostPaths),
        kind: root.kind === "memory" ? "temp" : root.kind,
        readOnly: root.readOnly,
        ...(root.description === undefined ? {} : { description: root.description }),
        ...quotaOf(root),
        ...patternsOf(root, discloseHostPaths),
        ...(await keptOf(root)),
      })),
    ),
  }),
};

/** Patterns that an answer names at most, of each kind. */
const MAX_PATTERNS = 10;

/** Denied and protected patterns. A pattern with a path tells what exists: only callers that may know host paths see it. */
function patternsOf({ patterns }: RootFacts, disclosesAll: boolean): { deny?: string[]; protect?: string[] } {
  const told = (some: readonly string[] = []): string[] => {
    const shown = some.filter((pattern) => disclosesAll || !pattern.includes("/")).slice(0, MAX_PATTERNS);
    return shown.length === some.length ? shown : [...shown, `${some.length - shown.length} more`];
  };
  const [deny, protect] = [told(patterns?.deny), told(patterns?.protect)];
  return { ...(deny.length === 0 ? {} : { deny }), ...(protect.length === 0 ? {} : { protect }) };
}

/** Reports a root that keeps no replaced content. A temp root whose journal is off is as expected, and not reported. */
async function keptOf(root: RootFacts): Promise<{ kept?: false; reason?: string }> {
  const lack = await root.lack?.();
  if (lack === undefined || (lack.reason === "off" && root.kind !== "host")) return {};
  return { kept: false, reason: lack.reason };
}

function placeOf({ name, drive, subpath = [], hostPath }: RootFacts, disclose: boolean): string {
  if (drive !== undefined) return `dlfs:${[drive, ...subpath].join("/")}`;
  return disclose && hostPath !== undefined ? hostPath : `file://${name}/`;
}

function quotaOf(root: RootFacts): { quota?: QuotaFacts } {
  const quota = root.quota?.();
  return quota === undefined ? {} : { quota };
}
