import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import iconv from "iconv-lite";
import { testAccess } from "../../../src/backend-suite/access.js";
import { adapterError, type ErrorCode } from "../../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { PathCall, PlacesCall } from "../../../src/core/ports/operation.js";
import { ignoreRules } from "../../../src/ops/searching/search.js";
import { type Ground, useGround } from "../ground.js";

describe("empty answers", () => {
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
      [
        "a folder named like a class",
        "web/[slug]/page.svelte",
        { pattern: "web/[slug]/*" },
        ["web/[slug]/page.svelte"],
      ],
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
      for (const pattern of [
        "*.md,*.rst",
        "*/[slug]/*",
        "a\\*.md",
        "{x}/*.md",
        '["*.md"]',
        "*.md a.rst",
        "b/[slug]/*",
      ]) {
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
});

const may = (...paths: string[]): SurfaceContext => ({
  caps: paths.map((path) => ({ with: `file://r/${path}`, can: "crud/read" })),
});

async function found(ground: Ground, glob: string | string[], more: object = {}): Promise<string[]> {
  const { paths } = await ground.run("glob", { pattern: glob, ...more });
  const grep = await ground.run("grep", { pattern: "text", glob, output: "files", ...more });
  expect(grep.paths).toEqual(paths);
  return paths;
}

describe("a glob that names the root itself is the glob in it", () => {
  const ground = useGround();
  const put = (...paths: string[]): void => {
    for (const path of paths) ground.put(path, "text");
  };
  const tops = () => [ground.dir, ground.dir.slice(1), `file://${ground.dir}`, "file://r", "r", "/r"];

  test("by its host path, its URI or its name", async () => {
    put("src/x.ts", "src/n/y.ts", "z.ts");
    for (const top of tops()) {
      expect(await found(ground, `${top}/src/*.ts`)).toEqual(["src/x.ts"]);
      expect(await found(ground, [`${top}/src/{n,m}/**`, `${top}/*.ts`])).toEqual(["src/n/y.ts", "z.ts"]);
      expect(await found(ground, `${top}/src/x.ts`)).toEqual(["src/x.ts"]);
      expect(await found(ground, `${top}/**`)).toEqual(["src/n/y.ts", "src/x.ts", "z.ts"]);
      expect(await found(ground, "*.ts", { exclude: `${top}/src/**` })).toEqual(["z.ts"]);
      expect((await ground.run("tree", { exclude: `${top}/src/n` })).tree).toBe("r/\n\tsrc/\n\t\tx.ts\n\tz.ts\n");
    }
    expect(await found(ground, `${ground.dir}/src/n/*.ts`, { path: "src" })).toEqual(["src/n/y.ts"]);
    expect((await ground.fail("glob", { pattern: `${ground.dir}/lib/*.ts`, path: "src" })).code).toBe(
      "INVALID_PATTERN",
    );
  });

  test("with names that have signs of globs, and page by page", async () => {
    put("a[b/1.ts", "a[b/2.ts");
    const pattern = `file://${ground.dir}/a%5Bb/*.ts`;
    const first = await ground.run("glob", { pattern, limit: 1 });
    expect(first.paths).toEqual(["a[b/1.ts"]);
    const { nextCursor: cursor = "" } = first;
    expect((await ground.run("glob", { pattern, limit: 1, cursor })).paths).toEqual(["a[b/2.ts"]);
  });

  test("unless a folder of that name is there, or it begins with ./", async () => {
    put("src/x.ts");
    expect(await found(ground, "./r/src/*.ts")).toEqual([]);
    put("r/src/inner.ts", join(ground.dir, "src/inner.ts"));
    expect(await found(ground, "r/src/*.ts")).toEqual(["r/src/inner.ts"]);
    const doubled = `${ground.dir.slice(1)}/src/*.ts`;
    expect(await found(ground, doubled)).toEqual([`${ground.dir.slice(1)}/src/inner.ts`]);
  });

  test("as far as the caller may read, and the record names no other place", async () => {
    put("mine/a.ts", "yours/b.ts");
    const own = may("mine/");
    const { paths } = await ground.run("glob", { pattern: `${ground.dir}/mine/*`, path: "mine", ignore: "none" }, own);
    expect(paths).toEqual(["mine/a.ts"]);
    const ask = (pattern: string) => ground.fail("glob", { pattern, path: "mine" }, own);
    expect((await ask(`${ground.dir}/yours/*`)).code).toBe("INVALID_PATTERN");
    expect(ground.audit.map(({ resource, others }) => [resource, others ?? []])).toEqual([
      ["file://r/mine", []],
      ["file://r/mine", []],
    ]);
  });
});

describe("where host paths are not disclosed", () => {
  const ground = useGround({ discloseHostPaths: false });

  test("no answer depends on them, and the name is known", async () => {
    ground.put("src/x.ts", "text");
    const other = ground.dir.replace(/root$/, "ro0t");
    const answers = async (top: string) => {
      const all = [
        await ground.fail("glob", { pattern: `${top}/src/*.ts` }),
        await ground.fail("grep", { pattern: "text", glob: `${top}/src/*.ts` }),
        await ground.run("glob", { pattern: `${top.slice(1)}/src/*.ts` }),
        await ground.run("glob", { pattern: `file://${top}/src/*.ts` }),
        await ground.run("glob", { pattern: "*.ts", exclude: `${top.slice(1)}/src/**` }),
      ];
      return JSON.stringify(all).replaceAll(top, "TOP");
    };
    expect(await answers(ground.dir)).toEqual(await answers(other));
    for (const top of ["r", "/r", "file://r"]) expect(await found(ground, `${top}/src/*.ts`)).toEqual(["src/x.ts"]);
  });
});

describe("encodings of searched files", () => {
  const ground = useGround({ roots: { old: { temp: true, encoding: "windows-1252" } } });

  const hits = async (input: Parameters<typeof ground.run<"grep">>[1]): Promise<string[]> =>
    ((await ground.run("grep", input)).matches ?? []).map(({ path, line, text }) => `${path}:${line}:${text}`);

  describe("file:grep finds what file:read can show", () => {
    const TEXT = "first\r\nnaïve straße\r\nlast 漢字\r\n";

    test.each([
      ["a literal", "straße"],
      ["an expression", "stra.e$"],
    ])("in UTF-16 of both orders: %s", async (_, pattern) => {
      ground.put("le.txt", Buffer.from(`\ufeff${TEXT}`, "utf16le"));
      ground.put("be.txt", Buffer.from(`\ufeff${TEXT}`, "utf16le").swap16());
      ground.put("plain.txt", TEXT);
      expect(await hits({ pattern })).toEqual(["be", "le", "plain"].map((name) => `${name}.txt:2:naïve straße`));
      expect(await hits({ pattern: "^first$" })).toHaveLength(3);
      expect(await hits({ pattern: "e\\nlast", multiline: true })).toHaveLength(3);
      expect(await hits({ pattern: "漢", path: "be.txt" })).toEqual(["be.txt:3:last 漢字"]);
    });

    test("beside bytes that are not UTF-8, which are shown as such", async () => {
      ground.put(
        "one",
        Buffer.concat([Buffer.from("Gr"), Buffer.of(0xfc), Buffer.from("sse\nplain words\n"), Buffer.of(0xe9)]),
      );
      expect(await hits({ pattern: "words" })).toEqual(["one:2:plain words"]);
      expect(await hits({ pattern: "w.rds$" })).toEqual(["one:2:plain words"]);
      expect(await hits({ pattern: "sse" })).toEqual(["one:1:Gr\ufffdsse"]);
      expect((await ground.run("grep", { pattern: "words", output: "files" })).paths).toEqual(["one"]);
      expect(await ground.run("grep", { pattern: "none" })).toMatchObject({ filesScanned: 1, complete: true });
    });

    test("and not in what is binary: a NUL at the start, or anywhere if it is not UTF-8", async () => {
      ground.put("start", "words\0");
      ground.put("later", Buffer.concat([Buffer.from("words\n".repeat(3000)), Buffer.of(0, 0xff)]));
      ground.put("text", `${"words\n".repeat(3000)}\0`);
      ground.put("half.txt", Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from("words", "utf16le"), Buffer.of(0x41)]));
      expect(await ground.run("grep", { pattern: "words", output: "files" })).toMatchObject({
        ...{ paths: ["text"], hidden: { binary: 3 } },
      });
    });

    test("or says that some are in another encoding", async () => {
      ground.put("a/plain.txt", "x\n");
      const bytes = Buffer.from("\ufeffx\n", "utf16le");
      ground.put("a/wide.txt", bytes);
      ground.put("a/binary", Buffer.of(0xe9, 0));
      for (const pattern of ["caf\u00e9", "\u0434\u0430", "\u65e5."]) {
        expect(await ground.run("grep", { pattern })).not.toHaveProperty("hint", expect.stringContaining("UTF-8"));
      }
      ground.put("b/old.txt", Buffer.from("un caf\u00e9\n", "latin1"));
      ground.put("b/russian.txt", iconv.encode("\u0434\u0430\n", "windows-1251"));
      const hint = expect.stringContaining("Some files are not UTF-8: pass their encoding");
      for (const pattern of ["caf\u00e9", "\u0434\u0430", "\u65e5."]) {
        for (const output of ["lines", "files", "count"] as const) {
          expect(await ground.run("grep", { pattern, output })).toMatchObject({ totalMatches: 0, hint });
        }
      }
      expect(await hits({ pattern: "caf\u00e9", encoding: "latin1" })).toEqual(["b/old.txt:1:un caf\u00e9"]);
      const silent = [
        { pattern: "cafe" },
        { pattern: "caf\u00e9", path: "a" },
        { pattern: "caf\u00e9s", encoding: "latin1" },
        { pattern: "\u00e9|x" },
      ];
      for (const input of silent) {
        expect((await ground.run("grep", input)).hint ?? "").not.toContain("UTF-8");
      }
      ground.put("c.txt", Buffer.concat([Buffer.alloc(9_000_000, "words\n"), Buffer.of(0xe9)]));
      expect(await ground.run("grep", { pattern: "\u00e9", path: "c.txt" })).toMatchObject({ filesScanned: 1, hint });
    });

    test("by the encoding of the call, or of the root", async () => {
      for (const encoding of ["latin1", "shift_jis", "utf-16le"]) {
        const text = encoding === "latin1" ? "x\nschön\n" : "x\n日本\n";
        ground.put(`${encoding}.txt`, iconv.encode(text, encoding, { addBOM: false }));
        const pattern = encoding === "latin1" ? "schön" : "日.";
        const path = `${encoding}.txt`;
        expect(await hits({ pattern, path, encoding })).toEqual([`${path}:2:${text.split("\n")[1]}`]);
        expect(await hits({ pattern, path })).toEqual([]);
      }
      await ground.adapter.invoke("file:write", { root: "old", path: "a", content: "price: 5 €\n" });
      const found = await ground.adapter.invoke("file:grep", { root: "old", pattern: "5 €" });
      expect(found.matches).toEqual([{ path: "a", line: 1, text: "price: 5 €" }]);
      expect((await ground.fail("grep", { pattern: "x", encoding: "klingon" })).code).toBe("INVALID_INPUT");
    });
  });

  describe("file:readMany reads what file:read can show", () => {
    test("each file in its encoding", async () => {
      ground.put("jis", iconv.encode("日本\n", "shift_jis"));
      ground.put("latin", Buffer.from("café\n", "latin1"));
      ground.put("wide", Buffer.from("\ufeffümlaut", "utf16le"));
      const { files } = await ground.run("readMany", {
        files: [{ path: "jis", encoding: "shift_jis" }, { path: "latin", encoding: "latin1" }, { path: "wide" }],
      });
      expect(files.map(({ content, encoding }) => [content, encoding])).toEqual([
        ["日本\n", "shift_jis"],
        ["café\n", "latin1"],
        ["\ufeffümlaut", "utf-16le"],
      ]);
      expect(await ground.fail("readMany", { files: [{ path: "jis", encoding: "none" }] })).toMatchObject({
        ...{ code: "INVALID_INPUT", message: expect.stringContaining("encoding") },
      });
    });
  });
});

/** A call in whose root looking at any rule file fails. */
function failing(code: ErrorCode): { base: PathCall; call: PlacesCall } {
  const access = testAccess();
  const at = () => ({
    path: { text: "a/b", segments: ["a", "b"] },
    access,
    root: { backend: { stat: () => Promise.reject(adapterError(code, "no")) } },
  });
  return { base: at() as unknown as PathCall, call: { at } as unknown as PlacesCall };
}

test.each<ErrorCode>(["ABORTED", "TIMEOUT"])(
  "a call that ends while ignore files are read says so: %s",
  async (code) => {
    await expect(ignoreRules({ root: "r" }, failing(code))).rejects.toMatchObject({ code });
  },
);

test.each<ErrorCode>(["CAPABILITY_DENIED", "DENIED_BY_POLICY", "NOT_FOUND"])(
  "ignore files that may not be read have no effect: %s",
  async (code) => {
    await expect(ignoreRules({ root: "r" }, failing(code))).resolves.toMatchObject({ unread: 0 });
  },
);
