import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import ignore from "ignore";
import picomatch from "picomatch";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { type Io, runIo } from "../../src/core/io.js";
import { compileGlobs } from "../../src/search/globs.js";
import { IgnoreRules } from "../../src/search/ignore-rules.js";
import { Pace, TimeIsUp } from "../../src/search/match-budget.js";

const matches = async (pattern: string, path: string): Promise<boolean> =>
  compileGlobs(pattern, "pattern").matches(path, false);

describe("a glob", () => {
  const rows: readonly [string, readonly string[], readonly string[]][] = [
    ["*", ["a", ".a", "a/b"], []],
    ["*.ts", ["a.ts", "a/b/c.ts"], ["a.tsx", "a.ts/b"]],
    ["./*.ts", ["a.ts"], ["a/b.ts"]],
    ["././*", ["a"], ["a/b"]],
    ["{a,b}.ts", ["a.ts", "x/b.ts"], ["xa.ts"]],
    ["?(x|y)a", ["a", "q/xa"], ["q/za"]],
    ["**", ["a", "a/b", ".x/.y"], []],
    ["**/*.ts", ["a.ts", "a/b.ts", ".x/.y.ts"], ["a.tsx", "ts"]],
    ["a/**", ["a", "a/b", "a/b/c"], ["ab", "b/a"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]],
    ["**/a/**", ["a", "x/a", "x/a/y"], ["ba", "x/ab"]],
    ["a**b", ["ab", "axxb"], ["a/b"]],
    ["a?b", ["axb", "a😀b"], ["a/b", "ab"]],
    ["[a-c]x", ["ax", "cx"], ["dx", "Ax"]],
    ["[!a]x", ["bx"], ["ax", "/x"]],
    ["[^a]x", ["bx"], ["ax"]],
    ["[]a]x", ["]x", "ax"], ["bx"]],
    ["[[:digit:]]x", ["1x"], ["ax"]],
    ["[\\]a-]x", ["]x", "-x", "ax"], ["bx"]],
    ["{a,b/c}.ts", ["a.ts", "b/c.ts"], ["b.ts"]],
    ["{a,{b,c}d}", ["a", "bd", "cd"], ["b", "ad"]],
    ["{**/x,y}", ["x", "a/x", "y"], ["a/y"]],
    ["{a}", ["{a}"], ["a"]],
    ["{1..3}", ["1", "3"], ["4"]],
    ["{8..11}", ["8", "10"], ["1", "12"]],
    ["{a..c}x", ["bx"], ["dx"]],
    ["@(a|b)c", ["ac", "bc"], ["c"]],
    ["+(a|b)", ["a", "abab"], ["ac"]],
    ["?(a)b", ["b", "ab"], ["aab"]],
    ["(a|b)c", ["ac"], ["c"]],
    ["app/(group)/page", ["app/(group)/page"], ["app/group/page"]],
    ["\\*", ["*"], ["a"]],
    ["a.b+c$", ["a.b+c$"], ["axb+c$", "a.bbc$"]],
    ["./a", ["a"], []],
    ["a\nb", ["a\nb"], ["a"]],
  ];
  test.each(rows)("%s", async (pattern, yes, no) => {
    for (const path of yes) expect([path, await matches(pattern, path)]).toEqual([path, true]);
    for (const path of no) expect([path, await matches(pattern, path)]).toEqual([path, false]);
  });

  const wrong: readonly [string, string, number | undefined][] = [
    ["", "it is empty", undefined],
    ["a/[b", "'[' is not closed: at 2", 2],
    ["[]", "'[' is not closed: at 0", 0],
    ["x{a,b", "'{' is not closed: at 1", 1],
    ["@(a", "'(' is not closed: at 1", 1],
    ["/a", "must be relative to the path: at 0", 0],
    ["a/../b", "'..' is not allowed", undefined],
    ["..", "'..' is not allowed", undefined],
    ["!a", "use exclude in place of '!': at 0", 0],
    ["!(a)", "'!(…)' is not supported, use exclude: at 0", 0],
    ["a\\", "it ends in a backslash: at 1", 1],
    ["[a/b]", "'/' in a class: at 0", 0],
    ["[z-a]", "a class or range in it is not valid: at 0", 0],
    ["x[[:no:]]", "a class or range in it is not valid: at 1", 1],
    [`a*(${"a|".repeat(100)}b)`, "a repeated group may have 100 parts: at 1", 1],
    ["{1..5000}", "a range may have 1000 members: at 0", 0],
  ];
  test.each(wrong)("is refused with its place: %p", async (pattern, reason, position) => {
    const error = await matches(pattern, "x").catch((reason: unknown) => reason);
    if (!(error instanceof FileAdapterError)) throw error;
    expect([error.code, error.message, error.data["position"]]).toEqual([
      "INVALID_PATTERN",
      `Invalid pattern '${pattern}': ${reason}`,
      position,
    ]);
  });

  test("may have 1,000 characters, and there may be 20 of them", async () => {
    expect(await matches("a".repeat(1000), "a".repeat(1000))).toBe(true);
    await expect(matches("a".repeat(1001), "a")).rejects.toMatchObject({ code: "INVALID_PATTERN" });
    const many = Array.from({ length: 20 }, (_, index) => `x${index}`);
    expect(compileGlobs(many, "pattern").matches("x19", false)).toBe(true);
    const codeOf = (patterns: string[]): unknown => {
      try {
        return compileGlobs(patterns, "pattern");
      } catch (error) {
        return error instanceof FileAdapterError ? error.code : error;
      }
    };
    expect([codeOf([...many, "y"]), codeOf([])]).toEqual(["INVALID_INPUT", "INVALID_INPUT"]);
  });

  test("means what it means to picomatch", async () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", ".", "A"), minLength: 1, maxLength: 3 });
    const part = fc.oneof(
      name,
      fc.constantFrom("*", "?", "a*", "*b", "**", "[ab]", "[^a]", "{a,b}", "{a,b}*", "*.{a,b}", "@(a|b)"),
    );
    const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    // picomatch takes a pattern without a slash for one of the start directory.
    const here = (glob: string) => (glob.includes("/") ? glob : `./${glob}`);
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    const isDots = (text: string) => text.split("/").some((one) => one === "." || one === "..");
    await fc.assert(
      fc.asyncProperty(pattern, path, async (glob, tested) => {
        // Where a pattern ends in `/**` picomatch lets it stand for nothing only behind plain names; here it always may.
        fc.pre(!isDots(glob) && !isDots(tested));
        const isEnd = glob.endsWith("/**") && (await matches(glob.slice(0, -3), tested));
        fc.pre(!isEnd);
        expect(await matches(here(glob), tested)).toBe(picomatch.isMatch(tested, glob, { dot: true }));
      }),
      { numRuns: 2000 },
    );
  });

  test("takes linear time, however many stars it has", async () => {
    const hostile = `${"*a".repeat(400)}b`;
    const path = "a".repeat(250);
    expect(await matches(hostile, path)).toBe(false);
    expect(await matches(`**/${"**/".repeat(300)}x`, "a/".repeat(500).slice(0, -1))).toBe(false);
    expect(await matches("{a,{a,{a,{a,{a,{a,b}}}}}}".repeat(40), "a".repeat(41))).toBe(false);
    expect(await matches("{1..999}".repeat(125), "1".repeat(124))).toBe(false);
    expect(await matches("+(*(a|+(b|*(ab|*c)))|*(a*b)|?)c", "ab".repeat(2000))).toBe(false);
  });

  test("lets others run, and ends with the time of the search", () => {
    const hostile = Array.from({ length: 20 }, (_, index) => `${"*a".repeat(100)}${index}`);
    const globs = compileGlobs(hostile, "pattern");
    let rests = 0;
    const scope = {
      *breathe(): Io<void> {
        rests++;
      },
    };
    const path = "a".repeat(250);
    expect(runIo(globs.test(path, false, new Pace(scope, () => false)))).toBe(false);
    expect(rests).toBeGreaterThan(5);
    expect(() => runIo(globs.test(path, false, new Pace(scope, () => true)))).toThrow(TimeIsUp);
  });

  test("knows where it can match at all", async () => {
    const globs = compileGlobs(["src/lib/*.ts", "docs/**", "./*.md"], "pattern");
    expect([[], ["src"], ["src", "lib"], ["docs", "a", "b"]].map((at) => globs.reaches(at))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([["src", "other"], ["src", "lib", "x"], ["test"]].map((at) => globs.reaches(at))).toEqual([
      false,
      false,
      false,
    ]);
    expect(compileGlobs("*.md", "pattern").reaches(["test", "deep"])).toBe(true);
  });
});

