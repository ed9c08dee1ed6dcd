import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { RecentContents } from "../../src/core/etag-cache.js";

const KB = 1024;

/** Keeps content under a key, with a hash that nobody computes. */
function keep(recent: RecentContents, key: string, { length, fill }: { length: number; fill: string }): Buffer {
  const bytes = recent.room(length).fill(fill);
  recent.keep(key, { bytes, sha256: `hash of ${key}` });
  return Buffer.from(bytes);
}

describe("contents that were kept", () => {
  test("are known by their bytes, and only under their key", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const bytes = keep(recent, "a", { length: 20 * KB, fill: "x" });
    expect(recent.hashOf("a", bytes)).toBe("hash of a");
    expect(recent.hashOf("b", bytes)).toBeUndefined();
    const changed = Buffer.from(bytes).fill("y", bytes.length - 1);
    expect(recent.hashOf("a", changed)).toBeUndefined();
    expect(recent.hashOf("a", bytes.subarray(1))).toBeUndefined();
  });

  test("stay as they were while other contents are written", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const first = keep(recent, "a", { length: 20 * KB, fill: "1" });
    for (const fill of ["2", "3", "4"]) keep(recent, "b", { length: 20 * KB, fill });
    recent.room(20 * KB).fill("5");
    expect(recent.hashOf("a", first)).toBe("hash of a");
  });

  test("give their memory to the next content of their file", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const buffers = new Set<unknown>();
    for (let turn = 0; turn < 20; turn++) {
      const bytes = recent.room(100 * KB + turn).fill(turn);
      buffers.add(bytes.buffer);
      recent.keep("a", { bytes, sha256: "hash" });
    }
    expect(buffers.size).toBe(2);
  });

  test("are at most 8 MiB in all, the oldest forgotten first, and none above 1 MiB", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const kept = ["a", "b", "c", "d", "e", "g", "h", "i", "j"].map((key) =>
      keep(recent, key, { length: 1024 * KB, fill: key }),
    );
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = kept;
    expect(recent.hashOf("a", first)).toBeUndefined();
    expect(recent.hashOf("b", second)).toBe("hash of b");
    const large = keep(recent, "f", { length: 1024 * KB + 1, fill: "f" });
    expect(recent.hashOf("f", large)).toBeUndefined();
    expect(recent.hashOf("b", second)).toBe("hash of b");
  });

  test("are forgotten when the file gets too short to be worth it", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const bytes = keep(recent, "a", { length: 20 * KB, fill: "x" });
    keep(recent, "a", { length: 100, fill: "x" });
    expect(recent.hashOf("a", bytes)).toBeUndefined();
  });
});

describe("the hash of new content", () => {
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

  /** Changes a byte, and says how many are before it. */
  function editAt(recent: RecentContents, before: Buffer, at: number): { bytes: Buffer; unchanged: number } {
    const bytes = recent.room(before.length);
    before.copy(bytes);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    return { bytes, unchanged: at };
  }

  test.each([
    ["from its start to its end", [0, 1, 63, 64, 65, 9_000, 50_000, 99_999]],
    ["from its end to its start", [99_999, 50_000, 9_000, 65, 64, 63, 1, 0]],
    ["at one place", [50_000, 50_000, 50_000]],
    ["to and fro", [50_000, 99_999, 10, 60_000, 20, 99_998, 0, 70_000]],
  ])("is right when a file is edited %s", (_, places) => {
    const recent = new RecentContents(() => createHash("sha256"));
    let before = Buffer.alloc(100_000, "some text ");
    for (const at of places) {
      const { bytes, unchanged } = editAt(recent, before, at);
      const content = recent.hash("a", bytes, unchanged);
      expect(content?.sha256).toBe(sha256(bytes));
      before = Buffer.from(bytes);
      if (content !== undefined) recent.keep("a", content);
    }
  });

  test.each([
    ["too few", 10],
    ["too many", 90_000],
    ["all", 100_000],
  ])("is right where %s bytes are said to be unchanged, also the next time", (_, unchanged) => {
    const recent = new RecentContents(() => createHash("sha256"));
    let before = Buffer.alloc(100_000, "some text ");
    for (const at of [50_000, 95_000, 20_000]) {
      const { bytes } = editAt(recent, before, at);
      const content = recent.hash("a", bytes, unchanged);
      expect(content?.sha256).toBe(sha256(bytes));
      before = Buffer.from(bytes);
      if (content !== undefined) recent.keep("a", content);
    }
  });

  test("is right after others have changed the file, and when it gets shorter than what was hashed", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const first = recent.room(100_000).fill("x");
    const kept = recent.hash("a", first, 90_000);
    if (kept !== undefined) recent.keep("a", kept);
    for (const [length, fill] of [
      [100_000, "y"],
      [50_000, "x"],
    ] as const) {
      const bytes = Buffer.alloc(length, fill);
      expect(recent.hash("a", bytes, 40_000)?.sha256).toBe(sha256(bytes));
    }
  });

  test("goes on from the bytes before the last change: what is behind it is all that is hashed here", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const bytes = recent.room(1_000_000).fill("x");
    // Too much at once: somebody else hashes that.
    expect(recent.hash("a", bytes, 900_000)).toBeUndefined();
    const start = createHash("sha256").update(bytes.subarray(0, 900_000));
    recent.keep("a", { bytes, sha256: "hash", start: { length: 900_000, state: start } });
    const next = Buffer.from(bytes).fill("y", 950_000);
    for (const unchanged of [950_000, 900_000, 0]) expect(recent.hash("a", next, unchanged)?.sha256).toBe(sha256(next));
    // The same bytes of another file have been hashed by nobody.
    expect(recent.hash("b", next, 950_000)).toBeUndefined();
  });

  test("is not computed for content that is not kept", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    expect(recent.hash("a", Buffer.alloc(16_383), 100)).toBeUndefined();
    expect(recent.hash("a", Buffer.alloc(1_048_577), 100)).toBeUndefined();
  });
});
