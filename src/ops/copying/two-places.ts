// Input checks, preconditions and authorisation that `copy` and `move` share.

import { sep } from "node:path";
import { isBelow, isSamePath } from "../../core/call/path.js";
import { invalidInput } from "../../core/errors/texts.js";
import { type Expected, etagOf, expectedOf, type Sha256, type TagOf } from "../../core/etag.js";
import type { PlaceOptions } from "../../core/ports/backend.js";
import type { Call, PathCall, PlaceRequest, PlacesCall, Root } from "../../core/ports/operation.js";
import { foldName } from "../../path/grammar.js";
import type { MoveInput } from "../../schema/types.js";

/** @throws INVALID_INPUT */
export function checkTwoPlaces(input: MoveInput): void {
  expectedFrom(input);
  const to = expectedTo(input);
  if (to !== undefined && to !== "nothing" && input.overwrite !== true) {
    throw invalidInput("'ifMatchTo' needs overwrite: true", "/ifMatchTo", "overwrite: true beside it");
  }
}

/** The precondition on the source. */
export const expectedFrom = ({ ifMatch }: MoveInput, call?: Pick<Call, "tagOf">): Expected | undefined =>
  expectedOf({ ifMatch }, call?.tagOf);

export function placeOptions(input: MoveInput, { terms, tagOf }: Pick<Call, "terms" | "tagOf">): PlaceOptions {
  const { parents = false, overwrite = false } = input;
  return { parents, overwrite, expected: expectedTo(input, tagOf), replaces: overwrite && terms?.replaces === true };
}

function expectedTo({ ifMatchTo, ifNoneMatchTo }: MoveInput, tagOf?: TagOf): Expected | undefined {
  const names = { match: "ifMatchTo", none: "ifNoneMatchTo" };
  return expectedOf({ ifMatch: ifMatchTo, ifNoneMatch: ifNoneMatchTo }, tagOf, names);
}

export interface TwoPlaces {
  readonly from: PathCall;
  readonly to: PathCall;
  /** Both are in the same tree, even if the roots have different names. */
  readonly isOneTree: boolean;
}

/**
 * Authorises both paths, each on its own, before any disk access.
 * @param needs abilities on the source; the target needs `crud/write`
 * @throws INVALID_INPUT for a directory into itself, or the root
 */
export function placesOf(
  input: MoveInput,
  call: PlacesCall,
  needs: Pick<PlaceRequest, "abilities" | "changes" | "anyName">,
): TwoPlaces {
  const from = call.at({ root: input.root, path: input.path, ...needs });
  const toRoot = input.toRoot ?? input.root;
  const to = call.at({ root: toRoot, path: input.to, abilities: ["crud/write"], changes: true });
  const isOneTree = input.root === toRoot || isSamePlace(from.root, to.root);
  if (isOneTree ? isBelow(to.path.segments, from.path.segments) : isBelow(hostPathOf(to), hostPathOf(from))) {
    throw invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");
  }
  return { from, to, isOneTree };
}

/** Whether two roots are the same directory of the same drive. */
const isSamePlace = (one: Root, other: Root): boolean =>
  one.drive !== undefined && other.drive !== undefined && isSamePath(topOf(one), topOf(other));

/** Where a root is among those that may lie in each other. */
const topOf = ({ name, hostPath, owner = "", drive, subpath = [] }: Root): readonly string[] =>
  drive === undefined ? (hostPath?.split(sep) ?? [name]) : ["dlfs:", owner, drive, ...subpath];

/** A path with that of its root. @param segments as requested: the backend resolves links on the way */
export function hostPathOf({ root, path }: PathCall, segments = path.segments): readonly string[] {
  const names = [...topOf(root), ...segments];
  return root.backend.foldsCase === true ? names.map(foldName) : names;
}

/** The etag for an answer, if known. */
export function etagIn(call: PathCall, seen: { readonly sha256?: Sha256; readonly stamp?: string }): { etag?: string } {
  const sha256 = seen.sha256 ?? call.versions.get(call.root.name, seen.stamp);
  return sha256 === undefined ? {} : { etag: etagOf(sha256) };
}
