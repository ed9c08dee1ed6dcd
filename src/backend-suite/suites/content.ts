// Writing and appending content.

import { isADirectory, notADirectory, parentMissing } from "../../core/errors/texts.js";
import { parsePath } from "../../path/grammar.js";
import { SUITE_ROOT, testAccess } from "../access.js";
import { bodyOf, expectFailure, placeOf, streamSlowly } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";
import { expectRecent } from "./reading.js";

type Method = "write" | "append";

const MEBIBYTE = 1_048_576;

/** Bytes in which a lost, repeated or displaced piece is detectable. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = (index * 31 + (index >> 8)) & 255;
  return bytes;
}

/** How write and append handle content. */
export function contentSuite(scenario: Scenario, method: Method): void {
  const joined = (old: string, added: string): string => (method === "append" ? old + added : added);

  describe(`${method}: content`, () => {
    scenario("makes a file that was not there", async ({ files }) => {
      expect(await files[method]("a.txt", "héllo")).toEqual({ bytes: 6, created: true });
      expect(await files.text("a.txt")).toBe("héllo");
      expectRecent((await files.stat("a.txt"))?.modified);
    });

    scenario(method === "append" ? "adds to the end of a file" : "replaces the whole of a file", async ({ files }) => {
      await files.write("a.txt", "a long old content");
      expect(await files[method]("a.txt", "new")).toEqual({ bytes: 3, created: false });
      expect(await files.text("a.txt")).toBe(joined("a long old content", "new"));
    });

    if (method === "append") {
      scenario("asks what to add to a file that starts with these bytes", async ({ files }) => {
        const addedTo = (head: Buffer, size: number) => (size === 4 ? undefined : Buffer.from(`+${head}${size}`));
        const body = { load: () => Buffer.from("x"), addedTo };
        expect(await files.append("a", body)).toEqual({ bytes: 1, created: true });
        expect(await files.append("a", body)).toEqual({ bytes: 1, created: false });
        expect(await files.append("a", body)).toEqual({ bytes: 4, created: false });
        await files.write("b", "four");
        expect(await files.append("b", body)).toEqual({ bytes: 1, created: false });
        expect([await files.text("a"), await files.text("b")]).toEqual(["xx+xx2", "fourx"]);
      });
    }

    scenario("takes no bytes at all", async ({ files }) => {
      expect(await files[method]("a", "")).toEqual({ bytes: 0, created: true });
      expect(await files.stat("a")).toMatchObject({ type: "file", size: 0 });
      await files.write("a", "old");
      expect(await files[method]("a", "")).toEqual({ bytes: 0, created: false });
      expect(await files.text("a")).toBe(joined("old", ""));
    });

    scenario("takes a mebibyte", async ({ files }) => {
      const big = pattern(MEBIBYTE);
      expect(await files[method]("big", big)).toEqual({ bytes: MEBIBYTE, created: true });
      const { bytes, size } = await files.read("big");
      expect(size).toBe(MEBIBYTE);
      expect(bytes.equals(big)).toBe(true);
    });

    scenario("takes a stream", async ({ files }) => {
      const stream = streamSlowly("one ", "", Uint8Array.of(0x74, 0x77, 0x6f), " three");
      expect(await files[method]("a", stream)).toEqual({ bytes: 13, created: true });
      expect(await files.text("a")).toBe("one two three");
      expect(await files[method]("a", streamSlowly("!"))).toEqual({ bytes: 1, created: false });
      expect(await files.text("a")).toBe(joined("one two three", "!"));
    });

    scenario("takes a stream of nothing", async ({ files }) => {
      expect(await files[method]("a", streamSlowly())).toEqual({ bytes: 0, created: true });
      expect(await files.read("a")).toMatchObject({ bytes: Buffer.alloc(0), size: 0 });
    });

    scenario("takes a mebibyte in uneven chunks", async ({ files }) => {
      const big = pattern(MEBIBYTE);
      const chunks: Uint8Array[] = [];
      for (let at = 0, length = 1; at < big.length; at += length, length = (length * 7) % 65_521) {
        chunks.push(big.subarray(at, at + length));
      }
      expect(await files[method]("big", streamSlowly(...chunks))).toEqual({ bytes: MEBIBYTE, created: true });
      expect((await files.read("big")).bytes.equals(big)).toBe(true);
    });

    scenario("takes a stream that uses one buffer for all its chunks", async ({ files }) => {
      async function* stream(): AsyncGenerator<Uint8Array> {
        const buffer = Buffer.alloc(3);
        for (const chunk of ["abc", "def", "ghi"]) {
          buffer.write(chunk);
          yield buffer;
        }
        buffer.fill(0);
      }
      expect(await files[method]("a", stream())).toEqual({ bytes: 9, created: true });
      expect(await files.text("a")).toBe("abcdefghi");
    });

    scenario("takes content that has to be waited for", async ({ files }) => {
      const load = () => Promise.resolve(Buffer.from("late"));
      expect(await files[method]("a", { load })).toEqual({ bytes: 4, created: true });
      expect(await files.text("a")).toBe("late");
    });

    scenario("keeps what it was given, not the buffer it came in", async ({ files }) => {
      const buffer = Buffer.from("original");
      await files[method]("a", buffer);
      buffer.fill(0);
      expect(await files.text("a")).toBe("original");
    });

    scenario("leaves other files alone", async ({ files }) => {
      await files.write("dir/a", "old", { parents: true });
      await files.write("dir/b", "other");
      await files[method]("dir/a", "new");
      expect(await files.snapshot()).toEqual([
        ["dir", null],
        ["dir/a", joined("old", "new")],
        ["dir/b", "other"],
      ]);
    });

    for (const [why, path] of [
      ["a directory", "dir"],
      ["a directory that holds something", "full"],
      ["the root", ""],
    ] as const) {
      for (const parents of [false, true]) {
        scenario(`is refused on ${why}, before the content is asked for (parents: ${parents})`, async ({ files }) => {
          await files.mkdir("dir");
          await files.write("full/inner", "x", { parents: true });
          const before = await files.snapshot();
          let loaded = false;
          const load = () => {
            loaded = true;
            return Buffer.from("x");
          };
          await expectFailure(files[method](path, { load }, { parents }), isADirectory(placeOf(path)));
          expect(loaded).toBe(false);
          expect(await files.snapshot()).toEqual(before);
        });
      }
    }
  });
}

