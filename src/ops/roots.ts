import type { QuotaFacts } from "../core/file-config.js";
import type { Operation } from "../core/ports/operation.js";
import { LOOKS, type RootFacts } from "../core/ports/operation.js";
import type { RootsInput, RootsOutput } from "../schema/types.js";

/** `roots`: the roots in which the caller holds a grant. */
export const roots: Operation<RootsInput, RootsOutput> = {
  name: "roots",
  on: "roots",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  run: async (_input, { visible, discloseHostPaths }) => ({
    roots: await Promise.all(
      visible.map(async (root) => ({
        name: root.name,
        path: placeOf(root, discloseHostPaths),
        kind: root.kind === "memory" ? "temp" : root.kind,
        readOnly: root.readOnly,
        ...(root.description === undefined ? {} : { description: root.description }),
        ...quotaOf(root),
        ...(await keptOf(root)),
      })),
    ),
  }),
};

/** A temp root keeps nothing unless it is asked to, and nobody expects more. */
async function keptOf(root: RootFacts): Promise<{ kept?: false; reason?: string }> {
  const lack = await root.lack?.();
  if (lack === undefined || (lack.reason === "off" && root.kind !== "host")) return {};
  return { kept: false, reason: lack.reason };
}

function placeOf({ name, drive, hostPath }: RootFacts, disclose: boolean): string {
  if (drive !== undefined) return `dlfs:${drive}`;
  return disclose && hostPath !== undefined ? hostPath : `file://${name}/`;
}

function quotaOf(root: RootFacts): { quota?: QuotaFacts } {
  const quota = root.quota?.();
  return quota === undefined ? {} : { quota };
}
