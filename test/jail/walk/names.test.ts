import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { type Arena, INSIDE, inArena } from "../arena.js";
import { ATTEMPT_NAMES, ATTEMPTS } from "../attacks/attempts.js";
import { ENGINES, outcomeOf, withFiles } from "../files.js";

const bytes = (root: string, ...name: (string | number)[]): Buffer =>
  Buffer.concat([
    Buffer.from(`${root}/`),
    ...name.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part))),
  ]);

/** Names that are not UTF-8, and how they are shown. */
const BROKEN: readonly (readonly [shown: string, name: readonly (string | number)[]])[] = [
  ["\\xff", [0xff]],
  ["a\\xffb", ["a", 0xff, "b"]],
  ["\\xc3", [0xc3]],
  ["\\xc3(", [0xc3, "("]],
  // A valid character before and after stays as it is.
  ["ä\\xe4ä", ["ä", 0xe4, "ä"]],
  // An encoded surrogate, and an overlong slash.
  ["\\xed\\xa0\\x80", [0xed, 0xa0, 0x80]],
  ["\\xc0\\xaf", [0xc0, 0xaf]],
  ["\\xf4\\x90\\x80\\x80", [0xf4, 0x90, 0x80, 0x80]],
];

describe.each(ENGINES)("names that are not UTF-8, by %s", (engine) => {
  test.each(BROKEN)("%s is shown escaped and marked as unreachable", async (shown, name) => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, "odd"));
      writeFileSync(bytes(`${root}/odd`, ...name), "12345");
      await withFiles(
        root,
        async (files) => {
          const { entries } = await files.invoke("list", { path: "odd" });
          expect(entries).toEqual([
            { name: shown, type: "file", size: 5, modified: expect.any(Number), unreachable: true },
          ]);
          const { tree } = await files.invoke("tree", { path: "odd", info: "size" });
          expect(tree).toBe(`r/odd/\n\t${shown} (5 B)\n`);
        },
        { engine },
      );
    });
  });

  test("neither the lossy decoding nor the escaped form is accepted as a path", async () => {
    await inArena(async (arena) => {
      const { root } = arena;
      mkdirSync(join(root, "odd"));
      const path = bytes(`${root}/odd`, "a", 0xff);
      for (const given of ["odd/a\ufffd", "odd/a\\xff", "odd/a%ff", "odd/a\u00ff"]) {
        writeFileSync(path, INSIDE);
        await withFiles(
          root,
          async (files) => {
            for (const name of ATTEMPT_NAMES) {
              const { code, output } = await outcomeOf(ATTEMPTS[name].run(files, given));
              if (name === "read") expect(code).not.toBe("ok");
              if (name === "stat" && code === "ok") expect(output).toEqual({ exists: false });
              if (name === "delete" || name === "delete, recursive") await files.invoke("list", { path: "odd" });
            }
          },
          { engine },
        );
        expect(readFileSync(path, "utf8")).toBe(INSIDE);
      }
    });
  });

  test("a link to such a name is not resolved through the lossy decoding", async () => {
    await inArena(async ({ root }) => {
      writeFileSync(bytes(root, "a", 0xff), "the one meant");
      symlinkSync(Buffer.from([0x61, 0xff]), join(root, "link"));
      await withFiles(
        root,
        async (files) => {
          expect((await outcomeOf(files.invoke("read", { path: "link" }))).code).not.toBe("ok");
        },
        { engine },
      );
    });
  });

  test("are removed together with their directory, whatever their type", async () => {
    await inArena(async (arena) => {
      const { root, outside } = arena;
      mkdirSync(join(root, "odd"));
      mkdirSync(bytes(`${root}/odd`, "d", 0xff));
      mkdirSync(bytes(`${root}/odd`, "d", 0xff, "/below", 0xfe));
      writeFileSync(bytes(`${root}/odd`, "d", 0xff, "/below", 0xfe, "/file", 0xfd), "x");
      symlinkSync(outside, bytes(`${root}/odd`, "link", 0xff));
      const before = arena.outsideNow();
      await withFiles(root, (files) => files.invoke("delete", { path: "odd", recursive: true }), { engine });
      expect(existsSync(join(root, "odd"))).toBe(false);
      expect(readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
      expect(arena.outsideNow()).toEqual(before);
    });
  });

  test("a directory with such a name is listed with its contents", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(bytes(root, "d", 0xff));
      writeFileSync(bytes(root, "d", 0xff, "/below"), "x");
      await withFiles(
        root,
        async (files) => {
          const { tree } = await files.invoke("tree", {});
          // Without handles there is no text to go on with.
          expect(tree).toContain(engine === "real-path check" ? "\td\\xff/\n\tdir/" : "\td\\xff/\n\t\tbelow\n\tdir/");
        },
        { engine },
      );
    });
  });
});