/** How write and append handle the directories above their target. */
export function parentsSuite(scenario: Scenario, method: Method): void {
  describe(`${method}: parents`, () => {
    const missing = [
      ["none/a", "none"],
      ["none/none/a", "none/none"],
      ["dir/none/a", "dir/none"],
      ["dir/none/none/none/a", "dir/none/none/none"],
    ] as const;
    for (const [path, parent] of missing) {
      scenario(`names the missing parent of ${path}, before the content is asked for`, async ({ files }) => {
        await files.mkdir("dir");
        let loaded = false;
        const load = () => {
          loaded = true;
          return Buffer.from("x");
        };
        await expectFailure(files[method](path, { load }), parentMissing(placeOf(parent)));
        expect(loaded).toBe(false);
        expect(await files.snapshot()).toEqual([["dir", null]]);
      });
    }

    const blocked = [
      ["file/a", "file"],
      ["file/x/y/a", "file"],
      ["dir/file/a", "dir/file"],
      ["dir/file/x/a", "dir/file"],
    ] as const;
    for (const [path, file] of blocked) {
      for (const parents of [false, true]) {
        scenario(`names the file in the way of ${path} (parents: ${parents})`, async ({ files }) => {
          await files.write("file", "1");
          await files.write("dir/file", "2", { parents: true });
          const before = await files.snapshot();
          await expectFailure(files[method](path, "x", { parents }), notADirectory(placeOf(file)));
          expect(await files.snapshot()).toEqual(before);
        });
      }
    }

    scenario("makes missing parents when told to", async ({ files }) => {
      await files.mkdir("dir");
      expect(await files[method]("dir/a/b/c/file", "x", { parents: true })).toEqual({ bytes: 1, created: true });
      expect(await files[method]("top", "y", { parents: true })).toEqual({ bytes: 1, created: true });
      expect(await files.snapshot()).toEqual([
        ["dir", null],
        ["dir/a", null],
        ["dir/a/b", null],
        ["dir/a/b/c", null],
        ["dir/a/b/c/file", "x"],
        ["top", "y"],
      ]);
    });

    scenario("asks for each parent it makes, topmost first, and for no other", async ({ backend, files }) => {
      await files.mkdir("dir");
      const access = testAccess({ path: "dir/a/b/file" });
      await backend[method](parsePath(SUITE_ROOT, "dir/a/b/file"), bodyOf("x"), { parents: true }, access);
      expect(access.asked.create).toEqual([
        { requested: "dir/a", real: "dir/a" },
        { requested: "dir/a/b", real: "dir/a/b" },
      ]);

      const again = testAccess({ path: "dir/a/b/other" });
      await backend[method](parsePath(SUITE_ROOT, "dir/a/b/other"), bodyOf("x"), { parents: true }, again);
      expect(again.asked.create).toEqual([]);
    });
  });
}
