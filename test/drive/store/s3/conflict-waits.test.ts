import { describe, expect, test } from "@jest/globals";
import type { S3Client } from "../../../../src/drive/store/s3/client/s3-client.js";
import { createConflictWaits, createHeadSwap } from "../../../../src/drive/store/s3/roots/head-swap.js";

/** Waits that are only written down. */
function noted(random: () => number) {
  const waited: number[] = [];
  const wait = async (ms: number): Promise<void> => void waited.push(ms);
  return { waited, waits: createConflictWaits({ random, wait }) };
}

describe("between attempts on a root that others swap", () => {
  test("is a wait that grows with each conflict in a row, up to a bound", async () => {
    const { waited, waits } = noted(() => 1);
    for (let at = 0; at < 7; at += 1) await waits.after("alice", true);
    for (let at = 0; at < 5000; at += 1) await waits.after("alice", true);
    expect(waited.slice(0, 7)).toEqual([10, 20, 40, 80, 160, 300, 300]);
    expect(waited.at(-1)).toBe(300);
  });

  test("is a random part of it, so that two do not meet again", async () => {
    const parts = [0.5, 0, 0.25];
    const { waited, waits } = noted(() => parts.shift() ?? 1);
    for (let at = 0; at < 3; at += 1) await waits.after("alice", true);
    expect(waited).toEqual([5, 0, 10]);
  });

  test("is none after a success, which ends the row; owners have their own", async () => {
    const { waited, waits } = noted(() => 1);
    await waits.after("alice", true);
    await waits.after("alice", true);
    await waits.after("bob", true);
    await waits.after("alice", false);
    await waits.after("alice", true);
    expect(waited).toEqual([10, 20, 10, 10]);
  });

  test("is what a swap does that finds another root in place", async () => {
    const { waited, waits } = noted(() => 1);
    const known = { record: { writer: "w", version: "2", bytes: new Uint8Array(), usedBytes: undefined } };
    const parts = { client: {} as S3Client, roots: { known: () => [known] }, uploads: {}, now: () => 0, waits };
    const { swap } = createHeadSwap(parts as unknown as Parameters<typeof createHeadSwap>[0]);
    const expected = { ...known.record, version: "1" } as unknown as Parameters<typeof swap>[1];
    const change = { bytes: new Uint8Array(), packs: [], cells: new Map() };
    for (let at = 0; at < 3; at += 1) expect(await swap("alice", expected, change)).toBe("conflict");
    expect(waited).toEqual([10, 20, 40]);
  });
});
