import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround();

describe("file:tree", () => {
  test("names the root, then one line an entry, indented by tabs, in order", async () => {
    ground.put("b/c/deep");
    ground.put("b/A");
    ground.put("a.txt");
    ground.mkdir("empty");
    symlinkSync("b", join(ground.dir, "link"));
    symlinkSync(ground.outside, join(ground.dir, "out"));
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
    expect(await ground.run("tree", {})).toEqual({
      tree: "r/\n\ta.txt\n\tb/\n\t\tA\n\t\tc/\n\t\t\tdeep\n\tempty/\n\tlink@\n\tout@\n\tpipe\n",
      truncated: false,
      entries: 9,
      complete: true,
      depthLimited: false,
    });
  });

  test("names the directory it starts in by its canonical path", async () => {
    ground.put("b/c/deep");
    expect(await ground.run("tree", { path: "/b/./x/..//c/" })).toMatchObject({ tree: "r/b/c/\n\tdeep\n", entries: 1 });
    symlinkSync("b/c", join(ground.dir, "link"));
    expect(await ground.run("tree", { path: "link" })).toMatchObject({ tree: "r/link/\n\tdeep\n" });
  });

  test("is one line for an empty directory", async () => {
    ground.mkdir("empty");
    const nothing = { truncated: false, entries: 0, depthLimited: false, complete: true };
    expect(await ground.run("tree", { path: "empty" })).toEqual({ tree: "r/empty/\n", ...nothing });
    expect(await ground.run("tree", { path: "" })).toMatchObject({ tree: "r/\n\tempty/\n" });
  });

  test("gives every name one line, whatever is in it", async () => {
    const names = ["a\nb", "c\td", "e\u001b[31m", "f\u202eg", "h\u2028i", "j\u0085k", "l\u007fm"];
    for (const name of names) writeFileSync(join(ground.dir, name), "");
    writeFileSync(Buffer.concat([Buffer.from(`${ground.dir}/x`), Buffer.of(0xff)]), "");
    const { tree } = await ground.run("tree", {});
    ground.put("right\u202eleft/inner");
    const below = await ground.run("tree", { path: "right\u202eleft" });
    expect(below.tree).toBe("r/right\\u{202e}left/\n\tinner\n");
    expect(tree).toBe(
      "r/\n\ta\\u{a}b\n\tc\\u{9}d\n\te\\u{1b}[31m\n\tf\\u{202e}g\n\th\\u{2028}i\n\tj\\u{85}k\n\tl\\u{7f}m\n\tx\\xff\n",
    );
  });

  test("keeps to itself what a write prepares", async () => {
    ground.put(".venue-files/staged");
    ground.put("dir/.venue-files-staged");
    expect(await ground.run("tree", {})).toMatchObject({ tree: "r/\n\tdir/\n", entries: 1 });
  });

  test("leaves out what is below a directory that the process may not read", async () => {
    ground.put("closed/inner");
    ground.put("z");
    chmodSync(join(ground.dir, "closed"), 0o000);
    const { tree } = await asNobody(ground.dir, () => ground.run("tree", {}));
    chmodSync(join(ground.dir, "closed"), 0o755);
    expect(tree).toBe("r/\n\tclosed/\n\tz\n");
  });
});

describe("sizes in file:tree", () => {
  const sizes: readonly [number, string][] = [
    [0, "0 B"],
    [1, "1 B"],
    [12, "12 B"],
    [1023, "1023 B"],
    [1024, "1.0 KB"],
    [1126, "1.0 KB"],
    [1127, "1.1 KB"],
    [1280, "1.2 KB"],
    [10_239, "9.9 KB"],
    [10_240, "10.0 KB"],
    [1_048_575, "1023.9 KB"],
    [1_048_576, "1.0 MB"],
    [2_411_725, "2.3 MB"],
    [1_073_741_823, "1023.9 MB"],
    [1_073_741_824, "1.0 GB"],
    [10_737_418_240, "10.0 GB"],
    [1_099_511_627_775, "1023.9 GB"],
    [1_099_511_627_776, "1.0 TB"],
  ];
  test.each(sizes)("of a file of %d bytes", async (size, shown) => {
    ground.put("file");
    truncateSync(join(ground.dir, "file"), size);
    expect(await ground.run("tree", { info: "size" })).toMatchObject({ tree: `r/\n\tfile (${shown})\n` });
  });

  test("stand behind files only", async () => {
    ground.put("dir/inner", "123");
    symlinkSync("dir/inner", join(ground.dir, "link"));
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
    const { tree } = await ground.run("tree", { info: "size" });
    expect(tree).toBe("r/\n\tdir/\n\t\tinner (3 B)\n\tlink@\n\tpipe\n");
  });

  test.each([[undefined], [""]])("are not asked for by info: %p", async (info) => {
    ground.put("file", "123");
    expect(await ground.run("tree", info === undefined ? {} : { info: "" })).toMatchObject({ tree: "r/\n\tfile\n" });
  });

  test("are the only thing that can be asked for", async () => {
    expect(await ground.fail("tree", { info: "owner" })).toEqual({
      code: "INVALID_INPUT",
      message: "'info' must be one of: size",
      data: { pointer: "/info", expected: "size" },
    });
  });
});

