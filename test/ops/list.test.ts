import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround();
const namesOf = async (input: Parameters<typeof ground.run<"list">>[1]) =>
  (await ground.run("list", input)).entries.map(({ name }) => name);

describe("file:list", () => {
  test("describes each entry from the entry itself", async () => {
    ground.put("dir/a file.txt", "12345");
    ground.mkdir("dir/sub/deep");
    symlinkSync("sub", join(ground.dir, "dir/to-sub"));
    symlinkSync("/etc/passwd", join(ground.dir, "dir/out"));
    symlinkSync("nothing", join(ground.dir, "dir/dangling"));
    execFileSync("mkfifo", [join(ground.dir, "dir/pipe")]);
    utimesSync(join(ground.dir, "dir/a file.txt"), 1, 1_234_567_890.5);
    const modified = expect.any(Number);
    expect(await ground.run("list", { path: "dir" })).toEqual({
      entries: [
        { name: "a file.txt", type: "file", size: 5, modified: 1_234_567_890_500 },
        { name: "dangling", type: "symlink", size: 0, modified },
        { name: "out", type: "symlink", size: 0, modified },
        { name: "pipe", type: "other", size: 0, modified },
        { name: "sub", type: "directory", size: 0, modified },
        { name: "to-sub", type: "symlink", size: 0, modified },
      ],
      total: 6,
      truncated: false,
      complete: true,
    });
  });

  test("counts entries that it may not examine", async () => {
    ground.put("dir/a");
    ground.put("dir/b");
    chmodSync(join(ground.dir, "dir"), 0o444);
    const found = await asNobody(ground.dir, () => ground.run("list", { path: "dir" }));
    chmodSync(join(ground.dir, "dir"), 0o755);
    const hint = "Left out: 2 that cannot be examined";
    expect(found).toMatchObject({ entries: [], total: 2, complete: true, hidden: { unreadable: 2 }, hint });
  });

  test("gives times as whole milliseconds, and an empty directory as no entries", async () => {
    ground.put("dir/a");
    utimesSync(join(ground.dir, "dir/a"), 1, 1.000_999);
    expect((await ground.run("list", { path: "dir" })).entries[0]?.modified).toBe(1000);
    ground.mkdir("empty");
    expect(await ground.run("list", { path: "empty" })).toEqual({
      ...{ entries: [], total: 0, truncated: false },
      complete: true,
    });
  });

  test("goes on behind the last name of a page, so that nothing is left out or told twice", async () => {
    for (const name of ["b", "d", "f", "h"]) ground.put(`dir/${name}`);
    const first = await ground.run("list", { path: "dir", limit: 2 });
    expect(first.hint).toBe('Go on with after: "d"');
    ground.put("dir/a");
    rmSync(join(ground.dir, "dir/d"));
    ground.put("dir/h", "longer now");
    const second = await ground.run("list", { path: "dir", limit: 2, after: "d" });
    expect(second).toMatchObject({ entries: [{ name: "f" }, { name: "h", size: 10 }], total: 4, complete: true });
    expect(await namesOf({ path: "dir", limit: 3, after: "B" })).toEqual(["b", "f", "h"]);
    expect(await namesOf({ path: "dir", limit: 3, after: "a", offset: 1 })).toEqual(["f", "h"]);
    expect(await namesOf({ path: "dir", after: "z" })).toEqual([]);
  });

  test.each([[undefined], [""], ["/"], ["."], ["sub/.."]])("lists the root itself for the path %p", async (path) => {
    ground.mkdir("sub");
    expect(await namesOf(path === undefined ? {} : { path })).toEqual(["sub"]);
  });

  test("follows a link in the requested path", async () => {
    ground.put("dir/inner");
    symlinkSync("dir", join(ground.dir, "link"));
    expect(await namesOf({ path: "link" })).toEqual(["inner"]);
  });

  test("orders names by their lower case, then themselves, in code points", async () => {
    const ordered = ["10", "9", "A", "a", "B", "b", "Z", "_", "é", "ﬁ", "😀"];
    for (const name of ordered.toReversed()) ground.put(name);
    expect(await namesOf({})).toEqual(["10", "9", "_", "A", "a", "B", "b", "Z", "é", "ﬁ", "😀"]);
  });

  test("shows what no path can reach, and says so", async () => {
    for (const name of ["back\\slash", "line\nbreak", "C:", "plain"]) writeFileSync(join(ground.dir, name), "");
    writeFileSync(Buffer.concat([Buffer.from(`${ground.dir}/not`), Buffer.of(0xff, 0xc3)]), "1");
    const { entries } = await ground.run("list", {});
    expect(Object.fromEntries(entries.map(({ name, unreachable }) => [name, unreachable]))).toEqual({
      "back\\slash": true,
      "line\nbreak": true,
      "C:": true,
      "not\\xff\\xc3": true,
      plain: undefined,
    });
    expect(entries.find(({ name }) => name.startsWith("not"))?.size).toBe(1);
  });

  test("neither shows nor counts what a write prepares", async () => {
    await ground.run("write", { path: "a", content: "" });
    ground.put(".venue-files/x");
    ground.put("dir/.venue-files-x");
    expect(await ground.run("list", {})).toMatchObject({ total: 2, entries: [{ name: "a" }, { name: "dir" }] });
    expect(await ground.run("list", { path: "dir" })).toMatchObject({ total: 0, entries: [] });
    rmSync(join(ground.dir, ".venue-files"), { recursive: true });
  });

  test("shows a hard link as the file it is", async () => {
    ground.put("a", "123");
    linkSync(join(ground.dir, "a"), join(ground.dir, "b"));
    expect((await ground.run("list", {})).entries.map(({ type, size }) => [type, size])).toEqual([
      ["file", 3],
      ["file", 3],
    ]);
  });
});

