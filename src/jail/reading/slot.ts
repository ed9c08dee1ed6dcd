// Memory that both threads of a read-ahead see: the content of a batch of files, one after the other.

/** Most files of a batch. */
export const BATCH_FILES = 64;
/** Most bytes of a batch; what does not fit is left to the main thread. */
const BATCH_BYTES = 1_048_576;

/** Place for one batch. */
export class Slot {
  readonly memory: SharedArrayBuffer;
  /** Per file its number of bytes, or a number of `read-regular.ts`. */
  readonly counts: Int32Array;
  readonly bytes: Buffer;

  constructor(memory = new SharedArrayBuffer(BATCH_FILES * Int32Array.BYTES_PER_ELEMENT + BATCH_BYTES)) {
    this.memory = memory;
    this.counts = new Int32Array(memory, 0, BATCH_FILES);
    this.bytes = Buffer.from(memory, this.counts.byteLength);
  }
}
