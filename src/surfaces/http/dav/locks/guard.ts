// Refuses changes that a lock forbids.

import { type DavCall, undefinedFor } from "../call.js";
import { DavError } from "../errors.js";
import { parentOf, type Target } from "../target.js";
import { element } from "../xml/write.js";
import type { Conditions } from "./conditions.js";
import type { Lock } from "./locks.js";

type Place = Pick<Target, "space" | "root" | "segments">;

/** A place that a request changes, and how. */
export interface Touched {
  readonly place: Place;
  /** Everything below it too. */
  readonly isTree: boolean;
  /** The resource appears or disappears, so that its collection changes. */
  readonly isMember: boolean;
}

/** @throws HttpError 423 for a lock whose token the holder has not sent; as an operation for a caller without rights */
export async function requireUnlocked(
  call: DavCall,
  { tokens }: Pick<Conditions, "tokens">,
  changes: readonly Touched[],
): Promise<void> {
  const held = (lock: Lock): boolean => tokens.has(lock.token) && lock.caller === call.caller.did;
  for (const { place, isTree, isMember } of changes) {
    const spot = call.spotOf(place);
    const parent = isMember ? parentOf(place) : undefined;
    const groups = [
      call.locks.covering(spot),
      ...(parent === undefined || parent.root === undefined ? [] : [call.locks.on(call.spotOf(parent))]),
      ...(isTree ? bySpot(call.locks.below(spot)) : []),
    ];
    // Any of several shared locks on one resource will do.
    const blocking = groups.find((locks) => locks.length > 0 && !locks.some(held))?.[0];
    if (blocking !== undefined) await refuse(call, place, blocking);
  }
}

async function refuse(call: DavCall, place: Place, lock: Lock): Promise<never> {
  // A caller who may not change the resource does not learn of the lock.
  await undefinedFor(["NOT_FOUND", "NOT_A_DIRECTORY", "PARENT_MISSING", "NOT_A_FILE"], call.run("touch", place));
  const condition = element("D:lock-token-submitted", element("D:href", call.hrefOf(lock.place, lock.isCollection)));
  throw new DavError(423, "Locked. Unlock it, or send the token of the lock in If", { condition });
}

function bySpot(locks: readonly Lock[]): Lock[][] {
  const groups = new Map<string, Lock[]>();
  for (const lock of locks) {
    const path = lock.spot.segments.join("/");
    groups.set(path, [...(groups.get(path) ?? []), lock]);
  }
  return [...groups.values()];
}
