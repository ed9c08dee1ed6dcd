// lock:drop: ends the lock of a WebDAV client that has forgotten it.

import { invalidInput } from "../../../core/errors/texts.js";
import type { VenueOperation } from "../operation.js";
import { locksFor } from "./list.js";

interface DropInput {
  readonly id: string;
}

const NAME = "lock:drop";

/** Ends a lock. Its client hears of it when it saves: it is refused where another has written meanwhile. */
export const lockDrop: VenueOperation<DropInput> = {
  name: NAME,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  run({ id }, { context, venue, trail }) {
    trail.resource = `lock:${id}`;
    if (locksFor(NAME, context, venue)?.drop(id) === true) return { dropped: true, id };
    throw invalidInput("There is no lock with this id, or it has ended. See lock:list", "/id", "an id of lock:list");
  },
};
