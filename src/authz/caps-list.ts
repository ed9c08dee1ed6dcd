// Caps lists: capabilities sent with a call or tied to a token. A list only ever narrows what its caller may do.

import type { SurfaceContext } from "../core/ports/adapter.js";
import type { GrantReading } from "../ucan/verify/proof.js";
import { type Grant, intersect, parseGrant, printResource } from "./grant.js";

/** Most entries of one list. */
const MAX_ENTRIES = 256;

/** A parsed caps list. An absent list restricts nothing and has no CapsList. */
export interface CapsList {
  readonly grants: readonly Grant[];
  /** The whole list is invalid and grants nothing. */
  readonly fault?: "malformed" | "too_large";
  /** Capabilities of a token's scopes; its bearer can ask for more scopes. */
  readonly isOfScopes?: true;
}

/**
 * Parses a caps list of at most 256 entries. Malformed entries grant nothing; the others count.
 * @returns `undefined`: no restriction
 */
export function readCaps(value: unknown, read: () => CapsReading | undefined = () => undefined): CapsList | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return { grants: [], fault: "malformed" };
  if (value.length > MAX_ENTRIES) return { grants: [], fault: "too_large" };
  const reading = read();
  const grants = value.map((entry) => parseGrant(entry, reading)).filter((grant) => grant !== undefined);
  return { grants: reading === undefined ? grants : withRootsOnDrives(grants, reading) };
}

/** Whose the drives of a list are, and the roots on them. */
export interface CapsReading extends GrantReading {
  readonly roots: readonly RootOnDrive[];
}

/** A root that is a drive, or a directory in one. */
interface RootOnDrive {
  readonly name: string;
  readonly drive: string;
  readonly subpath?: readonly string[] | undefined;
}

/** Grants in drives of the caller's own are grants in its roots on them too: a place has one right under all of its names. */
export function withRootsOnDrives(grants: readonly Grant[], { giver, roots }: CapsReading): readonly Grant[] {
  const own = grants.filter(({ scheme, owner }) => scheme === "dlfs" && owner === giver);
  if (own.length === 0 || roots.length === 0) return grants;
  return [...grants, ...own.flatMap((grant) => roots.flatMap((root) => inRoot(grant, root) ?? []))];
}

function inRoot({ segments, words, written }: Grant, { name, drive, subpath = [] }: RootOnDrive): Grant | undefined {
  const top = [drive, ...subpath];
  const isAlong = top.every((one, index) => index >= segments.length || one === segments[index]);
  return isAlong ? { segments: [name, ...segments.slice(top.length)], words, written } : undefined;
}

/**
 * The caps lists of one call: those of its caller, of its access token, of the call itself, and the directories it is
 * confined to. @param read asked only where there is a list
 */
export const capsOf = (
  { caps, callCaps, within, access }: SurfaceContext,
  read?: () => CapsReading | undefined,
): readonly (CapsList | undefined)[] => [
  readCaps(caps, read),
  readCaps(callCaps, read),
  ...(access?.caps ?? []).map((list) => readCaps(list, read)),
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
