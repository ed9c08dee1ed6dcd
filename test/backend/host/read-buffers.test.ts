import { describe, expect, test } from "@jest/globals";
import { ReadBuffers } from "../../../src/backend/host/read-buffers.js";

const KIB = 1024;
const memoryOf = (buffer: Buffer) => buffer.buffer;

describe("buffers for reading", () => {
  test("have exactly the size that was asked for, new or used", () => {
    const buffers = new ReadBuffers();
    const first = buffers.take(100 * KIB);
    expect(first).toHaveLength(100 * KIB);
    buffers.give(first);
    const second = buffers.take(80 * KIB);
    expect(second).toHaveLength(80 * KIB);
    expect(memoryOf(second)).toBe(memoryOf(first));
  });

  test("are whole again after a part of them was used", () => {
    const buffers = new ReadBuffers();
    const first = buffers.take(200 * KIB);
    buffers.give(first);
    buffers.give(buffers.take(70 * KIB).subarray(0, 66 * KIB));
    expect(memoryOf(buffers.take(200 * KIB))).toBe(memoryOf(first));
  });

  test("are never given to two readers", () => {
    const buffers = new ReadBuffers();
    buffers.give(buffers.take(100 * KIB));
    expect(memoryOf(buffers.take(100 * KIB))).not.toBe(memoryOf(buffers.take(100 * KIB)));
  });

  test.each([
    ["small ones, which the allocator has at hand", 40 * KIB],
    ["those that are too large", 17 * KIB * KIB],
  ])("are not kept: %s", (_which, bytes) => {
    const buffers = new ReadBuffers();
    const given = buffers.take(bytes);
    buffers.give(given);
    expect(memoryOf(buffers.take(bytes))).not.toBe(memoryOf(given));
  });

  test("are kept two at a time, the largest", () => {
    const buffers = new ReadBuffers();
    const taken = [64, 128, 256, 512].map((size) => buffers.take(size * KIB));
    for (const buffer of taken) buffers.give(buffer);
    const kept = [512, 256, 64].map((size) => buffers.take(size * KIB));
    const places = kept.map((buffer) => taken.findIndex((given) => memoryOf(given) === memoryOf(buffer)));
    expect(places).toEqual([3, 2, -1]);
  });
});