/** Names that would break a line, or a reader's trust in what he sees, and how tree shows them. */
const TROUBLE: readonly (readonly [name: string, shown: string, reachable: boolean])[] = [
  ["line\nbreak", "line\\u{a}break", false],
  ["carriage\rreturn", "carriage\\u{d}return", false],
  ["tab\tbed", "tab\\u{9}bed", false],
  ["escape\u001b[2Jsequence", "escape\\u{1b}[2Jsequence", false],
  ["delete\u007f", "delete\\u{7f}", false],
  ["next\u0085line", "next\\u{85}line", true],
  ["line\u2028separator", "line\\u{2028}separator", true],
  ["paragraph\u2029separator", "paragraph\\u{2029}separator", true],
  ["right\u202eto left", "right\\u{202e}to left", true],
  ["isolate\u2066d", "isolate\\u{2066}d", true],
  ["back\\slash", "back\\slash", false],
  ["C:drive", "C:drive", false],
  ["plain", "plain", true],
];

describe.each(ENGINES)("names with control characters, by %s", (engine) => {
  test.each(TROUBLE)("%j takes one line of a tree, as %s", async (name, shown, reachable) => {
    await inArena(async ({ root }) => {
      writeFileSync(join(root, name), "12345");
      await withFiles(
        root,
        async (files) => {
          const { tree, entries } = await files.invoke("tree", { maxDepth: 1 });
          const lines = String(tree).split("\n");
          expect(lines).toContain(`\t${shown}`);
          expect(lines).toHaveLength(Number(entries) + 2);
          const listed = (await files.invoke("list"))["entries"] as { name: string; unreachable?: true }[];
          const entry = listed.find((one) => one.name === name);
          expect(entry?.unreachable).toBe(reachable ? undefined : true);
          expect((await outcomeOf(files.invoke("read", { path: name }))).code === "ok").toBe(reachable);
        },
        { engine },
      );
    });
  });

  test("unreachable entries are removed together with their directory", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, "odd"));
      for (const [name] of TROUBLE) writeFileSync(join(root, "odd", name), "x");
      await withFiles(root, (files) => files.invoke("delete", { path: "odd", recursive: true }), { engine });
      expect(existsSync(join(root, "odd"))).toBe(false);
    });
  });
});

test("errors show the requested path on one line", async () => {
  await inArena(async ({ root }) => {
    await withFiles(root, async (files) => {
      const path = "missing\u2028line\u202eend\u0085";
      const { message } = await outcomeOf(files.invoke("read", { path }));
      expect(message).toBe("Not found: r:missing\\u{2028}line\\u{202e}end\\u{85}");
    });
  });
});

test("a case-sensitive file system is recognised as such, whatever links suggest", async () => {
  await inArena(async ({ root, directory }: Arena) => {
    symlinkSync("file.txt", join(root, "FILE.TXT"));
    directory("Dir");
    await withFiles(root, async (files) => {
      await files.invoke("write", { path: "Dir/file.txt", content: "upper" });
      expect(await files.invoke("read", { path: "dir/file.txt" })).toMatchObject({ content: INSIDE });
      await files.invoke("delete", { path: "FILE.TXT" });
      expect(lstatSync(join(root, "file.txt")).isFile()).toBe(true);
      // Not reserved where case counts.
      await files.invoke("write", { path: ".Venue-Files", content: "x" });
      expect((await files.invoke("list"))["entries"]).toContainEqual(expect.objectContaining({ name: ".Venue-Files" }));
    });
  });
});
