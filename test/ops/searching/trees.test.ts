import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { systemClock } from "../../../src/core/clock.js";
import { Sys } from "../../../src/jail/sys.js";
import { fairShares } from "../../../src/ops/searching/fair-shares.js";
import type { GrepOutput } from "../../../src/schema/types.js";
import { readIndex } from "../../../src/search/tracked-files.js";
import { useGround } from "../ground.js";

afterEach(() => {
  jest.restoreAllMocks();
});

describe("links are followed where that is asked for", () => {
  const ground = useGround({ root: { deny: ["vault", "*.pem"] } });

  const put = (...paths: string[]): void => {
    for (const path of paths) ground.put(path, `text of ${path}\n`);
  };
  function link(to: string, path: string): void {
    mkdirSync(dirname(join(ground.dir, path)), { recursive: true });
    symlinkSync(to, join(ground.dir, path));
  }
  const inRoot = (path: string): string => join(ground.dir, path);

  type GlobInput = Parameters<typeof ground.run<"glob">>[1];
  const paths = async (input: GlobInput): Promise<string[]> =>
    (await ground.run("glob", { links: "follow", ...input })).paths;
  const found = async (input: object = {}): Promise<string[]> => {
    const { matches = [] } = await ground.run("grep", { pattern: "text", links: "follow", ...input });
    return matches.map(({ path }) => path);
  };

  test("the hint of a search that met some asks for it", async () => {
    put("lib/sub/a.md");
    link("../lib", "pets/cat");
    const first = await ground.run("glob", { pattern: "pets/cat/**/*.md" });
    expect(first).toMatchObject({
      paths: [],
      hidden: { symlinks: 1 },
      hint: 'Links are not followed: pass links: "follow". Left out: 1 link',
    });
    expect(await paths({ pattern: "pets/cat/**/*.md" })).toEqual(["pets/cat/sub/a.md"]);
    expect(await found({ glob: "pets/cat/**/*.md" })).toEqual(["pets/cat/sub/a.md"]);
    expect(await found({ path: "pets" })).toEqual(["pets/cat/sub/a.md"]);
  });

  test("unless that would find nothing either, and not beside what was found", async () => {
    put("real/docs/a.md", "b.md");
    link("..", "real/up");
    link("../nothing", "real/gone");
    const hint = async (input: GlobInput) => (await ground.run("glob", input)).hint;
    expect(await hint({ pattern: "**/up/**" })).toBe("Left out: 1 link");
    expect(await hint({ pattern: "real/{up,gone}/*" })).toBeUndefined();
    expect(await hint({ pattern: "**/gone/*.md", links: "follow" })).toBe("Left out: 1 link that leads nowhere here");
    const grep = async (input: object) => (await ground.run("grep", { pattern: "text", ...input })).hint;
    expect(await grep({ glob: "**/up/**" })).toBe("Left out: 1 link");
    expect(await grep({ pattern: "absent" })).toBe("Left out: 2 links");
    // Beside what was found only links that the globs name are told of.
    expect(await hint({ pattern: "*" })).toBeUndefined();
    expect(await grep({})).toBeUndefined();
    expect(await hint({ pattern: ["*.md", "real/up/x/**"] })).toBe("Left out: 1 link");
    expect(await grep({ glob: ["*.md", "real/up/x/**"] })).toBe("Left out: 1 link");
    expect((await ground.run("grep", { pattern: "text" })).hidden).toEqual({ symlinks: 2 });
    expect((await ground.run("du", {})).hint).toBe("Left out: 2 links");
  });

  test("a directory that the search gets to by itself, or through another link, is entered once", async () => {
    put("real/a.md", "real/deep/b.md", "other/c.md");
    link("../real", "a/one");
    link("../real/deep", "a/two");
    link(inRoot("other"), "real/three");
    link("../real", "z");
    expect(await paths({ pattern: "**/*.md" })).toEqual(["other/c.md", "real/a.md", "real/deep/b.md"]);
    expect(await found()).toEqual(["other/c.md", "real/a.md", "real/deep/b.md"]);
    expect(await found({ path: "a" })).toEqual(["a/one/a.md", "a/one/deep/b.md", "a/one/three/c.md"]);
    expect(await paths({ pattern: "*/two/*.md" })).toEqual(["a/two/b.md"]);
    expect(await paths({ pattern: "**/one/*.md" })).toEqual(["a/one/a.md"]);
    expect(await paths({ pattern: "**/*.md", exclude: "real" })).toEqual([
      "a/one/a.md",
      "a/one/deep/b.md",
      "other/c.md",
    ]);
  });

  test("loops end", async () => {
    put("x/y/a.md", "side/b.md");
    link("..", "x/y/up");
    link(".", "x/self");
    link("../../side", "x/y/side");
    link("../x", "side/back");
    expect(await paths({ pattern: "**/*.md" })).toEqual(["side/b.md", "x/y/a.md"]);
    expect(await found({ path: "x/y" })).toEqual(["x/y/a.md", "x/y/side/b.md"]);
    expect(await paths({ pattern: "**/up/**" })).toEqual([]);
    expect((await ground.run("tree", { path: "x", links: "follow", maxDepth: 10 })).tree).toBe(
      "r/x/\n\tself@/\n\ty/\n\t\ta.md\n\t\tside@/\n\t\t\tb.md\n\t\t\tback@/\n\t\tup@/\n",
    );
  });

  test("files behind links are found, and searched once", async () => {
    put("AGENTS.txt", "docs/x.txt");
    link("AGENTS.txt", "CLAUDE.txt");
    link("../docs/x.txt", "sub/y.txt");
    expect(await paths({ pattern: "*.txt" })).toEqual(["AGENTS.txt", "CLAUDE.txt", "docs/x.txt", "sub/y.txt"]);
    expect(await found()).toEqual(["AGENTS.txt", "docs/x.txt"]);
    expect(await found({ path: "sub" })).toEqual(["sub/y.txt"]);
    expect(await ground.run("grep", { pattern: "text", path: "sub", links: "follow", maxFileBytes: 3 })).toMatchObject({
      ...{ matches: [], hidden: { tooLarge: 1 } },
    });
    expect(await paths({ pattern: "*", type: "any", path: "sub" })).toEqual(["sub/y.txt"]);
  });

  test("never to what is denied, outside, gone, or not the caller's: those alike are counted", async () => {
    put("vault/a.md", "keys/b.pem", "keys/b.md", "mine/c.md", "yours/d.md");
    writeFileSync(join(ground.outside, "e.md"), "text");
    link("../vault", "mine/v");
    link("../keys/b.pem", "mine/p.md");
    link("../keys", "mine/k");
    link(ground.outside, "mine/o");
    link("../nothing", "mine/n");
    link("../yours", "mine/y");
    expect(await paths({ pattern: "*.md", path: "mine" })).toEqual(["mine/c.md", "mine/k/b.md", "mine/y/d.md"]);
    const caps = [{ with: "file://r/mine/", can: "crud/read" }];
    const input = { pattern: "**", path: "mine", links: "follow" as const };
    const { hint, ...answer } = await ground.run("glob", input, { caps });
    expect(answer).toMatchObject({ paths: ["mine/c.md"], hidden: { symlinks: 6 } });
    expect(hint).toBe("Left out: 6 links that lead nowhere here");
    const grep = await ground.run("grep", { ...input, pattern: "text" }, { caps });
    expect(grep.matches?.map(({ path }) => path)).toEqual(["mine/c.md"]);
    expect((await ground.run("tree", { path: "mine", links: "follow" }, { caps })).tree).toBe(
      "r/mine/\n\tc.md\n\tk@\n\tn@\n\to@\n\tp.md@\n\tv@\n\ty@\n",
    );
  });

  test("what a place ignores is ignored behind a link to it", async () => {
    put("lib/a.md", "lib/out/b.md");
    ground.put("lib/.gitignore", "out/\n");
    link("../lib", "app/lib");
    expect(await ground.run("glob", { pattern: "*.md", path: "app", links: "follow" })).toMatchObject({
      ...{ paths: ["app/lib/a.md"], hidden: { gitignored: 1 } },
    });
  });

  test("in the order of the paths, page by page", async () => {
    for (let at = 0; at < 700; at++) ground.put(`a/${at}.txt`, "text");
    put("shared/x.txt", "shared/y.txt", "z.txt");
    link("../shared", "a/35-link");
    const all = await ground.run("grep", { pattern: "text", glob: ["a/**", "z*"], links: "follow", limit: 2000 });
    const shown = all.matches?.map(({ path }) => path) ?? [];
    expect(shown).toHaveLength(703);
    expect(shown.indexOf("a/35-link/y.txt")).toBe(shown.indexOf("a/35-link/x.txt") + 1);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ground.run("grep", {
        ...{ pattern: "text", glob: ["a/**", "z*"], links: "follow", limit: 301 },
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...(page.matches ?? []).map(({ path }) => path));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(shown);
  });

  test("a thousand a search, and no more", async () => {
    put("t/x.txt");
    for (let at = 0; at < 1010; at++) link("../t/x.txt", `l/${at}`);
    const found = await ground.run("glob", { pattern: "l/*", links: "follow", limit: 5000 });
    expect([found.paths.length, found.hidden?.symlinks]).toEqual([1000, 10]);
  });

  test("a link that leads elsewhere meanwhile is not followed there", async () => {
    put("one/a.md", "two/b.md", "vault/c.md");
    link("../one", "w/l");
    const turn = (to: string): void => {
      rmSync(inRoot("w/l"));
      symlinkSync(to, inRoot("w/l"));
    };
    let at = 0;
    const timer = setInterval(() => turn(["../one", "../vault", "../two"][at++ % 3] ?? ""), 1);
    try {
      for (let round = 0; round < 40; round++) {
        for (const path of await paths({ pattern: "*", path: "w" })) expect(path).toMatch(/^w\/l(\/[ab]\.md)?$/);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    } finally {
      clearInterval(timer);
    }
  });
});

describe("entries that vanish meanwhile", () => {
  // Without native calls, so that each system call is one that a test can follow.
  const ground = useGround({ root: { io: "pool", deny: ["**/hidden"] } });

  const WARNINGS = ["Entries vanished while the directory was read and are left out"];

  /** Removes an entry of the root once the names beside it have been read. */
  function removeMeanwhile(...paths: readonly string[]): void {
    const { names } = Sys.prototype;
    jest.spyOn(Sys.prototype, "names").mockImplementation(function* (this: Sys, directory) {
      const found = yield* names.call(this, directory);
      const read = paths.filter((path) => found.some(({ name }) => String(name) === basename(path)));
      for (const path of read) rmSync(join(ground.dir, path), { recursive: true, force: true });
      return found;
    });
  }

  test.each([[["d/b"]], [["d/b", "d/c"]], [["d/sub"]]])(
    "a list without %j, which vanish meanwhile, says so",
    async (gone) => {
      for (const name of ["a", "b", "c", "sub/e"]) ground.put(`d/${name}`);
      removeMeanwhile(...gone);
      const answer = await ground.run("list", { path: "d" });
      const left = ["a", "b", "c", "sub"].filter((name) => !gone.includes(`d/${name}`));
      expect(answer.entries.map(({ name }) => name)).toEqual(left);
      expect(answer).toMatchObject({ warnings: WARNINGS, complete: true });
      expect(answer).not.toHaveProperty("hidden");
      jest.restoreAllMocks();
      expect(await ground.run("list", { path: "d" })).not.toHaveProperty("warnings");
    },
  );

  test.each([
    ["a file whose size is shown", "d/b", { info: "size" }],
    ["a directory", "d/sub", {}],
    ["a directory further down", "d/sub/deep", { info: "size" }],
    ["a file where links are followed", "d/b", { info: "size", links: "follow" }],
  ] as const)("a tree without %s that vanishes meanwhile says so", async (_what, gone, input) => {
    for (const name of ["a", "b", "sub/e", "sub/deep/f"]) ground.put(`d/${name}`);
    removeMeanwhile(gone);
    const answer = await ground.run("tree", { path: "d", ...input });
    expect(answer).toMatchObject({ warnings: WARNINGS, complete: true });
    expect(answer.tree).toContain("a");
    expect(answer).not.toHaveProperty("hidden");
    jest.restoreAllMocks();
    expect(await ground.run("tree", { path: "d", ...input })).not.toHaveProperty("warnings");
  });

  test("what is hidden is counted apart from what vanished", async () => {
    for (const name of ["a", "b", "hidden"]) ground.put(`d/${name}`);
    removeMeanwhile("d/b");
    const hidden = { policy: 1 };
    expect(await ground.run("list", { path: "d" })).toMatchObject({ total: 2, warnings: WARNINGS, hidden });
    ground.put("d/b");
    expect(await ground.run("tree", { path: "d", info: "size" })).toMatchObject({ warnings: WARNINGS, hidden });
  });

  test("a start that vanishes is not there", async () => {
    ground.put("d/a");
    rmSync(join(ground.dir, "d"), { recursive: true });
    for (const operation of ["list", "tree"])
      expect(await ground.fail(operation, { path: "d" })).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("what Git ignores", () => {
  const home = mkdtempSync(join(tmpdir(), "venue-files-git-"));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const ground = useGround();
  const guarded = useGround({ root: { deny: [".git"] } });

  /** Git without any configuration but that of the repository. */
  const git = (dir: string, ...args: readonly string[]): string =>
    execFileSync("git", ["-c", "core.excludesFile=", ...args], {
      ...{ cwd: dir, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
      env: { PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1" },
    });
  const listed = (dir: string): string[] =>
    git(dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0").filter(Boolean).sort();
  const shown = async (more: object = {}): Promise<string[]> =>
    (await ground.run("glob", { pattern: "**", limit: 5000, ...more })).paths.toSorted();

  const FORMATS = [
    ["2", "sha1"],
    ["3", "sha1"],
    ["4", "sha1"],
    ["2", "sha256"],
    ["4", "sha256"],
  ] as const;

  function init(dir: string, version = "2", format = "sha1"): void {
    git(dir, "init", "-q", `--object-format=${format}`);
    git(dir, "config", "index.version", version);
  }

  describe("what Git shows is shown", () => {
    test.each(FORMATS)(
      "with rules in every place, and what is tracked in spite of them: index %s, %s",
      async (version, format) => {
        const name = fc.constantFrom("a", "b.log", "out", "c.ts", "build", ".x", "é");
        const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
        const rule = fc.constantFrom(
          "*.log",
          "out",
          "/build/",
          "out/*",
          "!c.ts",
          "**/a/b.log",
          ".x",
          "a/",
          "!out/",
          "é",
        );
        const rules = fc.array(rule, { maxLength: 3 }).map((lines) => lines.join("\n"));
        await fc.assert(
          fc.asyncProperty(
            fc.uniqueArray(path, { minLength: 2, maxLength: 14 }),
            fc.array(fc.nat(13), { maxLength: 6 }),
            fc.tuple(rules, rules, rules),
            async (paths, tracked, [exclude, top, inner]) => {
              for (const entry of ground.names()) rmSync(join(ground.dir, entry), { recursive: true });
              for (const one of paths) {
                try {
                  ground.put(one, "x");
                } catch {}
              }
              ground.put(".gitignore", top);
              try {
                ground.put("a/.gitignore", inner);
              } catch {}
              init(ground.dir, version, format);
              ground.put(".git/info/exclude", exclude);
              const forced = tracked
                .flatMap((at) => paths[at] ?? [])
                .filter((one) => existsSync(join(ground.dir, one)));
              if (forced.length > 0) git(ground.dir, "add", "-f", ...forced);
              // Flags that only a later version can say.
              if (version === "3" && forced.length > 0) git(ground.dir, "add", "-f", "-N", ".");
              expect(await shown()).toEqual(listed(ground.dir));
            },
          ),
          { numRuns: 6 },
        );
      },
    );

    test("from a directory below, in trees, and in a repository within the root", async () => {
      ground.put("repo/.gitignore", "gen/\n*.tmp\n");
      for (const path of ["gen/kept.ts", "gen/other.ts", "src/a.ts", "src/b.tmp", "src/kept.tmp"])
        ground.put(`repo/${path}`);
      init(join(ground.dir, "repo"));
      ground.put("repo/.git/info/exclude", "src/secret*\n");
      ground.put("repo/src/secret.ts");
      ground.put("outer.tmp");
      git(join(ground.dir, "repo"), "add", "-f", "gen/kept.ts", "src/kept.tmp");
      expect(await shown()).toEqual(
        ["outer.tmp", "repo/.gitignore", "repo/gen/kept.ts", "repo/src/a.ts", "repo/src/kept.tmp"].sort(),
      );
      expect(await shown({ path: "repo/src" })).toEqual(["repo/src/a.ts", "repo/src/kept.tmp"]);
      const { tree, hidden } = await ground.run("tree", { path: "repo", ignore: "gitignore" });
      expect(tree).toBe("r/repo/\n\t.git/\n\t.gitignore\n\tgen/\n\t\tkept.ts\n\tsrc/\n\t\ta.ts\n\t\tkept.tmp\n");
      expect(hidden).toEqual({ gitignored: 3 });
      expect((await ground.run("grep", { pattern: "x", output: "count" })).filesScanned).toBe(5);
    });

    test("only by what the caller may read", async () => {
      guarded.put(".gitignore", "*.tmp\n");
      guarded.put("sub/a.tmp");
      guarded.put("sub/b.own");
      init(guarded.dir);
      guarded.put(".git/info/exclude", "*.own\n");
      git(guarded.dir, "add", "-f", "sub/a.tmp");
      expect((await guarded.run("glob", { pattern: "*" })).paths).toEqual([".gitignore", "sub/b.own"]);
      expect((await guarded.run("glob", { pattern: "*", path: "sub" })).paths).toEqual(["sub/b.own"]);
      ground.put("sub/a.tmp");
      ground.put(".gitignore", "*.tmp\n");
      init(ground.dir);
      git(ground.dir, "add", "-f", "sub/a.tmp");
      const caps = [
        { with: "file://r/sub/", can: "crud/read" },
        { with: "file://r/.gitignore", can: "crud/read" },
      ];
      expect((await ground.run("glob", { pattern: "*", path: "sub" }, { caps })).paths).toEqual([]);
      expect(await shown({ path: "sub" })).toEqual(["sub/a.tmp"]);
    });
  });

  test("an index that is damaged or none says nothing, and ends", () => {
    init(home);
    for (const name of ["a", "dir/b", "dir/long-name-of-a-file"])
      git(home, "update-index", "--add", "--cacheinfo", `100644,${"1".repeat(40)},${name}`);
    const sound = readFileSync(join(home, ".git/index"));
    const index = readIndex(sound);
    expect(["a", "b", "dir/b", "dir"].map((path) => index?.has(path, false))).toEqual([true, false, true, false]);
    expect(["dir", "di", "a"].map((path) => index?.has(path, true))).toEqual([true, false, false]);
    expect(readIndex(Buffer.alloc(0))).toBeUndefined();
    expect(readIndex(Buffer.from("DIRCxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"))).toBeUndefined();
    fc.assert(
      fc.property(fc.nat(sound.length - 1), fc.nat(255), fc.nat(sound.length), (at, byte, length) => {
        const bytes = Buffer.from(sound);
        bytes[at] = byte;
        readIndex(bytes.subarray(0, length))?.has("dir/b", false);
      }),
      { numRuns: 500 },
    );
  });

  test("an ignore file for agents hides as .gitignore does, also what Git tracks, and is strongest", async () => {
    ground.put(".gitignore", "*.log\n");
    ground.put(".ignore", "!kept.log\n");
    ground.put(".agentignore", "fixtures/\nkept.log\n");
    for (const path of ["fixtures/big.json", "kept.log", "a.ts", "sub/fixtures/x", "sub/b.ts"]) ground.put(path);
    ground.put("sub/.agentignore", "!fixtures/\n/b.ts\n");
    init(ground.dir);
    git(ground.dir, "add", "-f", "fixtures/big.json", "kept.log");
    const own = [".agentignore", ".gitignore", ".ignore", "a.ts", "sub/.agentignore", "sub/fixtures/x"];
    expect(await shown()).toEqual(own);
    expect((await shown({ ignore: "none" })).length).toBe(own.length + 3);
    expect(await shown({ path: "sub" })).toEqual(["sub/.agentignore", "sub/fixtures/x"]);
    expect((await ground.run("read", { path: "fixtures/big.json" })).content).toBe("");
  });
});

const wants = fc.array(fc.nat(40), { maxLength: 30 });
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

describe("fair shares", () => {
  test.each<[number[], number, number[]]>([
    [[], 5, []],
    [[3, 1], 0, [0, 0]],
    [[3, 1], 4, [3, 1]],
    [[9, 1, 9], 5, [2, 1, 2]],
    [[9, 1, 9], 6, [3, 1, 2]],
    [[2, 9, 3, 9], 12, [2, 4, 3, 3]],
  ])("of %j in %d are %j", (given, room, expected) => expect(fairShares(given, room)).toEqual(expected));

  test("use all the room, give nobody more than it wants, and differ by one at most among those who want more", () => {
    fc.assert(
      fc.property(wants, fc.nat(400), (given, room) => {
        const shares = fairShares(given, room);
        expect(sum(shares)).toBe(Math.min(room, sum(given)));
        expect(shares.every((share, at) => share >= 0 && share <= (given[at] ?? 0))).toBe(true);
        const short = shares.filter((share, at) => share < (given[at] ?? 0));
        const most = Math.max(0, ...shares);
        for (const share of short) expect(most - share).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe("a grep of large files", () => {
  const ground = useGround();
  type Input = Parameters<typeof ground.run<"grep">>[1];

  /** 9 MB of lines, of which some hold `needle`, some of these beside each other and where pieces end. */
  const made = new Map<string, string>();

  function manyLines(end = "\n"): string {
    const known = made.get(end) ?? makeLines(end);
    made.set(end, known);
    return known;
  }

  function makeLines(end: string): string {
    const lines: string[] = [];
    let bytes = 0;
    for (let at = 1; bytes < 9_000_000; at++) {
      const isAtEdge = Math.abs(bytes - 4_194_304) < 400 || Math.abs(bytes - 8_388_608) < 400;
      const word = at % 20_011 < 3 || isAtEdge ? "needle" : "hay";
      const line = `${at} ${word} ${"é".repeat(at % 40)}`;
      lines.push(line);
      bytes += Buffer.byteLength(line) + end.length;
    }
    return lines.join(end);
  }

  const grep = (input: Omit<Input, "path">, path = "log"): Promise<GrepOutput> =>
    ground.run("grep", { ...input, path });
  /** The same search of the file as a whole. */
  const whole = (input: Omit<Input, "path">): Promise<GrepOutput> => grep({ ...input, maxFileBytes: 33_554_432 });

  async function allPages(input: Omit<Input, "path">): Promise<{ matches: unknown[]; pages: number }> {
    const matches: unknown[] = [];
    let cursor: string | undefined;
    for (let pages = 1; ; pages++) {
      const page = await grep({ ...input, ...(cursor === undefined ? {} : { cursor }) });
      matches.push(...(page.matches ?? []));
      cursor = page.nextCursor;
      if (cursor === undefined) return { matches, pages };
      expect(cursor.length).toBeLessThanOrEqual(200);
    }
  }

  describe("a large file that is named", () => {
    const WITH_LINES_AROUND: Omit<Input, "path"> = { pattern: "^\\d+ need.e", context: 3 };

    test.each<[string, string, "utf8" | "utf16le", Omit<Input, "path">[]]>([
      [
        "UTF-8",
        "\n",
        "utf8",
        [WITH_LINES_AROUND, { pattern: "needle", output: "count" }, { pattern: "need", before: 2, output: "files" }],
      ],
      ["CRLF", "\r\n", "utf8", [WITH_LINES_AROUND, { pattern: "needle" }]],
      ["UTF-16", "\n", "utf16le", [WITH_LINES_AROUND]],
    ])("is searched in pieces as it would be whole: %s", async (_, end, encoding, inputs) => {
      const text = manyLines(end);
      ground.put("log", Buffer.from(encoding === "utf8" ? text : `\ufeff${text}`, encoding));
      for (const input of inputs) {
        expect(await grep({ ...input, limit: 2000 })).toEqual(await whole({ ...input, limit: 2000 }));
      }
    });

    test("has pages that together hold everything once", async () => {
      ground.put("log", manyLines());
      const input = { pattern: "need", context: 1 };
      const { matches, pages } = await allPages({ ...input, limit: 7 });
      expect(pages).toBeGreaterThan(3);
      const lines = (all: unknown[] = []) => (all as { line: number }[]).map(({ line }) => line);
      expect(lines(matches)).toEqual(lines((await whole({ ...input, limit: 2000 })).matches));
      expect(await grep({ pattern: "need", limit: 7 })).toMatchObject({
        reason: "limit",
        countIsComplete: false,
        filesScanned: 1,
      });
    });

    test("goes on at the same line after it has grown, and from the start after it was replaced", async () => {
      ground.put("log", manyLines());
      const first = await grep({ pattern: "need", limit: 40 });
      const last = first.matches?.at(-1)?.line ?? 0;
      appendFileSync(join(ground.dir, "log"), "\nmore needle\n");
      const on = await grep({ pattern: "need", limit: 1, ...(first.nextCursor && { cursor: first.nextCursor }) });
      expect(on.matches?.[0]?.line).toBeGreaterThan(last);
      ground.put("log", `${"x".repeat(9_000_000)}\n${"y\n".repeat(last + 5)}needle`);
      const other = await grep({ pattern: "need", limit: 1, ...(first.nextCursor && { cursor: first.nextCursor }) });
      expect(other.matches).toEqual([{ path: "log", line: last + 7, text: "needle" }]);
    });

    test("of one line is searched in parts, and told once", async () => {
      ground.put(
        "log",
        `[${'{"id":1},'.repeat(3_740_000)}"needle", ${"x".repeat(5_000_000)} "needle"]\n"needle" again`,
      );
      const found = await grep({ pattern: "needle" });
      expect(found.matches?.map(({ line, cut }) => [line, cut])).toEqual([
        [1, true],
        [2, undefined],
      ]);
      expect((await grep({ pattern: "need+le", output: "count" })).counts).toEqual([{ path: "log", count: 2 }]);
    });

    test("is judged by its start, as others are", async () => {
      ground.put("log", Buffer.concat([Buffer.of(0), Buffer.from(manyLines())]));
      expect(await grep({ pattern: "needle" })).toMatchObject({ matches: [], hidden: { binary: 1 }, filesScanned: 0 });
    });

    test("ends well where it becomes shorter, and is refused where it is gone", async () => {
      ground.put("log", manyLines());
      const search = grep({ pattern: "ne+dle", limit: 2000 });
      truncateSync(join(ground.dir, "log"), 100);
      expect(await search).toMatchObject({ complete: true });
      expect((await ground.fail("grep", { pattern: "x", path: "gone" })).code).toBe("NOT_FOUND");
    });

    test("takes a bound that the caller names", async () => {
      ground.put("log", manyLines());
      expect(await grep({ pattern: "needle", maxFileBytes: 9_000_000 })).toMatchObject({ hidden: { tooLarge: 1 } });
      expect(await grep({ pattern: "needle", multiline: true })).toMatchObject({ complete: true, filesScanned: 1 });
    });

    test("is not named again where a bound leaves it out, but the bound is", async () => {
      ground.put("log", manyLines().repeat(4));
      const bounded = await grep({ pattern: "needle\\n", multiline: true });
      expect(bounded.hint).toBe("Left out: 1 too large: leave out multiline");
      const { hint } = await grep({ pattern: "needle", maxFileBytes: 9_000_000 });
      expect(hint).toBe("Left out: 1 too large: leave out maxFileBytes");
      expect((await grep({ pattern: "needle" })).totalMatches).toBeGreaterThan(10);
    });

    test("that a walk leaves out is named with the call that searches it", async () => {
      ground.put("d/a.log", manyLines());
      ground.put("d/b.log", manyLines());
      const { hint, hidden } = await ground.run("grep", { pattern: "needle", glob: "*.log" });
      expect(hidden).toEqual({ tooLarge: 2 });
      expect(hint).toBe('Left out: 2 too large: search path: "d/a.log"');
      expect((await grep({ pattern: "needle" }, "d/a.log")).totalMatches).toBeGreaterThan(10);
    });
  });

  describe("a large file, by a clock that goes on 30 ms at each look", () => {
    let now = 0;
    const clock = {
      ...systemClock,
      monotonicMs: () => {
        now += 30;
        return now;
      },
    };
    const slow = useGround({ clock, limits: { timeoutMs: 100_000_000 } });

    test.each(["lines", "count"] as const)(
      "ends with the time of the search, and goes on there: %s",
      async (output) => {
        slow.put("log", manyLines());
        const all = await slow.run("grep", { path: "log", pattern: "needle", limit: 2000, timeoutMs: 60_000 });
        let found = 0;
        let pages = 0;
        let cursor: string | undefined;
        do {
          const page = await slow.run("grep", {
            ...{ path: "log", pattern: "needle", limit: 2000, timeoutMs: 1, output },
            ...(cursor === undefined ? {} : { cursor }),
          });
          found += page.matches?.length ?? page.counts?.[0]?.count ?? 0;
          cursor = page.nextCursor;
          if (cursor !== undefined) expect(page).toMatchObject({ reason: "timeout", timedOut: true });
          pages++;
        } while (cursor !== undefined && pages < 20);
        expect([found, pages]).toEqual([all.totalMatches, 3]);
      },
    );
  });
});
