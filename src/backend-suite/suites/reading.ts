// Stat and read.

import { contentTooLarge, isADirectory, notFound } from "../../core/errors/texts.js";
import { expectFailure, placeOf } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

const MINUTE_MS = 60_000;

/** Expects a time within the last moments. */
export function expectRecent(modified: number | undefined): void {
  expect(modified).toEqual(expect.any(Number));
  expect(Number.isInteger(modified)).toBe(true);
  expect(Math.abs(Date.now() - Number(modified))).toBeLessThan(MINUTE_MS);
}

export function statSuite(scenario: Scenario): void {
  describe("stat", () => {
    scenario("tells type and size of a file", async ({ files }) => {
      await files.write("a.txt", "grüße");
      const stat = await files.stat("a.txt");
      expect(stat).toMatchObject({ type: "file", size: 7, readOnly: false, symlink: false });
      expectRecent(stat?.modified);
    });

    scenario("tells type of a directory, and no size", async ({ files }) => {
      await files.write("dir/inner.txt", "12345", { parents: true });
      const stat = await files.stat("dir");
      expect(stat).toMatchObject({ type: "directory", size: 0, readOnly: false, symlink: false });
      expectRecent(stat?.modified);
    });

    scenario("knows the root as a directory", async ({ files }) => {
      expect(await files.stat("")).toMatchObject({ type: "directory", size: 0, symlink: false });
    });

    scenario("gives undefined where nothing is", async ({ files }) => {
      expect(await files.stat("a")).toBeUndefined();
      expect(await files.stat("a/b/c")).toBeUndefined();
    });

    scenario("gives undefined below a file", async ({ files }) => {
      await files.write("a", "x");
      expect(await files.stat("a/b")).toBeUndefined();
      expect(await files.stat("a/b/c")).toBeUndefined();
    });
  });
}

export function readSuite(scenario: Scenario): void {
  describe("read", () => {
    rangeScenarios(scenario);
    refusalScenarios(scenario);

    scenario("keeps every byte", async ({ files }) => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await files.write("bytes", bytes);
      expect(await files.read("bytes")).toMatchObject({ bytes, size: 256 });
    });

    scenario("gives an empty file", async ({ files }) => {
      await files.write("empty", "");
      expect(await files.read("empty")).toMatchObject({ bytes: Buffer.alloc(0), size: 0 });
    });

    scenario("tells the plan the size of the whole file, once", async ({ files }) => {
      await files.write("a", "0123456789");
      const sizes: number[] = [];
      await files.read("a", (size) => {
        sizes.push(size);
        return { offset: 0, length: 1 };
      });
      expect(sizes).toEqual([10]);
    });

    scenario("fails as the plan does", async ({ files }) => {
      await files.write("a", "0123456789");
      const refusal = contentTooLarge(placeOf("a"), 10, 5);
      const read = files.read("a", () => {
        throw refusal;
      });
      await expectFailure(read, refusal);
      expect(await files.text("a")).toBe("0123456789");
    });

    scenario("gives bytes that are the reader's own", async ({ files }) => {
      await files.write("a", "original");
      (await files.read("a")).bytes.fill(0);
      expect(await files.text("a")).toBe("original");
    });
  });
}

function rangeScenarios(scenario: Scenario): void {
  const content = "0123456789";
  const ranges = [
    { why: "from the start", offset: 0, length: 4, expected: "0123" },
    { why: "from the middle", offset: 3, length: 4, expected: "3456" },
    { why: "up to the end", offset: 8, length: 2, expected: "89" },
    { why: "beyond the end, cut there", offset: 8, length: 50, expected: "89" },
    { why: "at the end, nothing", offset: 10, length: 5, expected: "" },
    { why: "after the end, nothing", offset: 11, length: 5, expected: "" },
    { why: "of no length, nothing", offset: 3, length: 0, expected: "" },
  ];
  for (const { why, offset, length, expected } of ranges) {
    scenario(`gives the bytes that were asked for: ${why}`, async ({ files }) => {
      await files.write("a", content);
      const { bytes, size } = await files.read("a", { offset, length });
      expect(bytes.toString()).toBe(expected);
      expect(size).toBe(content.length);
    });
  }
}

function refusalScenarios(scenario: Scenario): void {
  const refusals = [
    { why: "where nothing is", path: "none", expected: notFound },
    { why: "where no parent is", path: "none/none", expected: notFound },
    { why: "below a file", path: "file/none", expected: notFound },
    { why: "further below a file", path: "file/none/none", expected: notFound },
    { why: "of a directory", path: "dir", expected: isADirectory },
    { why: "of the root", path: "", expected: isADirectory },
  ];
  for (const { why, path, expected } of refusals) {
    scenario(`is refused ${why}, before the plan is asked`, async ({ files }) => {
      await files.write("file", "x");
      await files.mkdir("dir");
      let planned = false;
      const read = files.read(path, (size) => {
        planned = true;
        return { offset: 0, length: size };
      });
      await expectFailure(read, expected(placeOf(path)));
      expect(planned).toBe(false);
    });
  }
}
