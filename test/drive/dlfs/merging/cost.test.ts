import { describe, expect, test } from "@jest/globals";
import { mergeCopies } from "./copies.js";

/** For 100,000 files it is 300; `test/long` has those. */
const MAX_VISITED = 200;

describe("a merge of two copies that differ in 10 files", () => {
  test.each([
    { files: 2000, directories: 1, size: 10 },
    { files: 2000, directories: 40, size: 10 },
    { files: 2000, directories: 200, size: 10 },
    { files: 2000, directories: 4, size: 200 },
  ])("visits little but these: $files files of $size bytes in $directories directories", (shape) => {
    const { visited, hash, expected } = mergeCopies({ ...shape, changes: 10 });
    expect(hash).toBe(expected);
    expect(visited).toBeGreaterThan(0);
    expect(visited).toBeLessThanOrEqual(MAX_VISITED);
  });

  test("visits nothing of copies that are equal", () => {
    expect(mergeCopies({ files: 100, directories: 10, size: 200, changes: 0 }).visited).toBe(0);
  });
});
