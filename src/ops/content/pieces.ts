// The content of open files, piece by piece.

import type { OpenFile } from "../../core/ports/open-file.js";

const PIECE_BYTES = 262_144;

/** The bytes of a file up to the size that it had when it was opened. @param seen told of each piece as it is read */
export async function* piecesOf(file: OpenFile, seen?: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    // The read at the end finds what is wrong with a content of no bytes too.
    const bytes = await file.read(at, Math.min(PIECE_BYTES, file.size - at));
    if (bytes.length === 0) return;
    seen?.(bytes);
    at += bytes.length;
    yield bytes;
  }
}
