// Open files.

import { aborted, isADirectory, notFound } from "../../core/errors/texts.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import { parsePath } from "../../path/grammar.js";
import { type AccessOverrides, denial, SUITE_ROOT, testAccess } from "../access.js";
import { expectFailure, placeOf } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario, Stage } from "../scenario.js";

async function open({ backend }: Stage, path: string, overrides: AccessOverrides = {}): Promise<OpenFile> {
  const parsed = parsePath(SUITE_ROOT, path);
  return backend.open(parsed, testAccess({ ...overrides, path: parsed.text }));
}

async function closeAfter<T>(file: OpenFile, work: (file: OpenFile) => Promise<T>): Promise<T> {
  try {
    return await work(file);
  } finally {
    file.close();
  }
}

const textIn = async (file: OpenFile, offset: number, length: number): Promise<string> =>
  (await file.read(offset, length)).toString("latin1");

/** Behaviour of a file that is held open. */
export function openSuite(scenario: Scenario): void {
  describe("open", () => {
    scenario("reads any part, and less only at the end", async (stage) => {
      await stage.files.write("file", "0123456789");
      await closeAfter(await open(stage, "file"), async (file) => {
        expect(file.size).toBe(10);
        expect(file.modified).toBe((await stage.files.stat("file"))?.modified);
        const parts = [await textIn(file, 7, 2), await textIn(file, 0, 3), await textIn(file, 8, 10)];
        expect(parts).toEqual(["78", "012", "89"]);
        expect([await textIn(file, 10, 5), await textIn(file, 99, 5), await textIn(file, 3, 0)]).toEqual(["", "", ""]);
      });
    });

    scenario("reads a mebibyte as it was written", async (stage) => {
      const bytes = Buffer.alloc(1_048_576);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = at * 31 + (at >> 8);
      await stage.files.write("large", bytes);
      await closeAfter(await open(stage, "large"), async (file) => {
        const halves = [await file.read(0, 524_288), await file.read(524_288, 600_000)];
        expect(Buffer.concat(halves).equals(bytes)).toBe(true);
      });
    });

    scenario("changes nothing else of memory that it is given for the answer", async (stage) => {
      await stage.files.write("file", "0123456789");
      await closeAfter(await open(stage, "file"), async (file) => {
        const into = Buffer.alloc(12, "-");
        const texts = [];
        for (const [offset, length] of [
          [0, 8],
          [8, 8],
          [3, 2],
          [10, 12],
        ] as const) {
          texts.push((await file.read(offset, length, into)).toString("latin1"));
          expect(into.subarray(8).toString()).toBe("----");
        }
        expect(texts).toEqual(["01234567", "89", "34", ""]);
      });
    });

    scenario("gives bytes that are the caller's own", async (stage) => {
      await stage.files.write("file", "0123456789");
      await closeAfter(await open(stage, "file"), async (file) => {
        (await file.read(0, 10)).fill(0);
        expect(await textIn(file, 0, 10)).toBe("0123456789");
      });
      expect(await stage.files.text("file")).toBe("0123456789");
    });

    scenario("stays with the file it has found, whatever happens to its name", async (stage) => {
      await stage.files.write("dir/file", "old content", { parents: true });
      await closeAfter(await open(stage, "dir/file"), async (file) => {
        await stage.files.write("dir/file", "new");
        expect(await textIn(file, 0, 100)).toBe("old content");
        await stage.files.remove("dir", { recursive: true });
        expect(await textIn(file, 4, 100)).toBe("content");
      });
    });

    scenario("may be closed more than once", async (stage) => {
      await stage.files.write("file", "x");
      const file = await open(stage, "file");
      file.close();
      file.close();
      expect(await stage.files.text("file")).toBe("x");
    });

    scenario("refuses what is no file", async (stage) => {
      await stage.files.write("file", "x");
      await stage.files.mkdir("dir");
      await expectFailure(open(stage, "none"), notFound(placeOf("none")));
      await expectFailure(open(stage, "dir"), isADirectory(placeOf("dir")));
      await expectFailure(open(stage, ""), isADirectory(placeOf("")));
    });

    scenario("asks for the real place before it tells anything", async (stage) => {
      await stage.files.write("file", "x");
      const real = (): never => {
        throw denial();
      };
      for (const path of ["file", "none", ""]) await expectFailure(open(stage, path, { real }), denial());
    });

    scenario("reads nothing for a caller who has gone", async (stage) => {
      await stage.files.write("file", "x");
      const gone = new AbortController();
      await closeAfter(await open(stage, "file", { signal: gone.signal }), async (file) => {
        gone.abort();
        await expectFailure((async () => file.read(0, 1))(), aborted());
      });
    });

    scenario("has a stamp that is another one when the content is, if it has any", async (stage) => {
      // A stamp may become available only some time after a change, so some entries may lack one.
      const stampsNow = async (): Promise<readonly string[]> => {
        const opened = await closeAfter(await open(stage, "file"), async ({ stamp }) => stamp);
        const stamps = [opened, (await stage.files.stat("file"))?.stamp, (await stage.files.read("file")).stamp];
        return stamps.filter((stamp) => stamp !== undefined);
      };
      await stage.files.write("file", "one");
      const before = new Set(await stampsNow());
      await stage.files.write("file", "two");
      const after = new Set(await stampsNow());
      expect([before.size, after.size].filter((count) => count > 1)).toEqual([]);
      expect([...after].filter((stamp) => before.has(stamp))).toEqual([]);
    });
  });
}
