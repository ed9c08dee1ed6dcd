import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { decode } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { CadMap } from "../../../src/drive/cad3/maps/hash-map.js";
import { Signed } from "../../../src/drive/cad3/signed.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { applyOp, type TreeChange } from "../../../src/drive/dlfs/apply-op.js";
import { createDrive } from "../../../src/drive/dlfs/lifetime.js";
import { openValue } from "../../../src/drive/dlfs/node.js";
import type { DriveChange } from "../../../src/drive/engine/engine.js";
import { createMemory, createMemoryStore } from "../../../src/drive/store/memory.js";
import { codeOf } from "../cad3/code-of.js";
import { ALICE, clockAt, openEngine, rejection } from "./engines.js";

const LONG = "name of more than 32 bytes, number ";
const names = fc.constantFrom("a", "b", "\u{1f600}", "\ufffd", `${LONG}1`, `${LONG}2`, "x".repeat(200));
const paths = fc.array(names, { minLength: 1, maxLength: 3 });
const contents = fc.constantFrom("", "x", "long ".repeat(40), "longer ".repeat(1000)).map((text) => Buffer.from(text));
type Op = Omit<TreeChange, "at" | "path" | "op"> & {
  op: "mkdir" | "write" | "append" | "delete";
  path: string[];
  at: number;
};
const ops: fc.Arbitrary<Op> = fc.record({
  op: fc.constantFrom("mkdir", "mkdir", "write", "append", "delete"),
  path: paths,
  data: contents,
  at: fc.nat(3000),
});

async function applied(drive: DriveChange, { op, path, data = new Uint8Array() }: Op): Promise<unknown> {
  switch (op) {
    case "mkdir":
      return (await drive.makeDirectory(path)) ? undefined : "EXISTS";
    case "write":
      return rejection(drive.writeFile(path, data));
    case "append":
      return rejection(drive.appendFile(path, data));
    case "delete":
      return (await drive.remove(path, { recursive: false })) ? undefined : "NOT_FOUND";
  }
}

/** The roots of the drives that the store keeps for its one owner. */
async function rootOf(store: ReturnType<typeof createMemoryStore>, cells: ReadonlyMap<unknown, { bytes: Uint8Array }>) {
  const byHash = new Map<string, Uint8Array>();
  for (const { bytes } of cells.values()) byHash.set(hashHex(bytes), bytes);
  for await (const owner of store.owners()) {
    const record = await store.root(owner);
    const signed: Value = openValue(decode(record?.bytes ?? new Uint8Array(), (hash) => byHash.get(hash)));
    const drives = signed instanceof Signed ? signed.value : null;
    if (drives instanceof CadMap) return drives.get("d");
  }
  return undefined;
}

const hashHex = (bytes: Uint8Array): string => hashOf(decode(bytes));

describe("operations on a drive", () => {
  test("make the same trees and the same refusals as on values", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ops, { maxLength: 25 }), fc.boolean(), async (list, together) => {
        const clock = clockAt(1000);
        const memory = createMemory();
        const store = createMemoryStore({ memory });
        const engine = openEngine({ store, clock });
        const alice = engine.owner(ALICE);
        await alice.create("d");
        let root: Value = createDrive(null, { at: 1000 });
        const both = async (drive: DriveChange, op: Op): Promise<void> => {
          const code = codeOf(() => {
            root = applyOp(root, { ...op, path: op.path.join("/"), at: clock.now });
          });
          const own = await applied(drive, op).catch((error: unknown) =>
            codeOf(() => {
              throw error;
            }),
          );
          // Of something absent nothing is deleted, wherever it was.
          expect(own).toBe(code);
        };
        if (together) {
          await alice.change("d", async (drive) => {
            for (const op of list) await both(drive, op);
          });
        } else {
          for (const op of list) {
            clock.now = op.at;
            await alice.change("d", (drive) => both(drive, op));
          }
        }
        expect(hashOf((await rootOf(store, memory.cells)) ?? null)).toBe(hashOf(root));
      }),
      { numRuns: 150 },
    );
  });
});
