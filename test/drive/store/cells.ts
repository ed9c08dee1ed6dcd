import { emitCells } from "../../../src/drive/cad3/encoding/cell.js";
import { encode, sign, type Value } from "../../../src/drive/index.js";
import type { CellStore, RootRecord } from "../../../src/drive/store/cell-store.js";

export const OWNER = "ab".repeat(32);
export const SEED = new Uint8Array(32).fill(7);

export interface TestCell {
  readonly hash: Uint8Array;
  readonly bytes: Uint8Array;
}

/** Bytes that differ with their seed and do not repeat. */
export function bytesOf(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = (seed * 2654435761 + 12345) >>> 0;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

/** A root and every cell below it. */
export function treeOf(value: Value): { root: Uint8Array; cells: TestCell[] } {
  const cells = new Map<string, TestCell>();
  const root = sign(value, SEED);
  emitCells(root, ({ ref, bytes }) => {
    const hash = Uint8Array.from(ref.subarray(1));
    cells.set(Buffer.from(hash).toString("hex"), { hash, bytes: Uint8Array.from(bytes) });
  });
  const top = encode(root);
  return { root: top, cells: [...cells.values()].filter(({ bytes }) => Buffer.compare(bytes, top) !== 0) };
}

/** Files of some size, each with content of its own. */
export const filesOf = (count: number, seed: number, size = 9000): Value =>
  Array.from({ length: count }, (_, at) => [
    bytesOf(size, seed * 1000 + at),
    BigInt(at),
    bytesOf(300, seed * 1000 + at),
  ]);

export async function putAll(store: CellStore, cells: readonly TestCell[]): Promise<void> {
  const batch = store.batch();
  for (const { hash, bytes } of cells) await batch.put(hash, bytes);
  await batch.flush();
}

/** Puts a tree and makes it the root. */
export async function publish(store: CellStore, value: Value, owner = OWNER): Promise<RootRecord> {
  const { root, cells } = treeOf(value);
  const batch = store.batch();
  for (const { hash, bytes } of cells) await batch.put(hash, bytes);
  const before = (await store.root(owner)) ?? null;
  const record = await batch.commit(owner, before, root);
  if (record === "conflict") throw new Error("A conflict that was not expected");
  return record;
}

export async function missingOf(store: CellStore, cells: readonly TestCell[]): Promise<number> {
  const found = await store.getMany(cells.map(({ hash }) => hash));
  return found.filter((bytes, at) => bytes === undefined || Buffer.compare(bytes, cells[at]?.bytes ?? bytes) !== 0)
    .length;
}

export async function listOf<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of all) list.push(one);
  return list;
}