/** Counts how often others may run. */
class Breath {
  count = 0;

  *breathe(): Io<void> {
    this.count++;
  }
}

const calm = (): Pace => new Pace(new Breath(), () => false);

const rulesOf = (...lines: readonly string[]): IgnoreRules => {
  const rules = new IgnoreRules();
  rules.enter([], [Buffer.from(lines.join("\n")), undefined]);
  return rules;
};

const ignores = (rules: IgnoreRules, path: string, pace = calm()): boolean =>
  runIo(rules.ignores(path.replace(/\/$/, "").split("/"), path.endsWith("/"), pace)) === true;

describe("rules of what to ignore", () => {
  test("are empty until a file has one, and again when its directory is left", () => {
    const rules = rulesOf("# nothing");
    expect(rules.isEmpty).toBe(true);
    for (const contents of [
      [Buffer.from("*.log"), undefined],
      [undefined, Buffer.from("*.log")],
    ]) {
      rules.enter(["a"], contents);
      expect(rules.isEmpty).toBe(false);
      rules.enter(["b"], [undefined, undefined]);
      expect(rules.isEmpty).toBe(true);
    }
  });

  test("mean what they mean to the package that knows them all", () => {
    const name = fc.constantFrom("a", "b", "a.log", ".log", "b.ts", "node_modules", "a*b", "axxb");
    const line = fc.oneof(
      fc.tuple(fc.constantFrom("", "/", "!"), name, fc.constantFrom("", "/")).map((parts) => parts.join("")),
      fc.constantFrom("*.log", "*.ts", "*", "a/b", "**/b", "a/**", "b*", "?", "[ab]", "!*.ts", "\\a", "a ", "# a"),
      fc.constantFrom("a/**/b", "**/a/*", "/*/b", "!/a/b", "a\\*b", "*[!a]", "?*?", "a/**/", "*a*b*"),
    );
    const path = fc.array(name, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 5 }), path, fc.boolean(), (lines, segments, isDirectory) => {
        const reference = ignore({ ignorecase: false }).add(lines);
        const rules = rulesOf(...lines);
        // As a walk does: what is ignored is not entered.
        const isReached = segments
          .slice(0, -1)
          .every((_, at) => !ignores(rules, `${segments.slice(0, at + 1).join("/")}/`));
        const shown = `${segments.join("/")}${isDirectory ? "/" : ""}`;
        expect(!isReached || ignores(rules, shown)).toBe(reference.ignores(shown));
      }),
      { numRuns: 5000 },
    );
  });

  const ROWS: readonly [string, readonly string[], readonly string[]][] = [
    ["a*b*c*d*e", ["a1b2c3d4e", "x/abcde"], ["abcd"]],
    ["a b\\ ", ["a b "], ["a b"]],
    ["\\!a", ["!a"], ["a"]],
    ["[[:digit:]]x", ["1x"], ["ax"]],
    ["[a", [], ["a", "[a"]],
    ["a\\", [], ["a", "a\\"]],
    ["a**b", ["axb"], ["a/b"]],
    ["/", [], ["a"]],
    ["/**", ["a", "a/b"], []],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "x/a/b"]],
    ["a?b", ["a😀b"], ["a/b", "ab"]],
  ];
  test.each(ROWS)("%j", (line, yes, no) => {
    const rules = rulesOf(line);
    for (const path of yes) expect([path, ignores(rules, path)]).toEqual([path, true]);
    for (const path of no) expect([path, ignores(rules, path)]).toEqual([path, false]);
  });

  test("forget those of a directory that is named, whatever in it names it", () => {
    const rules = rulesOf("build/", "*.log");
    runIo(rules.admit(["build", "out"], calm()));
    expect(ignores(rules, "build/out/x")).toBe(false);
    const others = rulesOf("dist/", "*.log");
    runIo(others.admit(["build", "out"], calm()));
    expect(ignores(others, "build/out/x.log")).toBe(true);
  });

  describe("written by somebody hostile", () => {
    test("let others run within one name, and end with the time of the search", () => {
      const lines = Array.from({ length: 9000 }, (_, index) => `${"a*".repeat(10)}${index}`);
      const rules = rulesOf(...lines);
      const path = "a".repeat(250);
      const breath = new Breath();
      expect(ignores(rules, path, new Pace(breath, () => false))).toBe(false);
      expect(breath.count).toBeGreaterThan(100);
      const ended = new Breath();
      expect(() => ignores(rules, path, new Pace(ended, () => ended.count === 3))).toThrow(TimeIsUp);
      expect(ended.count).toBe(3);
    });

    test("cost no more than their length, however many stars there are", () => {
      const rules = rulesOf(`${"a*".repeat(490)}b`, `${"**/a/".repeat(150)}b`);
      expect(ignores(rules, "a".repeat(250))).toBe(false);
      expect(ignores(rules, Array.from({ length: 500 }, () => "a").join("/"))).toBe(false);
    });

    test("are not read beyond their number, their length and that of a line, and that is said", () => {
      const rules = new IgnoreRules();
      const enter = (directory: string[], text: string): number =>
        rules.enter(directory, [Buffer.from(text), undefined]);
      const numbered = (count: number, start = 0): string =>
        Array.from({ length: count }, (_, index) => `x${index + start}`).join("\n");
      expect(enter([], numbered(10_001))).toBe(1);
      expect([ignores(rules, "x9999"), ignores(rules, "x10000")]).toEqual([true, false]);
      // What is in force above counts too, and no longer once it has been left.
      expect(enter([], numbered(9_999))).toBe(0);
      expect(enter(["d"], "y\nz")).toBe(1);
      expect([ignores(rules, "d/y"), ignores(rules, "d/z")]).toEqual([true, false]);
      expect(enter([], "a")).toBe(0);
      expect(enter(["d"], "y\nz")).toBe(0);
      expect(enter([], `${"l".repeat(1001)}\nb`)).toBe(1);
      expect(ignores(rules, "b")).toBe(true);
      const long = `${"l".repeat(999)}\n`.repeat(262);
      expect(enter([], long)).toBe(0);
      expect(enter(["d"], long)).toBe(0);
      expect(enter(["d", "d"], long)).toBe(1);
    });

    test("that cannot be read are counted", () => {
      const rules = new IgnoreRules();
      expect(rules.enter([], ["too large", "unreadable"])).toBe(2);
      expect(rules.enter([], [Buffer.from([0xff]), undefined])).toBe(1);
      expect(rules.enter([], [undefined, undefined])).toBe(0);
    });
  });
});

