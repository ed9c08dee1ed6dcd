// Cuts a body into the parts in which it is added to a file, so that what has come stays when the connection breaks.

import type { UploadBody } from "../../../core/ports/streams.js";
import { PART_BYTES } from "../../../core/ports/transfer.js";

/** The parts of a body, one after the other: each is to be read to its end. There is always one, if only an empty one. */
export async function* partsOf({ length, chunks }: UploadBody): AsyncGenerator<UploadBody> {
  const source = chunks[Symbol.asyncIterator]();
  /** Read, and of a later part. */
  let rest: Uint8Array | undefined;
  const next = async (): Promise<Uint8Array | undefined> => {
    const kept = rest;
    rest = undefined;
    if (kept !== undefined) return kept;
    const step = await source.next();
    return step.done === true ? undefined : step.value;
  };
  async function* part(): AsyncGenerator<Uint8Array> {
    for (let room = PART_BYTES; room > 0; ) {
      const chunk = await next();
      if (chunk === undefined) return;
      const fits = chunk.subarray(0, room);
      if (fits.length < chunk.length) rest = chunk.subarray(room);
      room -= fits.length;
      yield fits;
    }
  }
  for (let done = 0; ; done += PART_BYTES) {
    const size = length === undefined ? {} : { length: Math.min(PART_BYTES, length - done) };
    yield { ...size, chunks: part() };
    rest ??= await next();
    if (rest === undefined) return;
  }
}
