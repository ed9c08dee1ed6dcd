// The content of open files, piece by piece.

import type { Awaitable } from "../../core/io.js";
import type { OpenFile } from "../../core/ports/open-file.js";

const PIECE_BYTES = 262_144;

interface Part {
  readonly from?: number;
  /** Absent: the size that the file had when it was opened. */
  readonly to?: number;
  /** Told of each piece as it is read. */
  readonly seen?: (bytes: Buffer) => void;
}

/** The bytes of a file, fewer where it ends before. */
export async function* piecesOf(file: OpenFile, { from = 0, to = file.size, seen }: Part = {}): AsyncGenerator<Buffer> {
  for (let at = from; ; ) {
    // The read at the end finds what is wrong with a content of no bytes too.
    const bytes = await file.read(at, Math.min(PIECE_BYTES, Math.max(0, to - at)));
    if (bytes.length === 0) return;
    seen?.(bytes);
    at += bytes.length;
    yield bytes;
  }
}

/** As {@link piecesOf} a file that is opened for this. */
export async function* contentOf(open: () => Awaitable<OpenFile>, part?: Part): AsyncGenerator<Buffer> {
  const file = await open();
  try {
    yield* piecesOf(file, part);
  } finally {
    file.close();
  }
}
