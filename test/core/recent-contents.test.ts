import { describe, expect, test } from "@jest/globals";
import { RecentContents } from "../../src/core/etag-cache.js";

const KB = 1024;

/** Keeps content under a key, with a hash that nobody computes. */
function keep(recent: RecentContents, key: string, { length, fill }: { length: number; fill: string }): Buffer {
  const bytes = recent.room(length).fill(fill);
  recent.keep(key, bytes, `hash of ${key}`);
  return Buffer.from(bytes);
}

describe("contents that were kept", () => {
  test("are known by their bytes, and only under their key", () => {
    const recent = new RecentContents();
    const bytes = keep(recent, "a", { length: 20 * KB, fill: "x" });
    expect(recent.hashOf("a", bytes)).toBe("hash of a");
    expect(recent.hashOf("b", bytes)).toBeUndefined();
    const changed = Buffer.from(bytes).fill("y", bytes.length - 1);
    expect(recent.hashOf("a", changed)).toBeUndefined();
    expect(recent.hashOf("a", bytes.subarray(1))).toBeUndefined();
  });

  test("stay as they were while other contents are written", () => {
    const recent = new RecentContents();
    const first = keep(recent, "a", { length: 20 * KB, fill: "1" });
    for (const fill of ["2", "3", "4"]) keep(recent, "b", { length: 20 * KB, fill });
    recent.room(20 * KB).fill("5");
    expect(recent.hashOf("a", first)).toBe("hash of a");
  });

  test("give their memory to the next content of their file", () => {
    const recent = new RecentContents();
    const buffers = new Set<unknown>();
    for (let turn = 0; turn < 20; turn++) {
      const bytes = recent.room(100 * KB + turn).fill(turn);
      buffers.add(bytes.buffer);
      recent.keep("a", bytes, "hash");
    }
    expect(buffers.size).toBe(2);
  });

  test("are at most 4 MiB in all, the oldest forgotten first, and none above 1 MiB", () => {
    const recent = new RecentContents();
    const kept = ["a", "b", "c", "d", "e"].map((key) => keep(recent, key, { length: 1024 * KB, fill: key }));
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = kept;
    expect(recent.hashOf("a", first)).toBeUndefined();
    expect(recent.hashOf("b", second)).toBe("hash of b");
    const large = keep(recent, "f", { length: 1024 * KB + 1, fill: "f" });
    expect(recent.hashOf("f", large)).toBeUndefined();
    expect(recent.hashOf("b", second)).toBe("hash of b");
  });

  test("are forgotten when the file gets too short to be worth it", () => {
    const recent = new RecentContents();
    const bytes = keep(recent, "a", { length: 20 * KB, fill: "x" });
    keep(recent, "a", { length: 100, fill: "x" });
    expect(recent.hashOf("a", bytes)).toBeUndefined();
  });
});
