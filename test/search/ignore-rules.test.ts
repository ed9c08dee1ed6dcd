import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import ignore from "ignore";
import { type Io, runIo } from "../../src/core/io.js";
import { IgnoreRules } from "../../src/search/ignore-rules.js";
import { Pace, TimeIsUp } from "../../src/search/match-budget.js";

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
