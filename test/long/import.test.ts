import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { encode } from "../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../src/drive/cad3/encoding/multi-cell.js";
import { merge } from "../../src/drive/dlfs/merge.js";
import { dir, file, type Node } from "../../src/drive/dlfs/node.js";
import type { CellStore } from "../../src/drive/store/cell-store.js";
import { openEmbeddedStore } from "../../src/drive/store/embedded/embedded.js";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import { ALICE, inPieces, openEngine } from "../drive/engine/engines.js";

const ENTRIES = 100_000;

/** @param side ends the names: entries of two sides lie between each other */
function flat(side: string): Node {
  const names = Array.from({ length: ENTRIES }, (_, place) => `${place}-${side}`);
  return dir(
    names.map((name) => [name, file(Buffer.from(name.repeat(20)), 5)]),
    5,
  );
}

/** In a turn 16 steps are done, of which each may ask for the children of two nodes. */
const MAX_CELLS_PER_TURN = 16 * 33;
const MAX_BYTES_PER_TURN = 2 ** 20;

interface Watch {
  /** Most cells asked for or put between two turns of the event loop, and most bytes put. */
  readonly most: { cells: number; bytes: number };
  stop(): void;
}

/** The store, and what is asked of it between turns. */
function watched(store: CellStore): { store: CellStore; watch(): Watch } {
  const now = { cells: 0, bytes: 0 };
  const batch: CellStore["batch"] = () => {
    const inner = store.batch();
    return {
      put(hash, bytes) {
        now.cells += 1;
        now.bytes += bytes.length;
        return inner.put(hash, bytes);
      },
      flush: () => inner.flush(),
      commit: (...args) => inner.commit(...args),
    };
  };
  const wrapped: CellStore = {
    getMany(hashes) {
      now.cells += hashes.length;
      return store.getMany(hashes);
    },
    batch,
    root: (owner) => store.root(owner),
    owners: () => store.owners(),
    pin: (owner) => store.pin(owner),
    collect: (options) => store.collect(options),
    keys: store.keys,
    format: store.format,
    close: () => store.close(),
  };
  const watch = (): Watch => {
    const most = { cells: 0, bytes: 0 };
    let isOn = true;
    const turn = (): void => {
      most.cells = Math.max(most.cells, now.cells);
      most.bytes = Math.max(most.bytes, now.bytes);
      [now.cells, now.bytes] = [0, 0];
      if (isOn) setImmediate(turn);
    };
    setImmediate(turn);
    const stop = (): void => {
      isOn = false;
    };
    return { most, stop };
  };
  return { store: wrapped, watch };
}

test.each(["memory", "embedded"])("an import of 100,000 entries keeps nobody waiting: %s store", async (kind) => {
  const path = mkdtempSync(join(tmpdir(), "vf-import-"));
  const { store, watch } = watched(kind === "memory" ? createMemoryStore() : await openEmbeddedStore({ path }));
  // Cells that the engine keeps are not seen by the store.
  const owner = openEngine({ store, cacheBytes: 0 }).owner(ALICE);
  const [own, other] = [flat("a"), flat("b")];
  const [first, second] = [toMultiCell(own), toMultiCell(other)];
  const merged = encode(merge(own, other));
  for (const bytes of [first, second]) {
    const { most, stop } = watch();
    await owner.importDrive([inPieces(bytes, 65_536)], { drive: "d" });
    stop();
    expect(most.cells).toBeGreaterThan(0);
    expect(most.cells).toBeLessThanOrEqual(MAX_CELLS_PER_TURN);
    expect(most.bytes).toBeLessThanOrEqual(MAX_BYTES_PER_TURN);
  }
  for await (const { bytes } of owner.exportDrive({ top: "drive", drive: "d" })) {
    expect(bytes).toEqual(merged);
    break;
  }
  await store.close();
  rmSync(path, { recursive: true });
});
