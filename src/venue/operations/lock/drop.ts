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
  async run({ id }, { context, venue, trail }) {
    trail.resource = `lock:${id}`;
    const locks = locksFor(NAME, context, venue);
    await locks?.look();
    const isDropped = locks?.drop(id) === true;
    await locks?.settle();
    if (isDropped) return { dropped: true, id };
    throw invalidInput("There is no lock with this id, or it has ended. See lock:list", "/id", "an id of lock:list");
  },
};
