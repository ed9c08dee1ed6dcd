// Ties a stream of content to the deadline and cancellation of its call.

import type { CallScope } from "./scope.js";

/**
 * Passes content on until its call ends, then fails with ABORTED or TIMEOUT: an import that waits for content blocks
 * every other change of the owner's drives.
 */
export async function* endWithCall(content: AsyncIterable<Uint8Array>, scope: CallScope): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      scope.checkpoint();
      const { done, value } = await scope.race(chunks.next());
      isOver = done === true;
      if (isOver) return;
      yield value;
    }
  } finally {
    // Not awaited: a source that hangs would hang here too.
    if (!isOver) void Promise.resolve(chunks.return?.()).catch(() => {});
  }
}
