import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

const ground = useGround({ root: { deny: ["private", "*.key"] } });

const put = (...paths: string[]): void => {
  for (const path of paths) ground.put(path, `text of ${path}\n`);
};
const link = (to: string, path: string): void => symlinkSync(to, join(ground.dir, path));

type GlobInput = Parameters<typeof ground.run<"glob">>[1];
type GrepInput = Parameters<typeof ground.run<"grep">>[1];

/** The fields that a hint names, as an agent would put them into its next call. */
const named = (hint = ""): object =>
  JSON.parse(`{${/pass (.*)$/.exec(hint)?.[1]?.replace(/(^|, )(\w+): /g, '$1"$2": ') ?? ""}}`) as object;

describe("an empty file:glob says what would fill it, and that call does", () => {
  test.each<[string, string, GlobInput, string[]]>([
    ["a folder named like a class", "web/[slug]/page.svelte", { pattern: "web/[slug]/*" }, ["web/[slug]/page.svelte"]],
    [
      "one named like a class, with braces that are meant",
      "web/[id]/a.ts",
      { pattern: "web/[id]/*.{ts,js}" },
      ["web/[id]/a.ts"],
    ],
    [
      "folders in parentheses",
      "app/(shop)/[...all]/x.vue",
      { pattern: "app/(shop)/[...all]/**" },
      ["app/(shop)/[...all]/x.vue"],
    ],
    ["one in braces, with a comma", "api/{a,b}/get.py", { pattern: "api/{a,b}/*.py" }, ["api/{a,b}/get.py"]],
    ["a list by commas", "mod/a.rs", { pattern: "*.toml,*.rs" }, ["mod/a.rs"]],
    ["a list by commas and spaces, of paths", "mod/a.rs", { pattern: "n/*.toml, mod/*.rs" }, ["mod/a.rs"]],
    ["a list by semicolons, of names and paths", "mod/a.rs", { pattern: "*.toml;mod/*.rs" }, ["mod/a.rs"]],
    ["a list by spaces", "mod/a.rs", { pattern: "*.toml *.rs" }, ["mod/a.rs"]],
    ["a list as JSON", "mod/a.rs", { pattern: '["*.toml", "*.rs"]' }, ["mod/a.rs"]],
    ["a list in a list", "mod/a.rs", { pattern: ["*.toml|*.rs", "*.py"] }, ["mod/a.rs"]],
    ["backslashes", "mod/n/a.rs", { pattern: "mod\\**\\*.rs" }, ["mod/n/a.rs"]],
    ["a path that is there already", "mod/n/a.rs", { pattern: "mod/n/*.rs", path: "mod" }, ["mod/n/a.rs"]],
    ["a folder at any depth", "mod/n/a.rs", { pattern: "n/**" }, ["mod/n/a.rs"]],
    ["directories", "mod/n/a.rs", { pattern: "mod/n" }, ["mod/n/"]],
  ])("%s", async (_, path, input, paths) => {
    put(path, "other/file.txt");
    const { hint, ...empty } = await ground.run("glob", input);
    expect(empty).toMatchObject({ paths: [], complete: true, totalMatches: 0 });
    expect(hint).toMatch(/^[^.]+: pass /);
    expect((await ground.run("glob", { ...input, ...named(hint) })).paths).toEqual(paths);
    expect((await ground.render("glob", input)).note).toContain(hint);
  });

  test("unless it would not either", async () => {
    put("a/file.txt", "b/[slug]/y.key");
    for (const pattern of ["*.md,*.rst", "*/[slug]/*", "a\\*.md", "{x}/*.md", '["*.md"]', "*.md a.rst", "b/[slug]/*"]) {
      const { hint = "" } = await ground.run("glob", { pattern });
      // What is denied is counted as ever, whatever the reading.
      expect([pattern, hint]).toEqual([pattern, expect.not.stringContaining("pass")]);
    }
  });

  test("as far as the caller may read", async () => {
    put("open/[x]/a.md", "closed/[x]/b.md");
    const caps = [{ with: "file://r/open/", can: "crud/read" }];
    const told = async (path: string) =>
      (await ground.run("glob", { pattern: "[x]/*.md", path }, path === "open" ? { caps } : undefined)).hint;
    expect(await told("open")).toContain("\\\\[x\\\\]");
    expect((await ground.fail("glob", { pattern: "[x]/*.md", path: "closed" }, { caps })).code).toBe(
      "CAPABILITY_DENIED",
    );
  });

  test("only where it is empty, and on its first page", async () => {
    put("s/a.md", "web/[s]/b.md");
    expect((await ground.run("glob", { pattern: "*/[s]/*" })).hint).toContain("Brackets");
    put("web/s/a.md");
    expect(await ground.run("glob", { pattern: "*/[s]/*" })).not.toHaveProperty("hint");
  });

  test("links that the pattern names are counted, by wildcards too, and no others", async () => {
    put("store/x/a.md", "mods/own/b.md");
    for (const name of ["mods/pkg", "mods/other", "elsewhere"]) link(join(ground.dir, "store"), name);
    const links = async (pattern: string | string[]) => (await ground.run("glob", { pattern })).hidden?.symlinks ?? 0;
    expect(await links("mods/pkg/**/*.txt")).toBe(1);
    expect(await links("mods/o*/x/*.txt")).toBe(1);
    expect(await links("**/pkg/x/*.txt")).toBe(1);
    expect(await links("*/*/x/*.txt")).toBe(3);
    expect(await links(["store/**/*.txt", "mods/pkg/x.txt"])).toBe(1);
    expect(await links("**/*.txt")).toBe(0);
    expect(await links("mods/own/**/*.txt")).toBe(0);
    const grep = await ground.run("grep", { pattern: "text", glob: "mods/pkg/**/*.md" });
    expect(grep).toMatchObject({ matches: [], hidden: { symlinks: 1 } });
  });
});

