// Caps lists: capabilities sent with a call or tied to a token. A list only ever narrows what its caller may do.

import type { SurfaceContext } from "../core/ports/adapter.js";
import { type Grant, intersect, parseGrant, printResource } from "./grant.js";

/** Most entries of one list. */
const MAX_ENTRIES = 256;

/** A parsed caps list. An absent list restricts nothing and has no CapsList. */
export interface CapsList {
  readonly grants: readonly Grant[];
  /** The whole list is invalid and grants nothing. */
  readonly fault?: "malformed" | "too_large";
  /** What the scopes of a token stand for: its bearer can ask for more of them. */
  readonly isOfScopes?: true;
}

/**
 * Parses a caps list of at most 256 entries. Malformed entries grant nothing; the others count.
 * @returns `undefined`: no restriction
 */
export function readCaps(value: unknown): CapsList | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return { grants: [], fault: "malformed" };
  if (value.length > MAX_ENTRIES) return { grants: [], fault: "too_large" };
  return { grants: value.map(parseGrant).filter((grant) => grant !== undefined) };
}

/**
 * The caps lists of one call: those of its caller, of its access token, of the call itself, and the directories it is
 * confined to.
 */
export const capsOf = ({ caps, callCaps, within, access }: SurfaceContext): readonly (CapsList | undefined)[] => [
  readCaps(caps),
  readCaps(callCaps),
  ...(access?.caps ?? []).map(readCaps),
  access?.scopes && { grants: readCaps(access.scopes)?.grants ?? [], isOfScopes: true },
  within && { grants: within.map(grantWithin) },
];

const grantWithin = (segments: readonly string[]): Grant => ({
  segments,
  words: [],
  written: { with: printResource([...segments, ""]), can: "*" },
});

/** The intersections of one grant from each list with `narrowed`: what all lists together leave of it. */
export function* combineCaps(lists: readonly (readonly Grant[])[], narrowed: Grant): Generator<Grant> {
  const [list, ...rest] = lists;
  if (list === undefined) yield narrowed;
  else {
    for (const grant of list) {
      const next = intersect(narrowed, grant);
      if (next !== undefined) yield* combineCaps(rest, next);
    }
  }
}