describe("depth of file:tree", () => {
  const path = Array.from({ length: 12 }, (_, index) => `d${index + 1}`);
  const depths: readonly [number | undefined, number][] = [
    [undefined, 3],
    [1, 1],
    [2, 2],
    [10, 10],
    [11, 10],
    [1e300, 10],
    [0, 1],
    [-5, 1],
  ];
  test.each(depths)("%p shows %d levels", async (maxDepth, levels) => {
    ground.put(`${path.join("/")}/file`);
    const { tree, entries, depthLimited } = await ground.run("tree", maxDepth === undefined ? {} : { maxDepth });
    expect(tree).toBe(
      `r/\n${path
        .slice(0, levels)
        .map((name, index) => `${"\t".repeat(index + 1)}${name}/\n`)
        .join("")}`,
    );
    expect({ entries, depthLimited }).toEqual({ entries: levels, depthLimited: true });
  });

  test("is not limited where nothing was left out", async () => {
    ground.put("a/b/c");
    expect(await ground.run("tree", { maxDepth: 3 })).toMatchObject({ depthLimited: false, entries: 3 });
    expect(await ground.run("tree", { maxDepth: 2 })).toMatchObject({ depthLimited: true, entries: 2 });
  });

  test("counts from the directory it starts in", async () => {
    ground.put("a/b/c/d");
    expect(await ground.run("tree", { path: "a/b", maxDepth: 2 })).toMatchObject({ tree: "r/a/b/\n\tc/\n\t\td\n" });
  });
});

describe("number of entries of file:tree", () => {
  const counts: readonly [string, number | undefined, string, number][] = [
    ["all by default", undefined, "r/\n\ta/\n\t\t1\n\t\t2\n\tb\n", 4],
    ["all if exactly they fit", 4, "r/\n\ta/\n\t\t1\n\t\t2\n\tb\n", 4],
    ["a level before the next is deepened", 3, "r/\n\ta/\n\t\t1\n\t\t… 1 more\n\tb\n", 3],
    ["where there is more that does not fit at all", 2, "r/\n\ta/\n\t\t… 2 more\n\tb\n", 2],
    ["one at least", 0, "r/\n\ta/\n\t\t… 2 more\n\t… 1 more\n", 1],
    ["one at least, also below 0", -1, "r/\n\ta/\n\t\t… 2 more\n\t… 1 more\n", 1],
  ];
  test.each(counts)("shows %s", async (_, maxEntries, tree, entries) => {
    for (const name of ["a/1", "a/2", "b"]) ground.put(name);
    const shown = await ground.run("tree", maxEntries === undefined ? {} : { maxEntries });
    const truncated = entries < 4;
    expect(shown).toMatchObject({ tree, truncated, entries, depthLimited: false });
    expect([shown.complete, shown.reason]).toEqual(truncated ? [false, "limit"] : [true, undefined]);
  });

  test("is 500 unless another is asked for, and never more than 5,000", async () => {
    ground.put("first");
    // Other names of one file are the quickest way to many entries.
    for (let index = 1; index <= 5000; index++) linkSync(join(ground.dir, "first"), join(ground.dir, String(index)));
    expect(await ground.run("tree", {})).toMatchObject({ entries: 500, truncated: true });
    const { tree, ...rest } = await ground.run("tree", { maxEntries: 9_999_999 });
    expect(rest).toMatchObject({ entries: 5000, truncated: true, depthLimited: false, complete: false });
    expect(tree.split("\n").slice(-3)).toEqual(["\t999", "\t… 1 more", ""]);
  });

  test.each([
    ["maxDepth", 1.5],
    ["maxEntries", "10"],
  ])("and its depth are whole numbers: %s %p", async (field, value) => {
    expect(await ground.fail("tree", { [field]: value })).toMatchObject({
      code: "INVALID_INPUT",
      message: `'${field}' must be a whole number`,
    });
  });
});

