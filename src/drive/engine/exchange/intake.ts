// Accepts cells in any order and stores those that belong to the value.

import { branchRefs, missingCell } from "../../cad3/encoding/assemble.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedCell } from "../../cad3/encoding/parsed.js";
import { hashOfRef, sha3 } from "../../cad3/ref.js";
import { textOfHash } from "../../store/mark.js";
import { type CellLedger, createCellLedger } from "../cell-ledger.js";
import { createTurn } from "../turns.js";
import type { PutBytes } from "../write-set.js";

/**
 * Receives the cells of a foreign value in any order. A cell is stored once the value, or a stored cell, refers to it;
 * the intake keeps its hash, and its length if it is a blob. Unreferenced cells wait.
 */
export interface Intake {
  /**
   * Names the value whose branches are accepted.
   * @throws BAD_FORMAT, UNSUPPORTED_CELL
   */
  begin(top: Uint8Array): Promise<void>;
  /**
   * @param bytes copied if kept
   * @throws BAD_FORMAT, UNSUPPORTED_CELL
   */
  add(bytes: Uint8Array): Promise<void>;
  /** @throws MISSING_CELL if a referenced cell has not arrived */
  end(): void;
  /** Every cell that has arrived. */
  readonly ledger: Pick<CellLedger, "lengthOf">;
}

export interface IntakeBounds {
  /** Maximum bytes of waiting cells. */
  readonly maxWaitingBytes: number;
  /** Maximum cells referenced but not yet arrived. */
  readonly maxWanted: number;
}

/** Beyond these bounds every cell is stored; those that do not belong to the value are garbage-collected later. */
const DEFAULT_BOUNDS: IntakeBounds = { maxWaitingBytes: 16 * 2 ** 20, maxWanted: 65_536 };
/** Memory per waiting cell beside its bytes. */
const CELL_OVERHEAD_BYTES = 300;

export function createIntake(put: PutBytes, bounds: IntakeBounds = DEFAULT_BOUNDS): Intake {
  const ledger = createCellLedger();
  const waiting = new Map<string, Uint8Array>();
  const wanted = new Set<string>();
  let waitingBytes = 0;
  let takesAll = false;
  const turn = createTurn();

  const takeAll = async (): Promise<void> => {
    takesAll = true;
    wanted.clear();
    for (const [text, bytes] of waiting) {
      waiting.delete(text);
      await put(Buffer.from(text, "latin1"), bytes);
      await turn();
    }
  };
  /** Accepts the branches of a cell, and of waiting cells accepted thereby. */
  const askFor = async (first: ParsedCell): Promise<void> => {
    const cells = [first];
    for (let cell = cells.pop(); cell !== undefined && !takesAll; cell = cells.pop()) {
      for (const ref of branchRefs(cell)) {
        const hash = hashOfRef(ref);
        const text = textOfHash(hash);
        const bytes = waiting.get(text);
        if (bytes === undefined) {
          if (ledger.lengthOf(hash) === undefined) wanted.add(text);
          continue;
        }
        waiting.delete(text);
        waitingBytes -= bytes.length + CELL_OVERHEAD_BYTES;
        await put(hash, bytes);
        cells.push(parseCell(bytes));
        await turn();
      }
      if (wanted.size > bounds.maxWanted) await takeAll();
    }
  };
  return {
    ledger,
    begin: (top) => askFor(parseCell(top)),
    async add(bytes) {
      const hash = sha3(bytes);
      if (ledger.lengthOf(hash) !== undefined) return;
      const cell = parseCell(bytes);
      ledger.add(hash, cell.kind === "blob" && !cell.isText ? cell.length : 0);
      if (takesAll) return put(hash, bytes);
      const text = textOfHash(hash);
      if (wanted.delete(text)) {
        await put(hash, bytes);
        return askFor(cell);
      }
      waiting.set(text, new Uint8Array(bytes));
      waitingBytes += bytes.length + CELL_OVERHEAD_BYTES;
      if (waitingBytes > bounds.maxWaitingBytes) await takeAll();
    },
    end() {
      for (const text of wanted) throw missingCell(Buffer.from(text, "latin1").toString("hex"));
    },
  };
}
