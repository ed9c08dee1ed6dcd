// Takes in the cells of files: decodes each as it arrives, and stores those that belong to the value.

import { branchRefs } from "../../cad3/encoding/assemble.js";
import { MAX_CELL_BYTES, takeBranch } from "../../cad3/encoding/multi-cell.js";
import { parseCell, takeCell } from "../../cad3/encoding/parse-cell.js";
import { readerOf } from "../../cad3/encoding/reader.js";
import { checkLimit } from "../../cad3/limits.js";
import { hashOfRef, isBranch, refOf, sha3 } from "../../cad3/ref.js";
import { Oldest } from "../../oldest.js";
import { type HashText, hashOfText, textOfHash } from "../../store/mark.js";
import { createTurn } from "../../turn.js";
import { CELL_OVERHEAD_BYTES } from "../cells.js";
import type { PutBytes } from "../write-set.js";

export interface IntakeLimits {
  readonly maxImportBytes: number;
  readonly maxImportCells: number;
}

/** Counts shared by all files of one import. */
export interface StreamCount {
  bytes: number;
  cells: number;
}

/** Cells that have arrived, each with its length if it is a blob, else 0. */
export type Arrived = ReadonlyMap<HashText, number>;

/** Enough bytes to take any cell with its length. */
const WHOLE_BYTES = MAX_CELL_BYTES + 9;

/**
 * The cells of a file, valid until the next one is asked for.
 *
 * @param hasTop whether it begins with a cell without a length
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT, and errors of the file
 */
export async function* cellsOf(
  file: AsyncIterable<Uint8Array>,
  hasTop: boolean,
  { limits, count }: { readonly limits: IntakeLimits; readonly count: StreamCount },
): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  let isTop = hasTop;
  const next = (): Uint8Array => {
    const reader = readerOf(rest);
    const cell = isTop ? takeCell(reader).bytes : takeBranch(reader);
    rest = rest.subarray(reader.at);
    isTop = false;
    count.cells += 1;
    checkLimit(count.cells, limits.maxImportCells, "cells");
    return cell;
  };
  for await (const piece of file) {
    count.bytes += piece.length;
    checkLimit(count.bytes, limits.maxImportBytes, "bytes");
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    while (rest.length >= WHOLE_BYTES) yield next();
  }
  while (isTop || rest.length > 0) yield next();
}

/** Maximum bytes of cells that wait for one that refers to them. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;

export type Intake = ReturnType<typeof createIntake>;

/**
 * Takes cells in any order. A cell waits until the value or a stored cell refers to it, and is then stored. If too many
 * wait, the oldest is stored unasked, with the cells it refers to: unused ones are garbage-collected later.
 */
export function createIntake(put: PutBytes, maxCells: number, maxWaitingBytes = MAX_WAITING_BYTES) {
  const arrived = new Map<HashText, number>();
  const wanted = new Set<HashText>();
  const waiting = new Map<HashText, Uint8Array>();
  const oldest = new Oldest(waiting);
  let waitingBytes = 0;
  const turn = createTurn();
  const takeWaiting = (text: HashText): Uint8Array | undefined => {
    const bytes = waiting.get(text);
    if (waiting.delete(text)) waitingBytes -= (bytes?.length ?? 0) + CELL_OVERHEAD_BYTES;
    return bytes;
  };
  /** Stores waiting cells that others refer to, from the branches of one on. */
  const askFor = async (first: Uint8Array): Promise<void> => {
    const stored = [first];
    for (let bytes = stored.pop(); bytes !== undefined; bytes = stored.pop()) {
      for (const ref of branchRefs(parseCell(bytes))) {
        const text = textOfHash(hashOfRef(ref));
        const below = takeWaiting(text);
        if (below === undefined && !arrived.has(text)) wanted.add(text);
        if (below === undefined) continue;
        await put(hashOfText(text), below);
        stored.push(below);
        await turn();
      }
      checkLimit(arrived.size + wanted.size, maxCells, "cells");
    }
  };
  const store = async (text: HashText, bytes: Uint8Array): Promise<void> => {
    await put(hashOfText(text), bytes);
    await askFor(bytes);
  };
  return {
    arrived,
    /** @param top cell of the value, which is stored if it is a branch @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT */
    async begin(top: Uint8Array): Promise<void> {
      const ref = refOf(top);
      if (!isBranch(ref)) return askFor(top);
      const text = textOfHash(hashOfRef(ref));
      arrived.set(text, 0);
      return store(text, top);
    },
    /** @param bytes copied if kept @throws BAD_FORMAT, UNSUPPORTED_CELL, LIMIT */
    async add(bytes: Uint8Array): Promise<void> {
      const text = textOfHash(sha3(bytes));
      if (arrived.has(text)) return;
      const cell = parseCell(bytes);
      arrived.set(text, cell.kind === "blob" && !cell.isText ? cell.length : 0);
      if (wanted.delete(text)) return store(text, bytes);
      waiting.set(text, new Uint8Array(bytes));
      waitingBytes += bytes.length + CELL_OVERHEAD_BYTES;
      for (let first = oldest.key; first !== undefined && waitingBytes > maxWaitingBytes; first = oldest.key)
        await store(first, takeWaiting(first) ?? bytes);
    },
  };
}
