// Authorises directories that a change would create.

import type { RelPath } from "../../../src/core/call/path.js";
import type { Access } from "../../../src/core/ports/backend.js";

/**
 * Requests access to create the directories named by the path's segments from index `from` (inclusive) to `to`
 * (exclusive), topmost first.
 */
export function authoriseParents(path: RelPath, { from, to }: { from: number; to: number }, access: Access): void {
  for (let index = from; index < to; index++) {
    access.scope.checkpoint();
    const segments = path.segments.slice(0, index + 1);
    access.create(segments, segments);
  }
}
