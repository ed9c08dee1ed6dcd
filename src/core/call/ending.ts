import type { CallScope } from "./scope.js";

/** Content that fails when its call has ended: whoever waits for it holds up every other change of the owner's drives. */
export async function* ending(content: AsyncIterable<Uint8Array>, scope: CallScope): AsyncGenerator<Uint8Array> {
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
    // Not waited for: a source that hangs would hang here too.
    if (!isOver) void Promise.resolve(chunks.return?.()).catch(() => {});
  }
}
