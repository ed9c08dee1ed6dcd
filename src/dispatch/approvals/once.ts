// Content that can be read only once, on its way through the gate.

import { createHash } from "node:crypto";
import type { Sha256 } from "../../core/etag.js";
import type { Body } from "../../core/ports/backend.js";
import { MAX_TEXT } from "./target-state.js";

/** A body that says whether it was a stream and has been read: it cannot be read again. */
interface LoadedOnce extends Body {
  readonly isSpent: boolean;
}

export function loadOnce(body: Body): LoadedOnce {
  let isSpent = false;
  return {
    get isSpent() {
      return isSpent;
    },
    async load() {
      const loaded = await body.load();
      isSpent = !Buffer.isBuffer(loaded);
      return loaded;
    },
  };
}

/** A stream that is hashed, and passes the gate at its end. @param pass `whole`: the content, if it is small */
export async function* passAtEnd(
  chunks: AsyncIterable<Uint8Array>,
  pass: (sha256: Sha256, size: number, whole: Buffer | undefined) => void,
): AsyncGenerator<Uint8Array> {
  const sum = createHash("sha256");
  const start: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    sum.update(chunk);
    size += chunk.length;
    if (size <= MAX_TEXT) start.push(chunk);
    yield chunk;
  }
  pass(sum.digest("hex"), size, size <= MAX_TEXT ? Buffer.concat(start) : undefined);
}