describe("file:tree of what does not fit", () => {
  const fill = (folder: string, count: number) => {
    for (let index = 1; index <= count; index++) ground.put(`${folder}/${index}`);
  };

  test("shares the room of a level fairly: small folders are whole, large ones get the same", async () => {
    fill("a", 50);
    fill("b", 2);
    fill("c", 50);
    const { tree, entries } = await ground.run("tree", { maxEntries: 12 });
    const three = (before: string) => `${before}1\n${before}10\n${before}11\n`;
    expect(tree).toBe(
      `r/\n\ta/\n${three("\t\t")}\t\t12\n\t\t… 46 more\n\tb/\n\t\t1\n\t\t2\n\tc/\n${three("\t\t")}\t\t… 47 more\n`,
    );
    expect(entries).toBe(12);
  });

  test("says of each folder that is shown and not whole how much is left out of it, and of no other", async () => {
    ground.put("a/b/c/d");
    ground.mkdir("empty");
    fill("z", 3);
    expect(await ground.run("tree", { maxEntries: 5, maxDepth: 10 })).toMatchObject({
      tree: "r/\n\ta/\n\t\tb/\n\t\t\t… 1 more\n\tempty/\n\tz/\n\t\t1\n\t\t… 2 more\n",
      ...{ entries: 5, truncated: true, depthLimited: false, complete: false, reason: "limit" },
    });
    expect(await ground.run("tree", { maxEntries: 5, maxDepth: 2 })).toMatchObject({
      tree: "r/\n\ta/\n\t\tb/\n\tempty/\n\tz/\n\t\t1\n\t\t… 2 more\n",
      depthLimited: true,
    });
  });

  test("counts below a level that is cut, and leaves out nothing of a level that fits", async () => {
    fill("a/x", 4);
    fill("b/y", 4);
    ground.put("b/z");
    expect(await ground.run("tree", { maxEntries: 4 })).toMatchObject({
      tree: "r/\n\ta/\n\t\tx/\n\t\t\t… 4 more\n\tb/\n\t\ty/\n\t\t\t… 4 more\n\t\t… 1 more\n",
    });
    expect(await ground.run("tree", { maxEntries: 5 })).toMatchObject({
      tree: "r/\n\ta/\n\t\tx/\n\t\t\t… 4 more\n\tb/\n\t\ty/\n\t\t\t… 4 more\n\t\tz\n",
    });
  });

  test("is the same each time", async () => {
    for (const folder of ["q", "k", "B", "a"]) fill(folder, 9);
    const first = await ground.run("tree", { maxEntries: 20 });
    for (let again = 0; again < 3; again++) expect(await ground.run("tree", { maxEntries: 20 })).toEqual(first);
  });

  test("shows a name that begins as the line about the rest does in another way", async () => {
    ground.put("… 3 more");
    ground.put("a…");
    expect(await ground.run("tree", {})).toMatchObject({ tree: "r/\n\ta…\n\t\\u{2026} 3 more\n" });
  });

  test("counts neither what policy denies nor what Git ignores as left out", async () => {
    ground.put(".gitignore", "*.log\n");
    for (const name of ["d/a", "d/b.log", "d/c", "d/e.log"]) ground.put(name);
    const shown = await ground.run("tree", { maxEntries: 2, ignore: "gitignore" });
    expect(shown).toMatchObject({ tree: "r/\n\t.gitignore\n\td/\n\t\t… 2 more\n", hidden: { gitignored: 2 } });
  });
});