describe("an empty file:grep says what would fill it, and that call does", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: agents look for those
  const PLACEHOLDER = "${amount}";
  const TEXT = `if (load(x)) {\n  swap(a|b);\n}\nprice ${PLACEHOLDER}\nword swapped\n`;

  test.each<[string, GrepInput, number]>([
    ["alternatives of GNU grep", { pattern: "absent\\|swapped" }, 1],
    ["groups of GNU grep", { pattern: "\\(absent\\|swap\\)ped$" }, 1],
    ["a repetition of GNU grep", { pattern: "p\\{2\\}ed" }, 1],
    ["word boundaries of GNU grep", { pattern: "\\<swapped\\>" }, 1],
    ["alternatives in groups of another kind", { pattern: "(absent\\|swapped)" }, 1],
    ["a placeholder", { pattern: PLACEHOLDER }, 1],
    ["blanks over lines", { pattern: "\\{\\s*swap" }, 1],
    ["a call", { pattern: "load(x)" }, 1],
    ["a text with signs", { pattern: "swap(a|b);" }, 1],
    ["an expression as a text", { pattern: "pri.e", literal: true }, 1],
    ["a line feed", { pattern: "\\{\\n\\s+swap" }, 1],
    ["a line feed itself", { pattern: "{\n  swap", literal: true }, 1],
    ["a dot that takes line feeds", { pattern: "(?s)if .load.*price" }, 1],
    ["a class of everything", { pattern: "load[\\s\\S]*price" }, 1],
    ["globs by commas", { pattern: "price", glob: "*.x,*.tpl" }, 1],
    ["a glob with brackets", { pattern: "price", glob: "v/[lang]/**" }, 1],
    ["a folder in place of its files", { pattern: "price", glob: "v/[[]lang]" }, 1],
    ["a folder in place of its files, with a slash", { pattern: "price", glob: "v/" }, 1],
    ["a folder at any depth, by its name", { pattern: "nested", glob: ["inner"] }, 1],
    ["a folder at any depth", { pattern: "nested", glob: ["inner/*.tpl"] }, 1],
    ["what is in a folder at any depth", { pattern: "nested", glob: ["inner/**", "more/**"] }, 1],
    ["a folder at any depth in place of its files", { pattern: "nested", glob: "deep/inner" }, 1],
    ["a glob from the root", { pattern: "price", path: "v", glob: "v/**/*.tpl" }, 1],
  ])("%s", async (_, input, total) => {
    ground.put("v/[lang]/a.tpl", TEXT);
    ground.put("n/deep/inner/a.tpl", "nested\n");
    const { hint, ...empty } = await ground.run("grep", input);
    expect(empty).toMatchObject({ matches: [], complete: true, totalMatches: 0 });
    expect(hint).toMatch(/^[^.]+: pass /);
    expect((await ground.run("grep", { ...input, ...named(hint) })).totalMatches).toBe(total);
    expect((await ground.render("grep", input)).note).toContain(hint);
  });

  test("unless it would not either", async () => {
    ground.put("a", TEXT);
    ground.put("private/b", "absent nothing(a|b) {\n");
    for (const pattern of ["absent\\|gone", "nothing(a|b)", "absent\\nx", "(?s)absent.*x", "nothing.a"]) {
      const { hint } = await ground.run("grep", { pattern });
      expect([pattern, hint]).toEqual([pattern, "Left out: 1 denied by policy"]);
    }
  });

  test("if time is left", async () => {
    ground.put("a", "x");
    expect(await ground.run("grep", { pattern: PLACEHOLDER, timeoutMs: 1 })).toMatchObject({ totalMatches: 0 });
  });
});

