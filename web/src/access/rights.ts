// Works out who holds which right on a path, and who may pass rights on.

import { offers, who } from "../api/catalogue.js";
import { personOf } from "../api/labels.js";
import type { AccessEntry, Grant } from "../api/operations.js";
import { texts } from "../texts.js";

/** A session has a label of its own; every other holder has one name. */
export const holderOf = ({ label, did, kind, id }: AccessEntry): string =>
  kind === "session" && label !== undefined
    ? label
    : did === undefined
      ? (label ?? texts.kinds[kind] ?? id ?? kind)
      : personOf(did);

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

/** Whether the caller may have access tokens and links made. An access token with capabilities makes none. */
export function mayIssueTokens(): boolean {
  const kind = who.value?.authentication ?? "public";
  return offers("auth:issue") && !["public", "access-token", "ucan", "issuer"].includes(kind);
}

/**
 * Whether the caller may have UCANs signed: they pass on rights of one's own. The DIDs that a venue makes up for the
 * bearers of its tokens, and for everybody, hold none.
 */
export function mayIssueUcans(): boolean {
  const me = who.value;
  if (me === undefined || !offers("ucan:issue")) return false;
  return me.operator || !me.did.startsWith(`${me.venue}:`);
}
