// Copies a file or tree between roots or drives, with verification if asked for.

import { conflict, isADirectory, notSupportedByRoot } from "../../core/errors/texts.js";
import { type Expected, etagOf, isExpected } from "../../core/etag.js";
import type { Copied, PlaceOptions } from "../../core/ports/backend.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import type { TwoPlaces } from "./two-places.js";
import { watchedSource } from "./watched-source.js";

export interface TreeCopyOptions extends PlaceOptions {
  /** Precondition on the source file. */
  readonly expectedFrom: Expected | undefined;
  /** Fails if any entry would be left out, and verifies what has been written. */
  readonly isWhole: boolean;
}

/** Copies an open source to its target. @throws CONFLICT, NOT_SUPPORTED, DENIED_BY_POLICY, and as a backend does */
export async function copyTree(
  { from, to }: TwoPlaces,
  source: TreeSource,
  { expectedFrom, isWhole, ...options }: TreeCopyOptions,
): Promise<Copied> {
  const { access } = from;
  const { place, verb } = access;
  if (expectedFrom !== undefined && source.top.type === "directory") throw isADirectory(place);
  const approve = (sha256: string | undefined): void => {
    if (expectedFrom !== undefined && sha256 !== undefined && !isExpected(expectedFrom, sha256)) {
      const expected = expectedFrom === "nothing" ? "*" : expectedFrom.content;
      throw conflict(place, { verb, expected, current: etagOf(sha256) });
    }
    if (!isWhole) return;
    if (source.refusal !== undefined) throw source.refusal;
    if (source.left.symlinks + source.left.unreadable > 0) {
      throw notSupportedByRoot(place, "moving links and special files elsewhere. Copy the rest, or delete them first");
    }
  };
  const origin = { root: from.root.name, path: from.path.segments };
  const how = { hash: expectedFrom !== undefined, verify: isWhole, approve, from: origin };
  const { report } = access.scope;
  const watched = report === undefined ? source : watchedSource(source, report);
  return to.root.backend.place(to.path, watched, { ...options, ...how }, to.access);
}