describe("where names fold, rules are compared as Git does with core.ignoreCase:", () => {
  const LINES = ["*.LOG", "Build/", "/Docs/*.PDF", "[A-C]y", "[[:upper:]]z", "!Keep.log", "Caf\u00e9", "\u00c4rger"];
  const folding = (): IgnoreRules => {
    const rules = new IgnoreRules(undefined, true);
    rules.enter([], [undefined, Buffer.from(LINES.join("\n"))]);
    return rules;
  };
  // Each as `git check-ignore` says of Git 2.39.
  test.each([
    ["a.log", true],
    ["A.Log", true],
    ["sub/b.LOG", true],
    ["keep.LOG", false],
    ["build/", true],
    ["BUILD/", true],
    ["build", false],
    ["docs/a.pdf", true],
    ["DOCS/a.Pdf", true],
    ["sub/docs/a.pdf", false],
    ["by", true],
    ["By", true],
    ["dy", false],
    ["az", true],
    ["Az", true],
    ["1z", false],
    ["cAF\u00e9", true],
    ["CAF\u00c9", false],
    ["cafe\u0301", true],
    ["\u00e4rger", false],
  ])("%j: %j", (path, isIgnored) => {
    expect(ignores(folding(), path)).toBe(isIgnored);
  });

  test("elsewhere they are not", () => {
    const rules = rulesOf(...LINES);
    expect(["A.LOG", "a.log", "Build/", "build/"].map((path) => ignores(rules, path))).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});
