// Reads the files of a batch into its slot; in the thread, or in the main thread when that one is busy.

import { type FileCalls, readRegular } from "./read-regular.js";
import type { Slot } from "./slot.js";

/** Files of one directory. */
export interface BatchFolder {
  /** Descriptor of the directory, which the main thread holds until the batch is answered. */
  readonly fd: number;
  readonly names: readonly string[];
}

export interface BatchFiles {
  readonly folders: readonly BatchFolder[];
  /** Most bytes of a file. */
  readonly maxBytes: number;
}

/** Reads each file once it has been asked for the next. */
export function* readBatch(calls: FileCalls, { folders, maxBytes }: BatchFiles, slot: Slot): Generator<undefined> {
  let file = 0;
  let at = 0;
  for (const { fd, names } of folders) {
    for (const name of names) {
      const count = readRegular(calls, fd, name, { buffer: slot.bytes, at, maxBytes });
      slot.counts[file++] = count;
      if (count > 0) at += count;
      yield;
    }
  }
}
