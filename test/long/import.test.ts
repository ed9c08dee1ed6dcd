import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, test } from "@jest/globals";
import { encode } from "../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../src/drive/cad3/encoding/multi-cell.js";
import { merge } from "../../src/drive/dlfs/merge.js";
import { dir, file, type Node } from "../../src/drive/dlfs/node.js";
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

test.each(["memory", "embedded"])("an import of 100,000 entries keeps nobody waiting: %s store", async (kind) => {
  const path = mkdtempSync(join(tmpdir(), "vf-import-"));
  const store = kind === "memory" ? createMemoryStore() : await openEmbeddedStore({ path });
  const owner = openEngine({ store }).owner(ALICE);
  const [own, other] = [flat("a"), flat("b")];
  const [first, second] = [toMultiCell(own), toMultiCell(other)];
  const start = performance.now();
  const merged = encode(merge(own, other));
  const atOnceMs = performance.now() - start;
  for (const [what, bytes] of [
    ["new", first],
    ["there", second],
  ] as const) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    await owner.importDrive([inPieces(bytes, 65_536)], { drive: "d" });
    delay.disable();
    const longestMs = delay.max / 1e6;
    process.stdout.write(`${kind}, ${what}: ${longestMs.toFixed(0)} ms at a time, merge ${atOnceMs.toFixed(0)} ms\n`);
    // Collections of garbage are part of it, so that there is no narrower bound on a machine with other work.
    expect(longestMs).toBeLessThan(atOnceMs);
  }
  for await (const { bytes } of owner.exportDrive({ top: "drive", drive: "d" })) {
    expect(bytes).toEqual(merged);
    break;
  }
  await store.close();
  rmSync(path, { recursive: true });
});