describe("file:tree of a repository", () => {
  const repository = () => {
    ground.put(".gitignore", "out/\n");
    for (const name of [".git/objects/ab", "out/a.js", "src/.gitignore", "src/a.ts", "src/b.gen", "src/c/.git"]) {
      ground.put(name, name === "src/.gitignore" ? "*.gen\n" : "");
    }
  };

  test("shows everything unless it is to look with Git's eyes", async () => {
    repository();
    const { tree, hidden } = await ground.run("tree", {});
    expect(tree).toContain("\t.git/\n\t\tobjects/\n\t\t\tab\n");
    expect(tree).toContain("\tout/\n\t\ta.js\n");
    expect(hidden).toBeUndefined();
    expect(await ground.run("tree", { ignore: "none" })).toMatchObject({ tree });
  });

  test("leaves out what Git ignores, and has one line for its own directory", async () => {
    repository();
    expect(await ground.run("tree", { ignore: "gitignore" })).toEqual({
      tree: "r/\n\t.git/\n\t.gitignore\n\tsrc/\n\t\t.gitignore\n\t\ta.ts\n\t\tc/\n\t\t\t.git\n",
      ...{ truncated: false, entries: 7, depthLimited: false, complete: true },
      hidden: { gitignored: 2 },
      hint: '2 gitignored paths hidden; pass ignore: "none"',
    });
  });

  test("shows an ignored folder that is named, and keeps to the rules above one that is not", async () => {
    repository();
    expect(await ground.run("tree", { path: "out", ignore: "gitignore" })).toMatchObject({ tree: "r/out/\n\ta.js\n" });
    expect(await ground.run("tree", { path: ".git", ignore: "gitignore" })).toMatchObject({
      tree: "r/.git/\n\tobjects/\n\t\tab\n",
    });
    ground.put("src/c/d.gen");
    const below = await ground.run("tree", { path: "src/c", ignore: "gitignore" });
    expect(below).toMatchObject({ tree: "r/src/c/\n\t.git\n", hidden: { gitignored: 1 } });
  });

  test("leaves out what is excluded, below the directory it starts in", async () => {
    for (const name of ["a/x.ts", "a/x.test.ts", "a/sub/y.test.ts", "b/z"]) ground.put(name);
    const { tree, hidden } = await ground.run("tree", { exclude: ["**/*.test.ts", "b/"] });
    expect(tree).toBe("r/\n\ta/\n\t\tsub/\n\t\tx.ts\n");
    expect(hidden).toBeUndefined();
    expect(await ground.run("tree", { path: "a", exclude: "sub/*" })).toMatchObject({
      tree: "r/a/\n\tsub/\n\tx.test.ts\n\tx.ts\n",
    });
    expect(await ground.fail("tree", { exclude: "[" })).toMatchObject({ code: "INVALID_PATTERN" });
  });

  test("does not read ignore files that the caller may not read", async () => {
    ground.put(".gitignore", "secret-name\n");
    ground.put("sub/secret-name");
    const caps = [{ with: "file://r/sub/", can: "crud/read" }];
    expect(await ground.run("tree", { path: "sub", ignore: "gitignore" }, { caps })).toMatchObject({
      tree: "r/sub/\n\tsecret-name\n",
    });
  });
});

describe("what a model sees of file:tree", () => {
  test("is the text, and beside it what was left out with the call that shows it", async () => {
    ground.put("a/b");
    expect(await ground.render("tree", {})).toEqual({
      kind: "text",
      text: "r/\n\ta/\n\t\tb\n",
      rest: { truncated: false, entries: 2, depthLimited: false, complete: true },
    });
    expect(await ground.render("tree", { maxEntries: 1 })).toMatchObject({
      text: "r/\n\ta/\n\t\t… 1 more\n",
      rest: { truncated: true, entries: 1 },
      note: "Cut after 1 entries. Call file_tree with a deeper path, or maxEntries: 5000",
    });
    expect(await ground.render("tree", { maxDepth: 1 })).toMatchObject({
      rest: { depthLimited: true },
      note: "Some directories were not entered. Call file_tree on them, or maxDepth: 10",
    });
  });

  test("tells what is ignored also where it is cut", async () => {
    ground.put(".gitignore", "x\n");
    for (const name of ["x", "a/b", "a/c"]) ground.put(name);
    const ignored = '1 gitignored path hidden; pass ignore: "none"';
    const note = async (more: object) => (await ground.render("tree", { ignore: "gitignore", ...more })).note;
    expect(await note({ maxDepth: 1 })).toBe(
      `Some directories were not entered. Call file_tree on them, or maxDepth: 10. ${ignored}`,
    );
    expect(await note({ maxEntries: 3 })).toBe(
      `Cut after 3 entries. Call file_tree with a deeper path, or maxEntries: 5000. ${ignored}`,
    );
  });
});

describe("file:tree is refused", () => {
  const refused = [
    ["where nothing is", "none", failure("NOT_FOUND", "Not found: r:none", "none")],
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
  ] as const;
  test.each(refused)("%s", async (_, path, expected) => {
    ground.put("file");
    symlinkSync(ground.outside, join(ground.dir, "out"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    expect(await ground.fail("tree", { path })).toEqual(expected);
  });
});
