// How the top cell of an owner's log is told from every other cell: it is a vector that begins with this keyword.

import { encode } from "../cad3/encoding/cell.js";
import { keyword } from "../cad3/keyword.js";

export const LOG_MARK = keyword("venue-files-log");
/** Tag and count of a vector of up to 127 elements. */
const HEAD_BYTES = 2;
const VECTOR_TAG = 0x80;
const MARK = encode(LOG_MARK);

export const isLogCell = (cell: Uint8Array): boolean =>
  cell[0] === VECTOR_TAG && Buffer.compare(cell.subarray(HEAD_BYTES, HEAD_BYTES + MARK.length), MARK) === 0;
