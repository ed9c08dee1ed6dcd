import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readIndex } from "../../../src/search/tracked-files.js";
import { useGround } from "../ground.js";

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
      const rule = fc.constantFrom("*.log", "out", "/build/", "out/*", "!c.ts", "**/a/b.log", ".x", "a/", "!out/", "é");
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
            const forced = tracked.flatMap((at) => paths[at] ?? []).filter((one) => existsSync(join(ground.dir, one)));
            if (forced.length > 0) git(ground.dir, "add", "-f", ...forced);
            // Flags that only a later version can say.
            if (version === "3" && forced.length > 0) git(ground.dir, "add", "-f", "-N", ".");
            expect(await shown()).toEqual(listed(ground.dir));
          },
        ),
        { numRuns: 12 },
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
