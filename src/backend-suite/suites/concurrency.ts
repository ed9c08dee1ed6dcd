// Concurrent calls on one backend.

import { bodyOf, type Content, type Files, streamSlowly, yieldToLoop } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Content given at once, late or in pieces, so that calls overtake each other. */
function varyDelivery(text: string, index: number): Content {
  if (index % 3 === 0) return text;
  if (index % 3 === 1) return streamSlowly(text.slice(0, 5), text.slice(5));
  return { load: () => yieldToLoop().then(() => bodyOf(text).load()) };
}

export function concurrencySuite(scenario: Scenario): void {
  describe("calls at the same time", () => {
    scenario("50 appends to one file: none is lost, none is torn", async ({ files }) => {
      const lines = numbers(50).map((index) => `line ${String(index).padStart(2, "0")}\n`);
      const results = await Promise.all(lines.map((line, index) => files.append("log", varyDelivery(line, index))));
      expect(results.map(({ bytes }) => bytes)).toEqual(lines.map((line) => line.length));
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      const text = await files.text("log");
      expect(text).toHaveLength(lines.join("").length);
      expect(text.match(/.*\n/g)?.toSorted()).toEqual(lines);
    });

    scenario("writes and reads of one file: each reader sees one whole content", async ({ files }) => {
      const size = 100_000;
      const contentOf = (index: number): string => String.fromCharCode(0x61 + index).repeat(size);
      await files.write("a", contentOf(0));
      const writes = numbers(20).map((index) => files.write("a", varyDelivery(contentOf(index), index)));
      const reads = numbers(40).map(async (index) => {
        for (let turns = 0; turns < index; turns++) await yieldToLoop();
        return files.text("a");
      });
      const [written, seen] = await Promise.all([Promise.all(writes), Promise.all(reads)]);
      expect(written).toEqual(writes.map(() => ({ bytes: size, created: false })));
      for (const text of [...seen, await files.text("a")]) {
        expect(text).toHaveLength(size);
        expect(text === text.charAt(0).repeat(size)).toBe(true);
      }
    });

    scenario("writes into the same missing parents: all are there", async ({ files }) => {
      const paths = numbers(10).map((index) => `a/b/c/file${index}`);
      const results = await Promise.all(
        paths.map((path, index) => files.write(path, varyDelivery(`content of ${path}`, index), { parents: true })),
      );
      expect(results.every(({ created }) => created)).toBe(true);
      expect(await contents(files, paths)).toEqual(paths.map((path) => `content of ${path}`));
    });

    scenario(
      "writes of one file below the same missing parents: one creates it, the others replace it",
      async ({ files }) => {
        const results = await Promise.all(
          numbers(10).map((index) => files.write("a/b/c", varyDelivery(`${index}`, index), { parents: true })),
        );
        expect(results.filter(({ created }) => created)).toHaveLength(1);
        expect(
          numbers(10)
            .map(String)
            .includes(await files.text("a/b/c")),
        ).toBe(true);
      },
    );

    scenario("mkdirs of one directory: one makes it", async ({ files }) => {
      const results = await Promise.all(numbers(10).map(() => files.mkdir("a/b", { parents: true })));
      expect(results.filter(({ created }) => created)).toHaveLength(1);
    });

    scenario("removes of one file: one finds it", async ({ files }) => {
      await files.write("a", "x");
      const results = await Promise.all(numbers(10).map(() => files.remove("a")));
      expect(results.filter(({ existed }) => existed)).toHaveLength(1);
      expect(await files.snapshot()).toEqual([]);
    });

    scenario("changes of different files do not meet", async ({ files }) => {
      const paths = numbers(20).map((index) => `file${index}`);
      await Promise.all(
        paths.map(async (path, index) => {
          await files.write(path, varyDelivery(`${path} one;`, index));
          await files.append(path, varyDelivery("two;", index + 1));
          if (index % 2 === 1) await files.remove(path);
        }),
      );
      const left = paths.filter((_, index) => index % 2 === 0);
      expect(await contents(files, left)).toEqual(left.map((path) => `${path} one;two;`));
      expect((await files.list("")).total).toBe(left.length);
    });
  });
}

const contents = (files: Files, paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => files.text(path)));