describe("pages of file:list", () => {
  const pages: readonly [string, { offset?: number; limit?: number }, string[], boolean][] = [
    ["all without a range", {}, ["a", "b", "c", "d"], false],
    ["the first ones", { limit: 2 }, ["a", "b"], true],
    ["those between", { offset: 1, limit: 2 }, ["b", "c"], true],
    ["the last ones, exactly", { offset: 2, limit: 2 }, ["c", "d"], false],
    ["those that are left", { offset: 3, limit: 100 }, ["d"], false],
    ["none at the end", { offset: 4 }, [], false],
    ["none far behind the end", { offset: 1e300 }, [], false],
    ["at least one: limit 0", { limit: 0 }, ["a"], true],
    ["at least one: a limit below 0", { limit: -7 }, ["a"], true],
    ["from the start: an offset below 0", { offset: -7, limit: 3 }, ["a", "b", "c"], true],
  ];
  test.each(pages)("hold %s", async (_, range, expected, truncated) => {
    for (const name of ["b", "d", "a", "c"]) ground.put(name);
    const page = await ground.run("list", range);
    expect(page.entries.map(({ name }) => name)).toEqual(expected);
    expect(page).toMatchObject({ total: 4, truncated });
  });

  test("hold 1,000 entries unless another number is asked for, and never more than 10,000", async () => {
    ground.put("first");
    // Other names of one file are the quickest way to many entries.
    for (let index = 1; index <= 10_000; index++) linkSync(join(ground.dir, "first"), join(ground.dir, String(index)));
    const usual = await ground.run("list", {});
    expect([usual.entries.length, usual.total, usual.truncated]).toEqual([1000, 10_001, true]);
    const input = { limit: 1_000_000, offset: -1 };
    const largest = await ground.run("list", input);
    expect([largest.entries.length, largest.total, largest.truncated]).toEqual([10_000, 10_001, true]);
    const list = ground.adapter.operations.find(({ name }) => name === "file:list");
    expect(list?.render?.(largest, input).note).toBe('Cut: 10000 of 10001 entries. Go on with after: "9999"');
  });

  test("are the same parts of the whole, however many names there are", async () => {
    ground.put("first");
    const marks = ["a", "B", "é", "\uff5e", "😀", "_"];
    for (let index = 0; index < 9000; index++)
      linkSync(join(ground.dir, "first"), join(ground.dir, `${marks[(index * 7) % 6]}${(index * 7919) % 9000}`));
    const whole = await namesOf({ limit: 10_000 });
    expect(whole).toHaveLength(9001);
    for (const [offset, limit] of [
      [0, 1],
      [0, 100],
      [3, 50],
      [0, 4096],
      [2000, 2097],
    ] as const) {
      const { entries, total, truncated } = await ground.run("list", { offset, limit });
      expect(entries.map(({ name }) => name)).toEqual(whole.slice(offset, offset + limit));
      expect({ total, truncated }).toEqual({ total: 9001, truncated: true });
    }
    const after = whole[99] ?? "";
    expect(await namesOf({ after, limit: 5 })).toEqual(whole.slice(100, 105));
  });

  test.each([
    ["offset", 1.5],
    ["limit", 0.1],
    ["limit", Number.NaN],
    ["offset", Number.POSITIVE_INFINITY],
    ["limit", "5"],
  ])("take whole numbers only: %s %p", async (field, value) => {
    expect(await ground.fail("list", { [field]: value })).toEqual({
      code: "INVALID_INPUT",
      message: `'${field}' must be a whole number`,
      data: { pointer: `/${field}`, expected: "integer" },
    });
  });

  const asJson = { format: "json" } as object;

  test("are rendered as JSON where that is asked for, with the next call when something was cut", async () => {
    for (const name of ["a", "b", "c"]) ground.put(name);
    const listed = await ground.run("list", { offset: 1, limit: 1 });
    const { hint: _, ...output } = listed;
    const operation = ground.adapter.operations.find(({ name }) => name === "file:list");
    expect(operation?.render?.(listed, { root: "r", offset: 1, limit: 1, ...asJson })).toEqual({
      kind: "json",
      value: output,
      rest: {},
      note: 'Cut: 1 of 3 entries. Go on with after: "b"',
    });
    const all = await ground.run("list", {});
    expect(operation?.render?.(all, { root: "r", ...asJson })).toEqual({ kind: "json", value: all, rest: {} });
  });

  test("are rendered as lines with marks and sizes, names escaped", async () => {
    ground.put("a b", "12345");
    ground.put("… 1 more", "");
    ground.put("line\nbreak", "1");
    ground.mkdir("dir");
    symlinkSync("dir", join(ground.dir, "link"));
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
    expect(await ground.render("list", {})).toEqual({
      kind: "text",
      text: "a b 5\ndir/\nline\\u{a}break 1\nlink@\npipe\n\\u{2026} 1 more 0\n",
      rest: { total: 6, truncated: false, complete: true },
    });
    expect(await ground.render("list", { limit: 1 })).toMatchObject({
      text: "a b 5\n",
      note: 'Cut: 1 of 6 entries. Go on with after: "a b"',
    });
  });

  test("say so where there is nothing to show", async () => {
    expect(await ground.render("list", {})).toMatchObject({ text: "Empty directory", rest: { total: 0 } });
    ground.put("a");
    expect(await ground.render("list", { offset: 5 })).toMatchObject({
      text: "Past the end: the directory has 1 entry",
    });
  });
});

