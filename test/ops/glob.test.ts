import { chmodSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { systemClock } from "../../src/core/clock.js";
import type { GlobOutput } from "../../src/schema/types.js";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround({ root: { deny: ["@secrets", "private"] }, roots: { tmp: { temp: true } } });
type Input = Parameters<typeof ground.run<"glob">>[1];

const glob = (input: Input): Promise<GlobOutput> => ground.run("glob", input);
const pathsOf = async (input: Input): Promise<string[]> => (await glob(input)).paths;
const put = (...paths: string[]): void => {
  for (const path of paths) ground.put(path, path);
};

describe("file:glob", () => {
  test("finds files by their names, dotfiles too, in the order of a tree", async () => {
    put("b.ts", "a/x.ts", "a/y.js", ".hidden/.z.ts", "a.ts", "B/c.ts");
    expect(await glob({ pattern: "**/*.ts" })).toEqual({
      paths: [".hidden/.z.ts", "a/x.ts", "a.ts", "B/c.ts", "b.ts"],
      totalMatches: 5,
      countIsComplete: true,
      timedOut: false,
      complete: true,
    });
  });

  test("says that there is none, and is complete", async () => {
    put("a.ts", "b/c.ts");
    expect(await glob({ pattern: "*.rs" })).toEqual({
      paths: [],
      totalMatches: 0,
      filesSeen: 2,
      countIsComplete: true,
      timedOut: false,
      complete: true,
    });
    expect((await ground.render("glob", { pattern: "*.rs" })).note).toBe("No match in 2 files");
    expect((await ground.render("glob", { pattern: "b" })).note).toBe(
      'No match in 2 files. Directories match: pass type: "any"',
    );
    expect((await ground.render("glob", { pattern: "*.rs", type: "file" })).note).toBe("No match in 2 files");
  });

  test("is relative to a path, and answers relative to the root", async () => {
    put("src/lib/a.ts", "src/b.ts", "c.ts");
    expect(await pathsOf({ pattern: "./*.ts", path: "src" })).toEqual(["src/b.ts"]);
    expect(await pathsOf({ pattern: "*.ts", path: "src" })).toEqual(["src/b.ts", "src/lib/a.ts"]);
    expect(await pathsOf({ pattern: "lib/*", path: "/src/" })).toEqual(["src/lib/a.ts"]);
  });

  test("takes several patterns, and leaves out others with all that is below them", async () => {
    put("a.ts", "b.js", "c.md", "gen/a.ts", "gen/deep/b.js", "x/a.test.ts");
    expect(await pathsOf({ pattern: ["**/*.ts", "**/*.js"], exclude: ["gen", "**/*.test.ts"] })).toEqual([
      "a.ts",
      "b.js",
    ]);
  });

  test("finds directories, with a slash behind them", async () => {
    put("a/b/c", "d");
    expect(await pathsOf({ pattern: "**", type: "directory" })).toEqual(["a/", "a/b/"]);
    expect(await pathsOf({ pattern: "**", type: "any" })).toEqual(["a/", "a/b/", "a/b/c", "d"]);
    expect(await pathsOf({ pattern: "a/", type: "any" })).toEqual(["a/"]);
  });

  test("sorts by time, newest first, on one page", async () => {
    put("old", "new", "middle");
    for (const [name, time] of [
      ["old", 1],
      ["middle", 2],
      ["new", 3],
    ] as const) {
      utimesSync(join(ground.dir, name), time, time);
    }
    expect(await pathsOf({ pattern: "*", sort: "modified" })).toEqual(["new", "middle", "old"]);
    expect(await glob({ pattern: "*", sort: "modified", limit: 2 })).toMatchObject({
      paths: ["new", "middle"],
      totalMatches: 3,
      complete: false,
      reason: "limit",
      hint: "Pass a larger limit or a narrower pattern",
    });
  });

  test("follows no link, and says how many it met", async () => {
    put("real/a.ts");
    symlinkSync("real", join(ground.dir, "link"));
    symlinkSync("/etc", join(ground.dir, "out"));
    expect(await glob({ pattern: "**" })).toMatchObject({ paths: ["real/a.ts"], hidden: { symlinks: 2 } });
    expect(await pathsOf({ pattern: "./*", type: "any" })).toEqual(["link", "out", "real/"]);
  });

  test("leaves out what no path can reach, and counts it", async () => {
    put("ok");
    writeFileSync(join(ground.dir, "back\\slash"), "");
    writeFileSync(Buffer.concat([Buffer.from(`${ground.dir}/x`), Buffer.of(0xff)]), "");
    expect(await glob({ pattern: "*" })).toMatchObject({ paths: ["ok"], complete: true, hidden: { unreadable: 2 } });
  });

  test("never shows what the policy denies, and counts it where it would have been an answer", async () => {
    put(".env", "a/.env", "a/b.ts", "private/c.ts");
    expect(await glob({ pattern: "**" })).toMatchObject({ paths: ["a/b.ts"], hidden: { policy: 3 } });
    expect(await glob({ pattern: "a/*.ts" })).toEqual(expect.not.objectContaining({ hidden: expect.anything() }));
    expect((await ground.fail("glob", { pattern: "*", path: "private" })).code).toBe("DENIED_BY_POLICY");
  });

  test("works in temp roots", async () => {
    await ground.adapter.invoke("file:write", { root: "tmp", path: "a.ts", content: "" });
    const found = await ground.adapter.invoke("file:glob", { root: "tmp", pattern: "*" });
    expect(found.paths).toEqual(["a.ts"]);
  });

  test("is refused as every operation on a directory", async () => {
    put("file");
    const call = (path: string) => ground.fail("glob", { pattern: "*", path });
    expect(await call("none")).toEqual(failure("NOT_FOUND", "Not found: r:none", "none"));
    expect(await call("file")).toEqual(
      failure("NOT_A_DIRECTORY", "Not a directory: file. Read it with file:read, or choose another path", "file"),
    );
    expect(await ground.fail("glob", { pattern: "[" })).toMatchObject({
      code: "INVALID_PATTERN",
      data: { position: 0 },
    });
    for (const field of [{ limit: 0 }, { limit: 5001 }, { timeoutMs: 60_001 }, { sort: "size" }]) {
      expect((await ground.fail("glob", { pattern: "*", ...field })).code).toBe("INVALID_INPUT");
    }
  });

  test("needs to read the directory it starts in, and nothing else", async () => {
    put(".gitignore", "src/a.ts", "src/b.ts");
    ground.put(".gitignore", "a.ts");
    const may = (path: string) => ({ caps: [{ with: `file://r/${path}`, can: "crud/read" }] });
    expect((await ground.fail("glob", { pattern: "*" }, may("src/"))).code).toBe("CAPABILITY_DENIED");
    // Rules that the caller may not read are not told by what they hide.
    const input = { pattern: "*", path: "src" };
    expect((await ground.run("glob", input, may("src/"))).paths).toEqual(["src/a.ts", "src/b.ts"]);
    expect((await ground.run("glob", input, may(""))).paths).toEqual(["src/b.ts"]);
  });
});

describe("rules of what to ignore", () => {
  test("apply in their directory and below, the inner ones before the outer ones", async () => {
    ground.put(".gitignore", "*.log\nbuild/\n/top.txt\n# comment\n");
    ground.put("a/.gitignore", "!keep.log\ninner\n");
    put("x.log", "a/keep.log", "a/x.log", "build/out", "a/build/out", "top.txt", "a/top.txt", "a/inner", "inner");
    const found = await glob({ pattern: "**" });
    expect(found.paths).toEqual([".gitignore", "a/.gitignore", "a/keep.log", "a/top.txt", "inner"].toSorted());
    expect(found.hidden).toEqual({ gitignored: 6 });
    expect(found.hint).toBe('6 gitignored paths hidden; pass ignore: "none"');
    expect(await pathsOf({ pattern: "**/*.log", ignore: "none" })).toEqual(["a/keep.log", "a/x.log", "x.log"]);
  });

  test("are told beside what else is to be known", async () => {
    ground.put(".gitignore", "*.log\n");
    put("a.log", "b.log", "a.ts", "b.ts");
    symlinkSync("a.ts", join(ground.dir, "link"));
    const note = async (more: object = {}) => (await ground.render("glob", { pattern: "*", ...more })).note;
    const hidden = '2 gitignored paths hidden; pass ignore: "none"';
    expect(await note()).toBe(hidden);
    expect(await note({ limit: 1, sort: "modified" })).toBe(
      `Cut: 1 of 3 paths. Pass a larger limit or a narrower pattern. ${hidden}`,
    );
    expect(await note({ limit: 1 })).toMatch(
      /^Cut: 1 of 3 paths\. Go on with cursor: ".+"\. 2 gitignored paths hidden/,
    );
    expect((await glob({ pattern: "*", limit: 1 })).hint).toBe(`Go on with cursor: nextCursor. ${hidden}`);
    expect(await note({ pattern: "*.log" })).toBe(
      'No match in 4 files. 2 gitignored paths hidden; pass ignore: "none"',
    );
  });

  test("count only what would have been an answer", async () => {
    ground.put(".gitignore", "*.log\n/dir\n");
    put("a.log", "a.ts", "dir/b.ts");
    expect((await glob({ pattern: "./*.ts" })).hidden).toBeUndefined();
    expect((await glob({ pattern: "**/*.ts" })).hidden).toEqual({ gitignored: 1 });
  });

  test("of .ignore are stronger than those of .gitignore", async () => {
    ground.put(".gitignore", "*.gen\n");
    ground.put("a/.ignore", "!x.gen\nsecret\n");
    put("a/x.gen", "a/y.gen", "a/secret");
    expect(await pathsOf({ pattern: "a/*" })).toEqual(["a/.ignore", "a/x.gen"]);
  });

  test("mind the case, are no links, and may not be too many bytes", async () => {
    ground.put(".gitignore", "*.LOG");
    put("a.log", "b/x");
    ground.put("rules", "x");
    symlinkSync("../rules", join(ground.dir, "b/.gitignore"));
    ground.put("c/.gitignore", `y\n#${" ".repeat(300_000)}`);
    put("c/y");
    const found = await glob({ pattern: "**/{a.log,x,y}" });
    expect(found.paths).toEqual(["a.log", "b/x", "c/y"]);
    expect(found).toMatchObject({ complete: true, hidden: { unreadable: 1 } });
    expect(found.hint).toBe("Left out: 1 that cannot be read or named");
    expect((await glob({ pattern: "**/*", path: "c" })).hidden).toEqual({ unreadable: 1 });
    ground.put("c/.gitignore", `${"x\n".repeat(10_000)}y`);
    expect(await glob({ pattern: "**/y" })).toMatchObject({ paths: ["c/y"], hidden: { unreadable: 1 } });
    expect(await glob({ pattern: "y", path: "c" })).toMatchObject({ paths: ["y"].map((name) => `c/${name}`) });
    // Of a search below, what stands above is read by the same rules.
    ground.mkdir("c/d");
    expect((await glob({ pattern: "*", path: "c/d" })).hidden).toEqual({ unreadable: 1 });
  });

  test("above the path that cannot be read are told, as nothing says what they ignore", async () => {
    ground.put(".gitignore", "*.log");
    put("src/x.log");
    chmodSync(join(ground.dir, ".gitignore"), 0);
    const found = await asNobody(ground.dir, () => glob({ pattern: "*", path: "src" }));
    expect(found).toMatchObject({ paths: ["src/x.log"], hidden: { unreadable: 1 } });
  });

  test("above the path apply too, unless they ignore the path itself", async () => {
    ground.put(".gitignore", "*.log\nvendor\n");
    put("vendor/lib/a.ts", "src/x.log", "src/y.ts");
    expect(await pathsOf({ pattern: "*", path: "src" })).toEqual(["src/y.ts"]);
    expect(await pathsOf({ pattern: "**", path: "vendor/lib" })).toEqual(["vendor/lib/a.ts"]);
  });

  test("cannot make a search slow", async () => {
    ground.put(".gitignore", `${"*a".repeat(60)}b\n*.log\n`);
    put("a".repeat(200), `${"a".repeat(200)}b`, "x.log");
    expect(await pathsOf({ pattern: "a*" })).toEqual(["a".repeat(200)]);
    expect(await pathsOf({ pattern: "*.log" })).toEqual([]);
  });

  test("never show .git, unless it is asked for", async () => {
    put(".git/config", ".git/hooks/x", "sub/.git/config", "a");
    expect(await glob({ pattern: "**" })).toMatchObject({ paths: ["a"], complete: true });
    expect(await pathsOf({ pattern: "**", ignore: "none" })).toEqual(["a"]);
    expect(await pathsOf({ pattern: ".git/**" })).toEqual([".git/config", ".git/hooks/x"]);
    expect(await pathsOf({ pattern: "./*", path: ".git" })).toEqual([".git/config"]);
  });
});

describe("pages of file:glob", () => {
  async function allPages(input: Input, between: () => void = () => {}): Promise<GlobOutput[]> {
    const pages: GlobOutput[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await glob({ ...input, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(page);
      cursor = page.nextCursor;
      if (cursor === undefined) return pages;
      expect(cursor.length).toBeLessThanOrEqual(200);
      between();
    }
  }

  test("go on where the last one ended, and know how many there are", async () => {
    put("a/1", "a/2", "b", "c/d/3", "e");
    const pages = await allPages({ pattern: "**", limit: 2 });
    expect(pages.map(({ paths }) => paths)).toEqual([["a/1", "a/2"], ["b", "c/d/3"], ["e"]]);
    expect(pages.map(({ totalMatches, complete, reason }) => [totalMatches, complete, reason])).toEqual([
      [5, false, "limit"],
      [5, false, "limit"],
      [5, true, undefined],
    ]);
    const note = (await ground.render("glob", { pattern: "**", limit: 2 })).note;
    expect(note).toBe(`Cut: 2 of 5 paths. Go on with cursor: "${pages[0]?.nextCursor}"`);
  });

  test("hold everything exactly once while others write, and long paths too", async () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", "B", "é", "-"), minLength: 1, maxLength: 2 });
    const long = name.map((text) => `${text}-${"long".repeat(40)}`);
    const path = fc.array(fc.oneof(name, long), { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(path, { maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        async (paths, limit) => {
          await ground.adapter.invoke("file:mkdir", { root: "r", path: "t" });
          const kept: string[] = [];
          for (const one of paths) {
            try {
              put(`t/${one}`);
              kept.push(`t/${one}`);
            } catch {}
          }
          let made = 0;
          const between = () => {
            made++;
            ground.put(`t/0-new-${made}`);
            ground.put(`t/zz-new-${made}/x`);
          };
          // What is made meanwhile may be seen or not; without an end to it there would be none here either.
          const pages = await allPages({ pattern: "t/**", limit }, () => made < 5 && between());
          const seen = pages.flatMap((page) => page.paths);
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen).toEqual(expect.arrayContaining(kept));
          await ground.adapter.invoke("file:delete", { root: "r", path: "t", recursive: true });
        },
      ),
      { numRuns: 25 },
    );
  });

  test("belong to one search of one caller", async () => {
    put("a", "b", "c", "sub/a", "sub/b");
    const caps = [{ with: "file://r/", can: "crud" }];
    const { nextCursor: cursor = "" } = await glob({ pattern: "*", limit: 1 });
    expect(await pathsOf({ pattern: "*", limit: 2, cursor })).toEqual(["b", "c"]);
    const other: readonly [object, object?][] = [
      [{ pattern: "**" }],
      [{ pattern: "*", path: "sub" }],
      [{ pattern: "*", ignore: "none" }],
      [{ pattern: "*", root: "tmp" }],
      [{ pattern: "*" }, { callerDID: "did:web:other.example", caps }],
      [{ pattern: "*", cursor: `${cursor.slice(0, -1)}${cursor.endsWith("A") ? "Q" : "A"}` }],
      [{ pattern: "*", cursor: "" }],
      [{ pattern: "*", sort: "modified" }],
    ];
    for (const [input, context] of other) {
      const failed = await ground.fail("glob", { cursor, ...input }, context);
      if (context === undefined) expect([input, failed.code]).toEqual([input, "INVALID_INPUT"]);
      else expect(failed.code).not.toBe("INTERNAL");
    }
  });

  test("say so when the place they go on from is gone and cannot be known", async () => {
    const long = "x".repeat(150);
    put(`${long}/1`, `${long}/2`, `${long}/3`);
    const { nextCursor: cursor = "" } = await glob({ pattern: "**", limit: 1 });
    expect(await pathsOf({ pattern: "**", cursor })).toEqual([`${long}/2`, `${long}/3`]);
    await ground.run("delete", { path: `${long}/1` });
    expect(await ground.fail("glob", { pattern: "**", cursor })).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("end at the deadline with what was found, and go on", async () => {
    for (let index = 0; index < 50; index++) put(`d${index}/f`);
    const pages = await allPages({ pattern: "**", timeoutMs: 1 });
    expect(pages.flatMap(({ paths }) => paths)).toHaveLength(50);
    for (const page of pages.slice(0, -1)) {
      expect(page).toMatchObject({ complete: false, reason: "timeout", timedOut: true, countIsComplete: false });
    }
  });
});

describe("rules of what to ignore, by a clock that goes on 10 ms at each look", () => {
  let now = 0;
  const clock = {
    ...systemClock,
    monotonicMs: () => {
      now += 10;
      return now;
    },
  };
  const slow = useGround({ clock, limits: { timeoutMs: 100_000_000 } });

  test("give way within one name, and end with the time of the search; the next page goes on at that name", async () => {
    const lines = Array.from({ length: 8000 }, (_, index) => `${"a*".repeat(10)}${index}`);
    slow.put(".gitignore", lines.join("\n"));
    const names = Array.from({ length: 6 }, (_, index) => `${"a".repeat(240)}${index}.x`);
    for (const name of names) slow.put(name);
    const run = { turns: 0, over: false };
    const turn = (): void => {
      run.turns++;
      if (!run.over) setImmediate(turn);
    };
    setImmediate(turn);
    const pages: GlobOutput[] = [];
    let cursor: string | undefined;
    do {
      pages.push(await slow.run("glob", { pattern: "a*", timeoutMs: 1, ...(cursor === undefined ? {} : { cursor }) }));
      cursor = pages.at(-1)?.nextCursor;
    } while (cursor !== undefined);
    run.over = true;
    expect(pages.flatMap(({ paths }) => paths)).toEqual(names);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.slice(0, -1).every(({ timedOut, reason }) => timedOut && reason === "timeout")).toBe(true);
    // Far more often than once a name and page.
    expect(run.turns).toBeGreaterThan(100 * names.length);
  });
});
