// Rights as sentences, and who holds which on a path.

import type { AccessEntry, Grant } from "../api/operations.js";
import { texts } from "../texts.js";
import { shortDid } from "../ui/format.js";

/** `read, write on docs/reports`. */
export function sentenceOf({ with: resource, can }: Grant): string {
  const place = resource.replace(/^(?:file|dlfs):\/\//, "").replace(/\/$/, "");
  return texts.onWhat(texts.abilityNames[can] ?? can, place === "" ? texts.everything : place);
}

export const holderOf = ({ label, did, kind, id }: AccessEntry): string =>
  label ?? (did === undefined ? (texts.kinds[kind] ?? id ?? kind) : shortDid(did));

const coversAbility = (held: string, needed: string): boolean =>
  held === "*" || held === needed || needed.startsWith(`${held}/`);

/** The grants of an entry by which it holds an ability on a path of a root. */
export function grantsFor(entry: AccessEntry, ability: string, root: string, path: string): readonly Grant[] {
  const whole = `${path === "" ? root : `${root}/${path}`}/`;
  return entry.grants.filter(({ with: resource, can }) => {
    const place = resource.replace(/^(?:file|dlfs):\/\//, "").replace(/\/$/, "");
    return coversAbility(can, ability) && (place === "" || whole.startsWith(`${place}/`));
  });
}

export const isInForce = ({ revoked, expires }: AccessEntry): boolean =>
  revoked === undefined && (expires === undefined || expires > Date.now());