describe("file:list is refused", () => {
  const refused = [
    ["where nothing is", "none", failure("NOT_FOUND", "Not found: r:none", "none")],
    ["where no parent is", "none/none", failure("NOT_FOUND", "Not found: r:none/none", "none/none")],
    ["below a file", "file/x", failure("NOT_FOUND", "Not found: r:file/x", "file/x")],
    [
      "on a file",
      "file",
      failure("NOT_A_DIRECTORY", "Not a directory: file. Read it with file:read, or choose another path", "file"),
    ],
    ["through a link that leads out", "out", failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out", "out")],
    [
      "through a link to nothing",
      "dangling",
      failure("DANGLING_SYMLINK", "Path resolves through dangling symlink: dangling", "dangling"),
    ],
    ["above the root", "../x", failure("PATH_ESCAPES_ROOT", "Path escapes root 'r': ../x", "../x")],
    [
      "on what a write prepares",
      ".venue-files",
      failure("INVALID_PATH", "Invalid path '.venue-files': reserved name", ".venue-files"),
    ],
  ] as const;
  test.each(refused)("%s", async (_, path, expected) => {
    ground.put("file");
    symlinkSync(ground.outside, join(ground.dir, "out"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    expect(await ground.fail("list", { path })).toEqual(expected);
  });

  test("where the process may not read", async () => {
    ground.mkdir("closed");
    chmodSync(join(ground.dir, "closed"), 0o000);
    const failed = await asNobody(ground.dir, () => ground.fail("list", { path: "closed" }));
    chmodSync(join(ground.dir, "closed"), 0o755);
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:closed", "closed"));
  });
});
