// Names the rights that grants give in a root.

import { covers, type Grant, parseGrant, wordsOf } from "../../authz/grant.js";
import type { Ability, Capability } from "../../core/call/capability.js";

const VERBS: Readonly<Record<string, Ability>> = { read: "crud/read", write: "crud/write", delete: "crud/delete" };

/** The grants that capabilities of a configuration give. */
export const grantsOf = (caps: readonly Capability[]): readonly Grant[] =>
  caps.map(({ with: resource, can }) => parseGrant({ with: resource, can })).filter((grant) => grant !== undefined);

/** Whether a grant covers an ability in a whole root. */
export const coversRoot = (grant: Grant, root: string, ability: Ability): boolean =>
  covers(grant, { segments: [root], words: wordsOf(ability) });

/** Whether a grant covers an ability anywhere in a root. */
export const reachesInto = (grant: Grant, root: string, ability: Ability): boolean =>
  coversRoot({ ...grant, segments: grant.segments.slice(0, 1) }, root, ability);

/** Verbs for what a holder of grants may do in a root. */
export function verbsIn(
  root: { readonly name: string; readonly readOnly: boolean },
  grants: readonly Grant[],
): readonly string[] {
  const verbs: string[] = [];
  for (const [verb, ability] of Object.entries(VERBS)) {
    if (root.readOnly && ability !== "crud/read") continue;
    if (grants.some((grant) => coversRoot(grant, root.name, ability))) verbs.push(verb);
    else if (grants.some((grant) => reachesInto(grant, root.name, ability))) verbs.push(`${verb} in parts`);
  }
  return verbs;
}