describe("file:grep across lines", () => {
  test("gives the lines of each match, with what stands around", async () => {
    ground.put("m.go", "one\r\nfunc a(\r\n  x int,\r\n) {\r\n}\r\nfunc b() {\r\n}\r\nend");
    const input = { pattern: "^func \\w\\([^)]*\\) \\{$", multiline: true };
    expect((await ground.run("grep", { ...input, context: 1 })).matches).toEqual([
      { path: "m.go", line: 2, endLine: 4, text: "func a(\n  x int,\n) {", before: ["one"], after: ["}"] },
      { path: "m.go", line: 6, text: "func b() {", after: ["}"] },
    ]);
    const { text } = (await ground.render("grep", { ...input, context: 1 })) as { text: string };
    expect(text).toBe("m.go\n1-one\n2:func a(\n3:  x int,\n4:) {\n5-}\n6:func b() {\n7-}\n");
    expect((await ground.run("grep", { ...input, output: "count" })).counts).toEqual([{ path: "m.go", count: 2 }]);
    expect((await ground.run("grep", { ...input, output: "files" })).paths).toEqual(["m.go"]);
  });

  test("goes on behind the last match, on the next page", async () => {
    ground.put("a", "x1\ny\nx2\ny\nx3\ny\n");
    ground.put("b", "x4\ny");
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ground.run("grep", {
        ...{ pattern: "x.\\ny", multiline: true, limit: 1 },
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...(page.matches ?? []).map(({ path, line, text }) => `${path}:${line}:${text}`));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(["a:1:x1\ny", "a:3:x2\ny", "a:5:x3\ny", "b:1:x4\ny"]);
  });

  test("cuts long matches, and ends with the time of the search", async () => {
    ground.put("long", `${"q".repeat(300)}<${"line\n".repeat(500)}>`);
    const [match] = (await ground.run("grep", { pattern: "<[^>]*>", multiline: true })).matches ?? [];
    expect(match).toMatchObject({ line: 1, endLine: 501, cut: true });
    expect(match?.text).toContain("q<line\nline");
    expect(match?.text).toHaveLength(400);
    ground.put("slow", "a\n".repeat(400_000));
    const slow = await ground.run("grep", {
      pattern: "a(?:[\\s\\S]*z)?",
      multiline: true,
      path: "slow",
      timeoutMs: 300,
    });
    expect(slow).toMatchObject({ complete: false, reason: "timeout", timedOut: true });
  });
});
