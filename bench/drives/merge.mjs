// Two copies of one drive that differ in 10 of 100,000 files. Not from the published entry point, which is one file: its classes are
// not those of the modules.
import { emitCells, hashOf } from "../../dist/drive/cad3/encoding/cell.js";
import { parseCell } from "../../dist/drive/cad3/encoding/parse-cell.js";
import { DEFAULT_CELL_LIMITS } from "../../dist/drive/cad3/limits.js";
import { lazyCell } from "../../dist/drive/cad3/open.js";
import { toHex } from "../../dist/drive/cad3/ref.js";
import { applyOp } from "../../dist/drive/dlfs/apply-op.js";
import { merge } from "../../dist/drive/dlfs/merge.js";
import { dir, file } from "../../dist/drive/dlfs/node.js";
import { expectEqual } from "../expect.mjs";
import { median, timed } from "../timing.mjs";

const CHANGES = 10;
const ROUNDS = 5;

/** A value as from a store: what is not looked into is not loaded. */
function storedAs(value, visit) {
  const cells = new Map();
  const { bytes, ref } = emitCells(value, (cell) => cells.set(toHex(cell.ref.subarray(1)), cell.bytes));
  const load = (hash) => {
    visit();
    return cells.get(hash);
  };
  return () => lazyCell(parseCell(bytes), ref, { load, limits: DEFAULT_CELL_LIMITS });
}

export async function measureMerge({ quick, row }) {
  const files = quick ? 10_000 : 100_000;
  const entries = Array.from({ length: files }, (_, at) => [`file-${at}`, file(Buffer.from(`${at}`), 10)]);
  const common = dir(entries, 20);
  const changed = (isChanged) => {
    let root = common;
    for (let at = 0; at < CHANGES; at++) {
      const path = `file-${(at * 7919) % files}`;
      if (isChanged(at)) root = applyOp(root, { op: "write", path, data: Buffer.from(`change ${at}`), at: 100 + at });
    }
    return root;
  };
  let visited = 0;
  const visit = () => {
    visited += 1;
  };
  const [one, other] = [0, 1].map((side) =>
    storedAs(
      changed((at) => at % 2 === side),
      visit,
    ),
  );
  const expected = hashOf(changed(() => true));
  const samples = [];
  const visits = [];
  for (let round = 0; round < ROUNDS; round++) {
    visited = 0;
    let merged;
    const work = () => {
      merged = merge(one(), other());
    };
    samples.push(await timed(work));
    visits.push(visited);
    expectEqual(hashOf(merged), expected, "The merged drive");
  }
  const what = `merge two copies of ${files.toLocaleString("en-US")} files that differ in ${CHANGES}`;
  row({ what, value: median(samples), most: 50 });
  row({ what: "… cells looked into", value: median(visits), unit: "", most: 300 });
}
