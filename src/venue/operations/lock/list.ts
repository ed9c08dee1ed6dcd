// lock:list: the locks of WebDAV clients, for the operator.

import type { SurfaceContext } from "../../../core/ports/adapter.js";
import { LOOKS } from "../../../core/ports/operation.js";
import type { DavLock, DavLocks } from "../../../surfaces/http/host.js";
import { actsInFull, isOperator } from "../caller.js";
import type { OperationParts, VenueOperation } from "../operation.js";
import { refusedOperation } from "../refusal.js";

interface ListInput {
  readonly limit?: number;
}

const NAME = "lock:list";
const MOST = 1000;

/** Lists locks, the oldest first. Their tokens, by which they are used, are never disclosed. */
export const lockList: VenueOperation<ListInput> = {
  name: NAME,
  annotations: LOOKS,
  async run({ limit = MOST }, { context, venue }) {
    const locks = locksFor(NAME, context, venue);
    await locks?.look();
    const all = locks?.all() ?? [];
    const isComplete = all.length <= limit;
    return {
      locks: all.slice(0, limit).map(entryOf),
      complete: isComplete,
      ...(isComplete ? {} : { reason: "limit" }),
    };
  },
};

/** The locks, `undefined` where no WebDAV is served. @throws CAPABILITY_DENIED for all but the operator */
export function locksFor(operation: string, context: SurfaceContext, venue: OperationParts): DavLocks | undefined {
  if (isOperator(context, venue) && actsInFull(context, venue)) return venue.locks();
  const requires = "the operator, without narrower capabilities";
  throw refusedOperation({ operation, requires });
}

function entryOf({ id, place, ownerText, caller, since, expires }: DavLock) {
  const { space, root = "", segments } = place;
  const where = { [space === "dav" ? "root" : "drive"]: root, path: segments.join("/") };
  return { id, ...where, owner: ownerText, holder: caller, since, until: expires };
}
