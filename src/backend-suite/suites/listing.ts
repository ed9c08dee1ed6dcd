// Listing directories and walking trees.

import { aborted, notADirectory, notFound } from "../../core/errors/texts.js";
import type { WalkEntry } from "../../core/ports/backend.js";
import { steppingClock } from "../access.js";
import { expectFailure, type Files, filesOf, placeOf } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";
import { expectRecent } from "./reading.js";

/** In the order of every enumeration. U+FF5E sorts before U+1F600 by code point, but after it by UTF-16 code unit. */
const ORDERED = ["-x", "1", "10", "9", "_", "A", "a", "a.txt", "ab", "B", "b", "Zz", "é", "Ü", "～", "😀"];

const REFUSED = [
  { why: "where nothing is", path: "none", expected: notFound },
  { why: "where no parent is", path: "none/none", expected: notFound },
  { why: "below a file", path: "file/none", expected: notFound },
  { why: "of a file", path: "dir/inner", expected: notADirectory },
];

async function makeRefused(files: Files): Promise<void> {
  await files.write("file", "x");
  await files.write("dir/inner", "x", { parents: true });
}

export function listSuite(scenario: Scenario): void {
  describe("list", () => {
    scenario("describes each entry of the directory, and none below", async ({ files }) => {
      await files.write("dir/file", "12345", { parents: true });
      await files.write("dir/sub/deep", "x", { parents: true });
      const { entries, total } = await files.list("dir");
      expect(total).toBe(2);
      expect(entries).toEqual([
        { name: "file", type: "file", size: 5, modified: expect.any(Number) },
        { name: "sub", type: "directory", size: 0, modified: expect.any(Number) },
      ]);
      for (const entry of entries) expectRecent(entry.modified);
    });

    scenario("gives nothing of an empty directory", async ({ files }) => {
      await files.mkdir("dir");
      expect(await files.list("dir")).toEqual({ entries: [], total: 0, start: 0 });
    });

    scenario("orders by folded name, then by name, in code points", async ({ files }) => {
      for (const name of ORDERED.toReversed()) await files.write(name, "");
      expect(await files.names("")).toEqual(ORDERED);
    });

    const pages = [
      { why: "the first entries", offset: 0, limit: 3, from: 0, to: 3 },
      { why: "entries between", offset: 5, limit: 4, from: 5, to: 9 },
      { why: "what is left", offset: 14, limit: 10, from: 14, to: 16 },
      { why: "nothing at the end", offset: 16, limit: 10, from: 16, to: 16 },
      { why: "nothing after the end", offset: 1000, limit: 1, from: 16, to: 16 },
      { why: "everything where there is room", offset: 0, limit: 16, from: 0, to: 16 },
    ];
    for (const { why, offset, limit, from, to } of pages) {
      scenario(`pages: ${why}, and the total always`, async ({ files }) => {
        for (const name of ORDERED) await files.write(name, "");
        const { entries, total } = await files.list("", { offset, limit });
        expect(entries.map((entry) => entry.name)).toEqual(ORDERED.slice(from, to));
        expect(total).toBe(ORDERED.length);
      });
    }

    scenario("goes on behind a name, though that is gone and others are new before it", async ({ files }) => {
      for (const name of ORDERED) await files.write(name, "");
      const { entries: first } = await files.list("", { limit: 5 });
      const after = first.at(-1)?.name ?? "";
      await files.remove(after);
      await files.write("!", "");
      const { entries, start } = await files.list("", { after, offset: 1, limit: 4 });
      expect([entries.map((entry) => entry.name), start]).toEqual([ORDERED.slice(6, 10), 6]);
    });

    scenario("has only the names that begin so, where that is asked for", async ({ files }) => {
      for (const name of ["ab", "abc", "Abd", "b", "abä"]) await files.write(name, "");
      const { entries, total } = await files.list("", { startsWith: "ab", limit: 2 });
      expect([entries.map((entry) => entry.name), total]).toEqual([["ab", "abc"], 3]);
    });

    for (const { why, path, expected } of REFUSED) {
      scenario(`is refused ${why}`, async ({ files }) => {
        await makeRefused(files);
        await expectFailure(files.list(path), expected(placeOf(path)));
      });
    }
  });
}

/** One line per entry, indented by depth. */
const outline = (entries: readonly WalkEntry[]): string[] =>
  entries.map(({ name, type, depth }) => `${"  ".repeat(depth - 1)}${name}${type === "directory" ? "/" : ""}`);

async function makeTree(files: Files): Promise<void> {
  await files.write("b/c/deep", "1", { parents: true });
  await files.write("b/A", "22");
  await files.write("a", "333");
  await files.mkdir("b/empty");
  await files.write("D/last", "4444", { parents: true });
}

export function walkSuite(scenario: Scenario): void {
  describe("walk", () => {
    scenario("visits everything below, depth first, in order, without the start itself", async ({ files }) => {
      await makeTree(files);
      const seen = await files.walk("");
      expect(outline(seen)).toEqual(["a", "b/", "  A", "  c/", "    deep", "  empty/", "D/", "  last"]);
      expect(seen.map((entry) => entry.depth)).toEqual([1, 1, 2, 2, 3, 2, 1, 2]);
    });

    scenario("counts depth from where it starts", async ({ files }) => {
      await makeTree(files);
      expect(outline(await files.walk("b"))).toEqual(["A", "c/", "  deep", "empty/"]);
    });

    scenario("visits nothing in an empty directory", async ({ files }) => {
      await makeTree(files);
      expect(await files.walk("b/empty")).toEqual([]);
    });

    scenario("does not enter what the visit skips", async ({ files }) => {
      await makeTree(files);
      const seen = await files.walk("", ({ name }) => (name === "c" || name === "D" ? "skip" : "enter"));
      expect(outline(seen)).toEqual(["a", "b/", "  A", "  c/", "  empty/", "D/"]);
    });

    scenario("ends where the visit stops, at any depth", async ({ files }) => {
      await makeTree(files);
      expect(outline(await files.walk("", () => "stop"))).toEqual(["a"]);
      const seen = await files.walk("", ({ name }) => (name === "deep" ? "stop" : "enter"));
      expect(outline(seen)).toEqual(["a", "b/", "  A", "  c/", "    deep"]);
    });

    scenario("tells sizes of files only when they are asked for", async ({ files }) => {
      await makeTree(files);
      const sizesOf = (seen: WalkEntry[]) => seen.filter(({ type }) => type === "file").map(({ size }) => size);
      expect(sizesOf(await files.walk("", () => "enter", true))).toEqual([3, 2, 1, 4]);
      expect(sizesOf(await files.walk("", () => "enter", false))).toEqual([undefined, undefined, undefined, undefined]);
    });

    scenario("ends soon when its call is aborted", async ({ backend, files }) => {
      for (const top of ["a", "b", "c", "d"]) await files.write(`${top}/inner`, "x", { parents: true });
      const controller = new AbortController();
      const clock = steppingClock(20);
      const impatient = filesOf(backend, { signal: controller.signal, clock, timeoutMs: 1_000_000 });
      const walk = impatient.walk("", () => {
        controller.abort();
        return "enter";
      });
      await expectFailure(walk, aborted());
    });

    for (const { why, path, expected } of REFUSED) {
      scenario(`is refused ${why}`, async ({ files }) => {
        await makeRefused(files);
        await expectFailure(files.walk(path), expected(placeOf(path)));
      });
    }
  });
}
